"""The instruction set: x86-64-v3 (AVX2 and FMA) on every x86-64 processor under Linux.

Numeric libraries choose kernels that suit the processor. Kernels for wider registers add numbers in a different order.
This changes last digits, and can therefore change the epoch that is best on the validation part. The libraries read
environment variables when they are first imported. Every command therefore calls `pin` before it imports a numeric
library. A plain `import gradrank` changes nothing. With GRADRANK_CPU=native, `pin` leaves the variables unchanged. This
module imports no slow package.
"""

import os
import platform
import sys
from pathlib import Path

from gradrank.base.errors import GradrankError

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
    that job. `pin` also sets the folder in which compiled code is cached. On systems other than Linux on x86-64, and
    with the environment variable GRADRANK_CPU=native, it only sets this folder. The gradrank commands call `pin`
    themselves.

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
    from gradrank.base.compiled_cache import use_cache_folder

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
