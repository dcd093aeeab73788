"""Settings that make results reproducible: the instruction set, the threads, and the folder of compiled code.

The instruction set: x86-64-v3 (AVX2 and FMA) on every x86-64 processor under Linux.

Numeric libraries choose kernels that suit the processor. Kernels for wider registers add numbers in a different order.
This changes last digits, and can therefore change the epoch that is best on the validation part. The libraries read
environment variables when they are first imported. Every command therefore calls `pin` before it imports a numeric
library. A plain `import gradrank` changes nothing. With GRADRANK_CPU=native, `pin` leaves the variables unchanged. This
module imports no slow package.

The number of threads with which models are trained and scored.

One thread is the default, because more threads split a sum at other places, which changes last digits. The workflow
runs jobs in parallel instead.

The folder in which Numba caches the machine code of compiled functions.

If a compiled function calls a function of another file, Numba does not notice changes of that file. Therefore the name
of the folder contains a digest of all files with compiled functions.
"""

import hashlib
import os
import platform
import shutil
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from gradrank.base.errors import GradrankError, GradrankWarning
from gradrank.base.extensions import code_folders, own_models

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

PACKAGE = Path(__file__).parents[1]
DECORATOR = PACKAGE / "base/compiled.py"
MARK = b"\n@compiled"  # a file with a line that starts like this has compiled functions
PACKAGES = ("numba", "llvmlite", "numpy")
KEPT_SECONDS = 30 * 24 * 3600.0  # cache folders are deleted this long after their last use

_in_use: Path | None = None


def use_cache_folder() -> Path:
    """Set NUMBA_CACHE_DIR for this process and the processes that it starts, and return the folder.

    The folder is in $NUMBA_CACHE_DIR if the user set this variable, otherwise in $XDG_CACHE_HOME/gradrank or
    ~/.cache/gradrank. If the home folder is not writable, the folder is in the temporary folder.
    Raises GradrankError if the folder is a link or belongs to another user. The folder contains pickles, so anyone who
    can write to it could make this process run their code.
    """
    global _in_use
    _in_use = _folder()
    os.environ["NUMBA_CACHE_DIR"] = str(_in_use)
    return _in_use


def cache_folder() -> Path | None:
    """Return the folder of `use_cache_folder`, without a change of the environment variable; None without a folder.

    A function can be compiled without a folder, so a folder that cannot be used is a GradrankWarning.
    """
    global _in_use
    if _in_use is None:
        try:
            _in_use = _folder()
        except (GradrankError, OSError) as error:
            reason = (
                str(error) if isinstance(error, GradrankError) else f"{error}. Fix: set NUMBA_CACHE_DIR to a folder"
            )
            warnings.warn(f"compiled code is not cached: {reason}", GradrankWarning, stacklevel=2)
    return _in_use


def _folder() -> Path:
    name = f"gradrank-{digest()}"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        base = Path(chosen)
        if base.name.startswith("gradrank-"):  # set by the process that started this one
            base = base.parent
        try:
            base.mkdir(parents=True, exist_ok=True)
            return _marked_as_used(base, name)
        except OSError as error:
            raise GradrankError(f"NUMBA_CACHE_DIR: {error}. Fix: set it to a folder that you can write to") from None
    with suppress(OSError, RuntimeError):  # there is no home folder, or it is not writable
        cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        cache_home.mkdir(exist_ok=True)
        return _marked_as_used(_private(cache_home / "gradrank"), name)
    return _marked_as_used(_private(Path(tempfile.gettempdir()) / f"gradrank-user-{os.getuid()}"), name)


def digest() -> str:
    """Return a digest of all files with compiled functions, the package versions, and the settings of Numba."""
    hashed = hashlib.sha256(DECORATOR.read_bytes())
    own = own_models()
    paths = [path for folder in (PACKAGE, *code_folders().values()) for path in sorted(folder.rglob("*.py"))]
    for path in [*paths, *(sorted(own.glob("[!._]*.py")) if own else ())]:
        source = path.read_bytes()
        if MARK in source:
            hashed.update(f"{os.path.relpath(path, PACKAGE)} {len(source)}\n".encode() + source)
    versions = [platform.python_version(), *map(version, PACKAGES)]
    settings = {name: value for name, value in os.environ.items() if name.startswith("NUMBA_")}
    settings.pop("NUMBA_CACHE_DIR", None)
    hashed.update(repr((versions, sorted(settings.items()))).encode())
    return hashed.hexdigest()[:20]


def _marked_as_used(base: Path, name: str) -> Path:
    """Return the folder base/name, with the current time as its time of last use. It is created if it does not exist.

    If the folder is new, the folders of other digests that were last used more than KEPT_SECONDS ago are removed.
    """
    is_new = not (base / name).exists()
    folder = _private(base / name)
    os.utime(folder)
    if is_new:
        for other in base.glob("gradrank-" + "[0-9a-f]" * 20):
            with suppress(OSError):
                if time.time() - other.stat().st_mtime > KEPT_SECONDS:
                    shutil.rmtree(other, ignore_errors=True)
    return folder


def _private(path: Path) -> Path:
    """Make `path` a folder that only this user can read and write, and return it.

    Raises GradrankError if it is a link or belongs to another user.
    """
    path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise GradrankError(
            f"{path}: the cache of compiled code is a link or belongs to another user. Fix: set NUMBA_CACHE_DIR to a "
            "folder that belongs to you"
        )
    if stat.S_IMODE(status.st_mode) != 0o700:
        path.chmod(0o700)
    return path


_count: ContextVar[int] = ContextVar("gradrank_threads", default=1)


