"""`python -I -S warm_call.py PLACE PROGRAM ...` runs a program in a process forked off one that listens there.

It has this one's folder, environment, input and output. Little is imported: it stands for each job of a run.
"""

import marshal
import os
import socket
import sys
from collections.abc import Mapping, Sequence

SIZE = 4  # bytes that say how many of the kind of call follow, or of what is asked for


def call(
    place: str,
    program: str,
    arguments: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    descriptors: Sequence[int],
) -> int:
    """The program's exit code."""
    kind = marshal.dumps(kind_of(program, arguments))
    asked = marshal.dumps((program, list(arguments), folder, dict(environment)))
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(place)
        sizes = [len(part).to_bytes(SIZE, "big") for part in (kind, asked)]
        socket.send_fds(server, sizes, descriptors)
        server.sendall(kind + asked)
        return int.from_bytes(server.recv(1) or b"\1", "big")


def kind_of(program: str, arguments: Sequence[str]) -> list[str]:
    """Calls of a kind import the same modules: of a command, and of a model as it is set where that is trained."""
    told = list(arguments[:1]) if program == "gradrank" else []
    if told in (["train"], ["tune"]) and "--data" in arguments:
        told = list(arguments[: arguments.index("--data")])
    return [program, *told]


if __name__ == "__main__":
    sys.exit(call(sys.argv[1], sys.argv[2], sys.argv[3:], os.getcwd(), os.environ, (0, 1, 2)))  # noqa: PTH109
