"""`python warm_server.py PLACE` forks a process off itself for each call that comes to the socket PLACE.

What a call imports of what others wrote, later ones of its kind need not import: they are forked off a template that
has, one for all kinds that import the same. Nothing of gradrank is in a template: its code is another in every
checkout. A training's specification names the packages that it has imported, and so a template of trainings has what
one of that very model had, no more.

It ends when every process that uses it has: each of them keeps a connection, and asks for nothing on it.
"""

import atexit
import gc
import json
import marshal
import os
import shutil
import socket
import sys
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

from gradrank.pipeline.forked_call import SIZE
from gradrank.pipeline.forking import Forks, close, exactly, received, take_over
from gradrank.tracking.store import SETTINGS as QUIET

EVERY_CALL = ("numpy", "polars", "pydantic", "typer")  # imports these, trainings included
# Programs, and what they are in their module `cli`.
FUNCTIONS = {"dvc": "main", "gradrank": "answer", "snakemake": "main"}

codes: list[int] = []  # what this process ends with, once it is known


@atexit.register  # before anything else: what is registered first is called last
def end() -> None:
    """A process that has an exit code ends with it, and does not free each object that it shares with its like."""
    for code in codes:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main(place: Path) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "gradrank"]:
        del sys.modules[name]
    os.environ.update(QUIET)
    load(EVERY_CALL)
    use_once()
    forks, users, templates = Forks(), [], {}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{place}.bound")
        listener.listen(64)
        Path(f"{place}.bound").rename(place)  # there is nothing to wait for any more
        while True:
            ready = forks.ready(listener, *users)
            users = [user for user in users if user not in ready]
            if listener in ready:
                caller, _ = listener.accept()
                with received(caller, 2 * SIZE, 3) as (sizes, descriptors):
                    if descriptors:
                        answer(caller, sizes, descriptors, forks, templates, place.parent)
                    else:
                        users.append(caller)
            elif not users:
                return shutil.rmtree(place.parent, ignore_errors=True)


def answer(
    caller: socket.socket,
    sizes: bytes,
    descriptors: list[int],
    forks: Forks,
    templates: dict[tuple[bytes, bool], socket.socket],
    folder: Path,
) -> None:
    """The first call of a kind is forked off here, and leaves the names of its modules for a template."""
    kind = exactly(caller, sizes[:SIZE])
    learned = folder / sha256(kind).hexdigest()
    if not learned.exists():
        return fork(forks, caller, sizes[SIZE:], descriptors, learned)
    of_one_model = len(marshal.loads(kind)) > 2  # a program, a command, and how it is set
    made_of = learned.read_bytes(), of_one_model
    if made_of not in templates:
        there, here = socket.socketpair()
        if not os.fork():
            there.close()
            caller.close()
            close(descriptors)
            be_template(here, json.loads(made_of[0]), exactly_these=of_one_model)
        here.close()
        templates[made_of] = there
    with caller:
        socket.send_fds(templates[made_of], [sizes[SIZE:]], [caller.fileno(), *descriptors])


def be_template(here: socket.socket, modules: list[str], exactly_these: bool) -> NoReturn:
    """Import these, and fork others off this process for the callers that are sent here."""
    if exactly_these:
        sys.meta_path.insert(0, Only(modules))
    load(modules)
    if exactly_these:
        del sys.meta_path[0]
    use_once()
    forks = Forks()
    while forks.ready(here):
        with received(here, SIZE, 4) as (size, descriptors):
            if not size:
                os._exit(0)
            fork(forks, socket.socket(fileno=descriptors.pop(0)), size, descriptors, None)


def load(modules: Iterable[str]) -> None:
    for name in modules:
        with suppress(Exception):  # one that is made, not found, where another is imported
            __import__(name)


def use_once() -> None:
    """At their first use these look for what extends them in all that is installed, and Numba starts its compiler."""
    sys.modules["pydantic"].create_model("Used", number=(int, ...))
    if numba := sys.modules.get("numba"):
        numba.njit(lambda: None)()
    gc.freeze()
    gc.set_threshold(50_000)


class Only:
    """Of what is imported, nothing but these is found: where a call kept a package's own extras away, so does this."""

    def __init__(self, modules: Iterable[str]) -> None:
        self.modules = frozenset(modules)

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name not in self.modules:
            raise ModuleNotFoundError(f"not imported by the first call of this kind: {name}", name=name)


def fork(
    forks: Forks, caller: socket.socket, size: bytes, descriptors: list[int], learned: Path | None
) -> None:
    asked = exactly(caller, size)
    if forks.fork(caller):
        become(asked, descriptors, learned)


def become(asked: bytes, descriptors: list[int], learned: Path | None) -> NoReturn:
    """Make this process what is asked for, there and then."""
    take_over(asked, descriptors)
    program, arguments = Path(sys.argv[0]).name, sys.argv[1:]
    sys.path[:1] = [str(Path.cwd()), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    sys.orig_argv = [sys.executable, "-m", program, *arguments]
    before = {*sys.modules}
    try:
        sys.exit(getattr(__import__(f"{program}.cli", fromlist=["cli"]), FUNCTIONS[program])())
    except SystemExit as ended:
        if learned and not ended.code:
            leave([name for name in sys.modules if name not in before], learned)
        codes.append(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
        raise


def leave(names: list[str], learned: Path) -> None:
    """Of these modules, all that are not a checkout's."""
    files = {name: getattr(sys.modules[name], "__file__", None) for name in names}
    installed = [
        name for name, file in files.items() if not file or file.startswith((sys.prefix, sys.base_prefix))
    ]
    partial = learned.with_name(f"{learned.name}.{os.getpid()}")
    partial.write_text(json.dumps(installed), encoding="utf-8")
    partial.replace(learned)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