def thread_count() -> int:
    """Return the number of threads to pass to a library whose results do not depend on it, such as LightGBM."""
    return _count.get()


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """Let `thread_count` return `count` within the block, and limit all other numeric libraries to one thread.

    The sums of these libraries depend on the number of threads. Afterwards, the earlier limits apply again.
    """
    pools = _thread_pools(len(sys.modules))
    # Setting the limits again takes longer than a linear model takes to score a query.
    is_limited = all(pool.num_threads == 1 for pool in pools.lib_controllers)
    token = _count.set(count)
    try:
        with nullcontext() if is_limited else pools.limit(limits=1):
            yield
    finally:
        _count.reset(token)


@lru_cache(maxsize=1)
def _thread_pools(modules: int) -> "ThreadpoolController":
    """Return the controller of the numeric libraries that are loaded.

    modules: the number of imported modules. Packages load their libraries when they are imported, so the search, which
    takes 2 ms, is only repeated after imports.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


X86_64_V3 = "x86-64-v3"
# `pin` overwrites these environment variables, because a value left over in them would change digits unnoticed.
PINS = {
    "OPENBLAS_CORETYPE": "Haswell",  # OpenBLAS in NumPy and in SciPy: matrix products and LAPACK
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",  # NumPy's exp, log and sums: no features above v3
    # torch's matrix products. MKL respects AVX2 only on Intel's processors and uses other kernels on AMD's.
    "MKL_CBWR": "COMPATIBLE",
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's other kernels
    "ONEDNN_MAX_CPU_ISA": "AVX2",  # oneDNN's kernels, if torch uses them
    "NUMBA_CPU_NAME": "haswell",
    # With NUMBA_CPU_NAME alone, Numba would add the other features of this processor.
    "NUMBA_CPU_FEATURES": "+avx2,+fma,+bmi,+bmi2,+f16c,+lzcnt,+popcnt,+movbe",
    # More threads split a sum at other places. The workflow runs jobs in parallel instead.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
READERS = ("numpy", "numba", "torch")  # libraries that read PINS; SciPy, scikit-learn and LightGBM import numpy
NEEDED = ("avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")  # features of x86-64-v3, by their names in Linux


def pin() -> None:
    """Restrict the numeric libraries of this process to x86-64-v3 and one thread, so that results are reproducible.

    Call it before NumPy, Numba or torch is imported, for example in the first cell of a notebook. A model that is
    trained with the data, parameters and seed of a training job of the workflow then has the same bytes as the model of
    that job. `pin` also sets NUMBA_CACHE_DIR, the folder in which compiled code is cached. On systems other than Linux
    on x86-64, and with the environment variable GRADRANK_CPU=native, it only sets this folder. The gradrank commands
    call `pin` themselves.

    Raises
    ------
    GradrankError
        If NumPy, Numba or torch is already imported, if GRADRANK_CPU is misspelt, or if the processor lacks a feature
        of x86-64-v3.

    Examples
    --------
    >>> import gradrank
    >>> gradrank.pin()  # doctest: +SKIP
    """

    if _is_pinnable() and not _has_pins():
        if early := [name for name in READERS if name in sys.modules]:
            raise GradrankError(
                f"pin: too late, because these packages are already imported: {', '.join(early)}. Fix: call "
                "gradrank.pin() first, before importing anything numeric (in a notebook, restart the kernel), or set "
                "GRADRANK_CPU=native to accept last digits that depend on the processor"
            )
        os.environ.update(PINS)
    check()
    use_cache_folder()


def form() -> str:
    """Return the instruction set of this process.

    The result is `x86-64-v3`; `native` if GRADRANK_CPU has this value; `unpinned` if neither this process nor its
    parent called `pin`; or, on other platforms, the machine and the system, such as `aarch64 Linux`.
    """
    if not _is_linux_x86_64():
        return f"{platform.machine()} {platform.system()}"
    if os.environ.get("GRADRANK_CPU") == "native":
        return "native"
    return X86_64_V3 if _has_pins() else "unpinned"


def _is_linux_x86_64() -> bool:
    return (platform.system(), platform.machine()) == ("Linux", "x86_64")


def _is_pinnable() -> bool:
    return _is_linux_x86_64() and os.environ.get("GRADRANK_CPU") != "native"


def _has_pins() -> bool:
    return PINS.items() <= os.environ.items()


def check(cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Raise GradrankError if GRADRANK_CPU is misspelt or the processor lacks a feature of x86-64-v3."""
    if (chosen := os.environ.get("GRADRANK_CPU", "")) not in ("", "native", X86_64_V3):
        raise GradrankError(f"GRADRANK_CPU={chosen}: unknown value. Fix: set it to native or {X86_64_V3}, or unset it")
    if form() != X86_64_V3 or not cpuinfo.is_file():
        return
    text = cpuinfo.read_text(encoding="ascii", errors="replace")
    flags = next((line.split() for line in text.splitlines() if line.startswith("flags")), NEEDED)
    if lacking := sorted(set(NEEDED) - set(flags)):
        raise GradrankError(
            f"this processor lacks {', '.join(lacking)}. Results are computed with {X86_64_V3} (AVX2 and FMA), so that "
            "they are equal on every machine. Fix: set GRADRANK_CPU=native; results then differ in the last digits"
        )


def refusal(made: str | None) -> str | None:
    """Return why results of the instruction set `made` cannot be mixed with this process's results; None if they can.

    made: the entry `processor` in the spec.json of the results. A process with x86-64-v3 accepts only x86-64-v3; any
    other process accepts all.
    """
    if form() != X86_64_V3 or made == X86_64_V3:
        return None
    return f"computed with {made or 'an unknown instruction set'}, while this process uses {X86_64_V3}"
