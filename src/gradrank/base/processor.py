"""The instruction set: x86-64-v3 (AVX2 and FMA) on every x86-64 processor under Linux.

Numeric libraries choose their kernels by the processor. Wider registers sum in another order, which changes last digits
and, through them, the step that is best on the validation part. The libraries read environment variables when they are
first imported, so `import gradrank` sets these variables before any numeric import. GRADRANK_CPU=native leaves them
unchanged. This module imports nothing slow.
"""

import os
import sys
import warnings
from pathlib import Path

from gradrank.base.errors import GradrankError

X86_64_V3 = "x86-64-v3"
# These values replace those of the environment, because a leftover setting would change digits unnoticed.
PINS = {
    "OPENBLAS_CORETYPE": "Haswell",  # matrix products and LAPACK; NumPy and SciPy each bring a copy
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",  # NumPy's own exp, log and sums: everything above v3
    # torch's matrix products. MKL respects AVX2 only on Intel's processors and uses other kernels on AMD's.
    "MKL_CBWR": "COMPATIBLE",
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's other kernels
    "ONEDNN_MAX_CPU_ISA": "AVX2",  # oneDNN's kernels, if torch uses them
    "NUMBA_CPU_NAME": "haswell",
    # With the name alone, Numba would add the other features of this processor.
    "NUMBA_CPU_FEATURES": "+avx2,+fma,+bmi,+bmi2,+f16c,+lzcnt,+popcnt,+movbe",
    # More threads split a sum at other places. The workflow runs jobs in parallel instead.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
READERS = ("numpy", "numba", "torch")  # read the variables; SciPy, scikit-learn and LightGBM import numpy
NEEDED = ("avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")  # features of x86-64-v3, by their names in Linux

_form = "unpinned"


def pin() -> None:
    """Set the environment for all numeric imports that follow. `form` returns the resulting instruction set."""
    global _form
    system = os.uname()
    if (system.sysname, system.machine) != ("Linux", "x86_64"):
        _form = f"{system.machine} {system.sysname}"
    elif os.environ.get("GRADRANK_CPU") == "native":
        _form = "native"
    elif PINS.items() <= os.environ.items():
        _form = X86_64_V3
    elif early := [name for name in READERS if name in sys.modules]:
        _form = "unpinned"  # set nothing: only some of the libraries would read it
        warnings.warn(
            f"{', '.join(early)} was imported before gradrank, so last digits depend on this processor. "
            "Fix: import gradrank first, or set GRADRANK_CPU=native to accept it",
            RuntimeWarning,
            stacklevel=3,
        )
    else:
        os.environ.update(PINS)
        _form = X86_64_V3


def form() -> str:
    """Return the instruction set of this process.

    `x86-64-v3`; `native` if GRADRANK_CPU asks for it; `unpinned` if a numeric library was imported before gradrank;
    machine and system on other platforms, such as `aarch64 Linux`.
    """
    return _form


def check(cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Raise GradrankError if GRADRANK_CPU is misspelt or the processor lacks a feature of x86-64-v3."""
    if (chosen := os.environ.get("GRADRANK_CPU", "")) not in ("", "native", X86_64_V3):
        raise GradrankError(f"GRADRANK_CPU={chosen}: unknown value. Fix: set it to native or {X86_64_V3}, or unset it")
    if _form != X86_64_V3 or not cpuinfo.is_file():
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

    made: the form in their spec.json. A process with x86-64-v3 accepts only x86-64-v3; any other process accepts all.
    """
    if _form != X86_64_V3 or made == X86_64_V3:
        return None
    return f"computed with {made or 'an unknown instruction set'}, while this process uses {X86_64_V3}"
