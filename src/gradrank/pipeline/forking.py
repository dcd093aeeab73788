"""Processes forked for callers that have sent their folder, environment, input and output (see forked_call.py)."""

import marshal
import os
import select
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gradrank.processor import PINS


class Forks:
    """Forks processes for callers, and tells them their exit codes. Who kills a caller kills its process."""

    def __init__(self) -> None:
        self.woken, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        signal.set_wakeup_fd(self._wake.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.callers: dict[socket.socket, int] = {}

    def fork(self, caller: socket.socket) -> bool:
        """Whether this is the new process."""
        if not (pid := os.fork()):
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return True
        self.callers[caller] = pid
        return False

    def ready(self, *sources: socket.socket) -> list[socket.socket]:
        """Those of the sources that have something to read, as soon as one has."""
        while True:
            ready, _, _ = select.select([*sources, self.woken, *self.callers], [], [])
            if self.woken in ready:
                self.woken.recv(4096)
            self._answer()
            for caller in self.callers.keys() & {*ready}:  # which says nothing more, but ends
                os.kill(self.callers.pop(caller), signal.SIGKILL)
                caller.close()
            if found := [source for source in sources if source in ready]:
                return found

    def _answer(self) -> None:
        ended = dict(_ended())
        for caller, pid in [*self.callers.items()]:
            if pid in ended:
                del self.callers[caller]
                with suppress(OSError), caller:
                    caller.sendall(bytes([ended[pid]]))


def _ended() -> Iterator[tuple[int, int]]:
    """The processes that have, and their exit codes as a shell has them."""
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            code = os.waitstatus_to_exitcode(found[1])
            yield found[0], code if code >= 0 else 128 - code


@contextmanager
def received(sender: socket.socket, size: int, most: int) -> Iterator[tuple[bytes, list[int]]]:
    """So many bytes, and descriptors, which are closed at the end; a caller that was killed meanwhile is no matter."""
    message, descriptors, _, _ = socket.recv_fds(sender, size, most)
    try:
        with suppress(ConnectionError):
            yield message, descriptors
    finally:
        close(descriptors)


def close(descriptors: list[int]) -> None:
    """Whoever holds the other ends waits for that, in every process that has them."""
    while descriptors:
        os.close(descriptors.pop())


def exactly(caller: socket.socket, size: bytes) -> bytes:
    """What a caller sends, of a size it has told."""
    wanted = int.from_bytes(size, "big")
    found = caller.recv(wanted, socket.MSG_WAITALL)
    if len(found) < wanted:
        raise ConnectionError("the caller has ended")
    return found


def take_over(asked: bytes, descriptors: list[int]) -> None:
    """From now this process has the caller's folder, environment, input and output; sys.argv says what is asked for."""
    program, arguments, folder, environment = marshal.loads(asked)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    close(descriptors)
    os.chdir(folder)
    pinned = {name: os.environ[name] for name in PINS if name in os.environ}  # before anything was imported
    os.environ.clear()
    os.environ.update(environment)
    os.environ.update(pinned)
    sys.argv = [str(Path(sys.executable).with_name(program)), *arguments]
