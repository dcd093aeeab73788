"""`python -I -S forked_call.py PLACE gradrank ...`: `gradrank ...` in a process forked off one that listens at PLACE.

It has this one's folder, environment, input and output, and ends with this one. Where nobody listens it is a process
of its own. Little is imported: this stands for each job of a run.
"""

import _signal  # what `signal` and `socket` make of these takes longer to import than all else here
import _socket
import marshal
import os
import sys

SIZE = 4  # bytes that say how many of the kind of call follow, or of what is asked for
RECORDING = ("train", "tune", "refit")  # what these have imported is written down with what they make


def call(
    place: str,
    program: str,
    arguments: list[str],
    folder: str,
    environment: dict[str, str],
    descriptors: tuple[int, ...],
) -> int:
    """The program's exit code, its input and output being these descriptors. Raises OSError where nobody listens."""
    kind = marshal.dumps(kind_of(program, arguments))
    asked = marshal.dumps((program, arguments, folder, environment))
    sizes = [len(part).to_bytes(SIZE, "big") for part in (kind, asked)]
    lent = b"".join(number.to_bytes(4, sys.byteorder) for number in descriptors)  # as C's int
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        server.connect(address(place))
        if not own(server):
            raise PermissionError(f"{place}: another user listens there")
        try:
            server.sendmsg(sizes, [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, lent)])
            server.sendall(kind + asked)
            ended = server.recv(1)
        except ConnectionError:
            ended = b""
    finally:
        server.close()
    if not ended:
        print(f"{program}: killed with the process that it was forked off", file=sys.stderr)
    return int.from_bytes(ended or b"\1", "big")


def address(place: str) -> str:
    """Of a socket: a file; after @ a name that Linux keeps, and forgets with who listens there."""
    return f"\0{place[1:]}" if place.startswith("@") else place


def own(other: _socket.socket) -> bool:
    """Whether the other end is this user's: a name is open to everybody on the machine."""
    process_user_group = other.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    return int.from_bytes(process_user_group[4:8], sys.byteorder) == os.getuid()


def kind_of(program: str, arguments: list[str]) -> list[str]:
    """Calls of a kind import the same: of a command, and of a model as it is set where that is written down."""
    told = arguments[:1] if program == "gradrank" else []
    if "--data" in arguments and arguments[0] in RECORDING:
        told = arguments[: arguments.index("--data")]
    return [program, *told]


if __name__ == "__main__":
    place, program, *arguments = sys.argv[1:]
    # Ctrl-C reaches the job as well, which ends by itself.
    interrupt = _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    try:
        os._exit(call(place, program, arguments, os.getcwd(), dict(os.environ), (0, 1, 2)))  # noqa: PTH109
    except OSError:
        _signal.signal(_signal.SIGINT, interrupt)
        os.execvp(program, [program, *arguments])
