"""Jobs of a run on this machine are forked off processes that have imported what takes long.

To import NumPy, Numba and torch takes longer than most small jobs compute. A run starts `python -m
gradrank.pipeline.forked_jobs`, which forks a job off itself for each call that comes to its socket (by forked_call.py).
It ends with the run, and its jobs with it. GRADRANK_FORK=no: each job has an interpreter of its own.

A forked process has one thread: what another one held locked would stay so. Polars is therefore imported without the
thread that it starts (a job starts that, where it imports it), a process that has more than one forks none (its jobs
have interpreters of their own), and systems other than Linux, which don't say how many there are, do without. Nor is
anything of gradrank imported: jobs run the code as it lies there when they start.
"""

import atexit
import ctypes
import gc
import importlib
import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from hashlib import sha256
from importlib.machinery import ModuleSpec
from itertools import compress
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from gradrank.pipeline import forked_call
from gradrank.pipeline.forked_call import SIZE, address, own
from gradrank.pipeline.forking import Forks, close, exactly, received, take_over

THREADS = Path("/proc/self/task")
EVERY_JOB = ("numpy", "pydantic", "typer")  # imports these, and Polars
# What Polars is compiled to, what starts its thread, and its allocator's settings, but without a thread of its own.
POLARS, START_POLARS = "_polars_runtime_32._polars_runtime", "__register_startup_deps"
ALLOCATOR = {"_RJEM_MALLOC_CONF": "dirty_decay_ms:500,muzzy_decay_ms:1000,background_thread:false"}
# A job writes down the versions of what it has imported: of these it finds what jobs of its kind have had, no more.
SOME_JOBS = ("numba", "torch")
SET_DEATH_SIGNAL = 1  # Linux: PR_SET_PDEATHSIG
CTRL_C = signal.getsignal(signal.SIGINT)  # what a run in the background has its jobs ignore, too

_started: list[subprocess.Popen] = []  # each ends when its input does, with this process


def fork_jobs(workflow: Any, interpreter: str) -> None:
    """Have Snakemake do so when it has planned, and runs jobs here and in no environment of their own."""
    from snakemake.shell import shell

    before = workflow._onstart

    def then(log: str) -> None:
        before(log)
        here = workflow.executor_plugin.name == "local"
        if here and not workflow.deployment_settings.deployment_method:
            shell._process_prefix += start(interpreter)

    workflow._onstart = then


def start(interpreter: str) -> str:
    """Start it for a run; a shell function `gradrank` that has it fork. Nothing where that can't or shall not be."""
    if not THREADS.is_dir() or os.environ.get("GRADRANK_FORK") == "no":
        return ""
    place = f"@gradrank-{secrets.token_hex(16)}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address(place))
        listener.listen(socket.SOMAXCONN)
        command = [interpreter, "-P", "-m", __name__, str(listener.fileno())]
        lent = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "pass_fds": [listener.fileno()]}
        _started.append(subprocess.Popen(command, **lent))
    atexit.register(_started[-1].communicate)  # who measures a run counts its jobs with it
    call = shlex.join([interpreter, "-I", "-S", forked_call.__file__, place, "gradrank"])
    return f'gradrank() {{ {call} "$@"; }}; '


class Jobs:
    """Those of a run: forked off this process, or off one that has imported what the first of their kind has."""

    def __init__(self) -> None:
        import_polars()
        load(EVERY_JOB)
        self.forks = Forks()
        self.told, self._tell = socket.socketpair()
        self._imported: dict[bytes, tuple[str, ...]] = {}
        self._templates: dict[tuple[str, ...], socket.socket] = {}

    def start(self, caller: socket.socket) -> None:
        if not own(caller):
            return caller.close()
        with received(caller, 2 * SIZE, 3) as (sizes, descriptors):
            kind = sha256(exactly(caller, sizes[:SIZE])).digest()
            if not self._handed_over(self._imported.get(kind), caller, sizes[SIZE:], descriptors):
                fork_job(self.forks, caller, sizes[SIZE:], descriptors, partial(self._leave, kind))

    def _handed_over(
        self, names: tuple[str, ...] | None, caller: socket.socket, size: bytes, descriptors: list[int]
    ) -> bool:
        """Whether a process that has imported these has taken the call; one that was killed is made anew."""
        if not names:
            return False
        if names not in self._templates:
            self._templates[names] = self._template(names, caller, descriptors)
        try:
            socket.send_fds(self._templates[names], [size], [caller.fileno(), *descriptors])
        except BrokenPipeError:
            del self._templates[names]
            return False
        caller.close()
        return True

    def _leave(self, kind: bytes) -> None:
        """A job that is about to end, as it should: tell what it has imported."""
        self._tell.sendall(kind + bytes(name in sys.modules for name in SOME_JOBS))

    def learn(self) -> None:
        kind, had = self.told.recv(sha256().digest_size), self.told.recv(len(SOME_JOBS))
        self._imported.setdefault(kind, tuple(compress(SOME_JOBS, had)))

    def _template(self, names: Iterable[str], caller: socket.socket, descriptors: list[int]) -> socket.socket:
        """A new process that imports these: what it is sent there, the caller first, it takes as a call."""
        there, here = socket.socketpair()
        if not os.fork():
            die_with_parent()
            for end in (there, caller):
                end.close()
            close(descriptors)
            be_template(here, names)
        here.close()
        return there

    def end(self) -> None:
        """Of all processes that are left."""
        for process in self.forks.callers.values():
            os.kill(process, signal.SIGKILL)
        for template in self._templates.values():
            template.close()
        with suppress(ChildProcessError):
            while True:
                os.wait()


