"""`python warm_server.py PLACE MODULES...` forks a process off itself for each call that comes to the socket PLACE.

It has imported those modules, which others wrote, and nothing of gradrank, whose code is another in every checkout. It
ends with the process that started it, whose end closes its input.
"""

import gc
import marshal
import os
import select
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from gradrank.pipeline.mlflow_store import _ENVIRONMENT as QUIET
from gradrank.processor import PINS

# What `import gradrank` has set for whatever is imported from here on, where it does.
PINNED = {name: os.environ[name] for name in PINS if name in os.environ}


def main(place: str, *modules: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "gradrank"]:
        del sys.modules[name]
    os.environ.update(QUIET)
    for name in modules:
        __import__(name)
    gc.freeze()
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    callers: dict[int, socket.socket] = {}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen()
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([listener, woken, sys.stdin], [], [])
            if woken in ready:
                woken.recv(4096)
            for pid, code in ended():
                with suppress(OSError), callers.pop(pid) as caller:
                    caller.sendall(bytes([code]))
            if sys.stdin in ready:
                return shutil.rmtree(Path(place).parent, ignore_errors=True)
            if listener in ready:
                caller, _ = listener.accept()
                if not (pid := os.fork()):
                    sys.exit(become(caller)())
                callers[pid] = caller


def ended() -> Iterator[tuple[int, int]]:
    """The processes that have, and their exit codes as a shell has them."""
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            code = os.waitstatus_to_exitcode(found[1])
            yield found[0], code if code >= 0 else 128 - code


def become(caller: socket.socket) -> Callable[[], object]:
    """Make this process what is asked for, there and then; its main function."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, descriptors, _, _ = socket.recv_fds(caller, 4, 3)
    with caller.makefile("rb") as stream:
        asked = stream.read(int.from_bytes(size, "big"))
    caller.close()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    program, arguments, folder, environment = marshal.loads(asked)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    os.environ.update(PINNED)
    sys.path[:1] = [folder, *environment.get("PYTHONPATH", "").split(os.pathsep)]
    sys.orig_argv = [sys.executable, "-m", program, *arguments]
    sys.argv = [str(Path(sys.executable).with_name(program)), *arguments]
    return __import__(f"{program}.cli", fromlist=["main"]).main


if __name__ == "__main__":
    main(*sys.argv[1:])
