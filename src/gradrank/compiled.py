"""Compiled code: the one decorator for it, and the folder in which its machine code is kept.

Numba's own cache knows the file of the function that it compiled, not the other files whose functions that one
calls: after a change there it would go on with the old machine code. Here the folder is named by a digest of
everything that machine code is made from, and a file in it by the types that it was made for, so that jobs which
compile the same function at the same time cannot mix up their results.
"""

import hashlib
import os
import pickle
import platform
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from gradrank.errors import GradrankError
from gradrank.files import OWN_MODELS, atomic

PACKAGE = Path(__file__).parent
MARK = b"\n@compiled"  # at the start of a line: a file of compiled functions
KEPT_SECONDS = 30 * 24 * 3600.0  # without use


def compiled(
    function: Callable | None = None, *, nogil: bool = False, reassociated: bool = False, lent: bool = False
) -> Callable:
    """Decorator: compile a function at its first call with each combination of types, kept on disk.

    Constants that the function uses must stand in a file of compiled functions themselves. nogil: other threads
    run meanwhile. reassociated: sums are taken in the order that fills the registers, the same for one instruction set.
    lent: it makes no arrays, and those it gets live longer than its call; so their uses are not counted, which takes
    longer than to read a number.
    """
    if function is None:
        return partial(compiled, nogil=nogil, reassociated=reassociated, lent=lent)
    fastmath = {"reassoc"} if reassociated else False
    dispatcher = numba.njit(nogil=nogil, fastmath=fastmath, _nrt=not lent)(function)
    dispatcher._cache = MachineCode(function)
    return dispatcher


class MachineCode(_Cache):
    """The machine code of one function, a file for each combination of types."""

    def __init__(self, function: Callable) -> None:
        self._name, self._enabled = f"{function.__module__}.{function.__qualname__}", True

    @property
    def cache_path(self) -> str:
        return str(folder())

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """What was compiled for these types and this processor; None if nothing was, or its file is damaged."""
        if self._enabled:
            with suppress(OSError, EOFError, pickle.UnpicklingError):
                payload = pickle.loads(self._path(sig, target_context.codegen()).read_bytes())
                # Machine code needs Numba's memory at most. What compiles, half of Numba and SciPy's linear algebra, is
                # imported where something is compiled.
                rtsys.initialize(target_context)
                return CompileResult._rebuild(target_context, *payload)
        return None

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        if self._enabled and not data.library.has_dynamic_globals:
            payload = dumps(data._reduce())
            # A full disk costs the time to compile again, not the job.
            with suppress(OSError), atomic(self._path(sig, data.codegen)) as partial_file:
                partial_file.write_bytes(payload)

    def _path(self, sig: Any, codegen: Any) -> Path:
        made_for = hashlib.sha256(repr((sig, codegen.magic_tuple())).encode()).hexdigest()
        return folder() / f"{self._name}-{made_for[:16]}.code"

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        for path in folder().glob(f"{self._name}-*.code"):
            path.unlink(missing_ok=True)


@cache
def folder() -> Path:
    """Where this code's machine code lies: a folder that nobody else can write into, since it holds pickles.

    In $NUMBA_CACHE_DIR where that is set, else in the user's cache ($XDG_CACHE_HOME, ~/.cache), else, where there
    is no home that can be written, among the temporary files. Raises GradrankError if another user owns it.
    """
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        try:
            Path(chosen).mkdir(parents=True, exist_ok=True)
            return _made(Path(chosen), f"gradrank-{digest()}")
        except OSError as error:
            raise GradrankError(f"NUMBA_CACHE_DIR: {error}; set it to a folder that you can write") from None
    with suppress(OSError, RuntimeError):  # no home, or one that cannot be written
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        base.mkdir(exist_ok=True)
        return _made(_private(base / "gradrank"), digest())
    return _made(_private(Path(tempfile.gettempdir()) / f"gradrank-{os.getuid()}"), digest())


def digest() -> str:
    """Of all compiled sources, Python, the packages that compile, and Numba's settings in the environment."""
    hashed = hashlib.sha256(Path(__file__).read_bytes())
    for path in [*sorted(PACKAGE.rglob("*.py")), *sorted(OWN_MODELS.glob("[!._]*.py"))]:
        source = path.read_bytes()
        if MARK in source:
            hashed.update(f"{os.path.relpath(path, PACKAGE)} {len(source)}\n".encode() + source)
    versions = [platform.python_version(), numba.__version__, llvmlite.__version__, np.__version__]
    settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    hashed.update(repr((versions, [item for item in settings if item[0] != "NUMBA_CACHE_DIR"])).encode())
    return hashed.hexdigest()[:20]


def _made(base: Path, name: str) -> Path:
    """base/name, marked as used now. Making a new one removes its like that were not used for long."""
    new = not (base / name).exists()
    made = _private(base / name)
    os.utime(made)
    if new:
        for other in base.glob(name.replace(digest(), "*")):
            with suppress(OSError):
                if time.time() - other.stat().st_mtime > KEPT_SECONDS:
                    shutil.rmtree(other, ignore_errors=True)
    return made


def _private(path: Path) -> Path:
    """`path`, made if need be: a folder of this user's and for this user alone."""
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise GradrankError(
            f"{path}: compiled code is kept here, but it is a link or another user's; set NUMBA_CACHE_DIR to a "
            "folder of your own"
        )
    if stat.S_IMODE(found.st_mode) != 0o700:
        path.chmod(0o700)
    return path
