"""`python -I -S warm_call.py PLACE PROGRAM ...` runs a program in a process forked off one that listens there.

It has this one's folder, environment, input and output. Little is imported: it stands for each job of a run.
"""

import _socket  # what `socket` makes of it takes longer to import than all else here
import marshal
import os
import sys

SIZE = 4  # bytes that say how many of the kind of call follow, or of what is asked for


def call(
    place: str,
    program: str,
    arguments: list[str],
    folder: str,
    environment: dict[str, str],
    descriptors: tuple[int, ...],
) -> int:
    """The program's exit code."""
    kind = marshal.dumps(kind_of(program, arguments))
    asked = marshal.dumps((program, arguments, folder, environment))
    sizes = [len(part).to_bytes(SIZE, "big") for part in (kind, asked)]
    lent = b"".join(number.to_bytes(4, sys.byteorder) for number in descriptors)  # as C's int
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        server.connect(place)
        server.sendmsg(sizes, [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, lent)])
        server.sendall(kind + asked)
        return int.from_bytes(server.recv(1) or b"\1", "big")
    finally:
        server.close()


def kind_of(program: str, arguments: list[str]) -> list[str]:
    """Calls of a kind import the same modules: of a command, and of a model as it is set where that is trained."""
    told = arguments[:1] if program == "gradrank" else []
    if told in (["train"], ["tune"]) and "--data" in arguments:
        told = arguments[: arguments.index("--data")]
    return [program, *told]


if __name__ == "__main__":
    os._exit(call(sys.argv[1], sys.argv[2], sys.argv[3:], os.getcwd(), dict(os.environ), (0, 1, 2)))  # noqa: PTH109
