"""`python -I -S warm_call.py PLACE PROGRAM ...` runs a program in a process forked off the one that listens there.

It has this one's folder, environment, input and output. Little is imported: it stands for each job of a run.
"""

import marshal
import os
import socket
import sys
from collections.abc import Mapping, Sequence


def call(
    place: str,
    program: str,
    arguments: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    descriptors: Sequence[int],
) -> int:
    """The program's exit code."""
    asked = marshal.dumps((program, list(arguments), folder, dict(environment)))
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(place)
        socket.send_fds(server, [len(asked).to_bytes(4, "big")], descriptors)
        server.sendall(asked)
        return int.from_bytes(server.recv(1) or b"\1", "big")


if __name__ == "__main__":
    sys.exit(call(sys.argv[1], sys.argv[2], sys.argv[3:], os.getcwd(), os.environ, (0, 1, 2)))  # noqa: PTH109