def be_template(here: socket.socket, names: Iterable[str]) -> NoReturn:
    """Import these, and fork jobs for the callers that are sent here."""
    load(names)
    forks = Forks()
    while forks.ready(here):
        with received(here, SIZE, 4) as (size, descriptors):
            if not size:
                os._exit(0)
            fork_job(forks, socket.socket(fileno=descriptors.pop(0)), size, descriptors, lambda: None)


class Imported:
    """A module that was imported once already; the next import finds it and calls what the first left undone."""

    def __init__(self, name: str, undone: Iterable[Callable[[], object]]) -> None:
        self.module, self.undone = sys.modules.pop(name), undone
        self.spec = self.module.__spec__

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == self.spec.name else None

    def create_module(self, _: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec
        for call in self.undone:
            call()


def import_polars() -> None:
    """Import it without the thread that it starts: that starts where a forked process imports it.

    Not where it is compiled to something else, for another kind of processor or by another version.
    """
    os.environ.update(ALLOCATOR)
    try:
        compiled = importlib.import_module(POLARS)
        start = getattr(compiled, START_POLARS)
    except (ImportError, AttributeError):
        return
    undone = []
    setattr(compiled, START_POLARS, lambda *given: undone.append(partial(start, *given)))
    importlib.import_module("polars")
    setattr(compiled, START_POLARS, start)
    sys.meta_path.insert(0, Imported("polars", undone))


def load(names: Iterable[str]) -> None:
    """Import these, so that processes that are forked off this one need not."""
    for name in names:
        importlib.import_module(name)
    # At its first use it looks for what extends it in all that is installed.
    sys.modules["pydantic"].create_model("Used", number=(int, ...))
    gc.freeze()
    gc.set_threshold(50_000)  # not every 700 objects: that took a twentieth of a small run


def fork_job(
    forks: Forks, caller: socket.socket, size: bytes, descriptors: list[int], at_its_end: Callable[[], None]
) -> None:
    asked = exactly(caller, size)
    alone = sum(1 for _ in THREADS.iterdir()) == 1
    if not forks.fork(caller):
        return
    die_with_parent()
    signal.signal(signal.SIGINT, CTRL_C)
    take_over(asked, descriptors)
    if not alone:
        os.execv(sys.argv[0], sys.argv)
    program = importlib.import_module("gradrank.cli")  # above this room, and now as it lies there
    try:
        program.main()
    except SystemExit as end:
        if not end.code:
            at_its_end()
        raise
    except Exception as error:
        error.__traceback__ = error.__traceback__.tb_next  # which begins where that of another process does
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


def die_with_parent() -> None:
    """Nobody else would hear of this process's end, or end it with the run."""
    ctypes.CDLL(None).prctl(SET_DEATH_SIGNAL, signal.SIGKILL)


def serve(listener: socket.socket) -> None:
    """Fork jobs until the run has ended."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "gradrank"]:
        del sys.modules[name]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # jobs hear of it themselves
    jobs = Jobs()
    while sys.stdin not in (ready := jobs.forks.ready(listener, jobs.told, sys.stdin)):
        if jobs.told in ready:
            jobs.learn()
        elif listener in ready:
            jobs.start(listener.accept()[0])
    jobs.end()


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
