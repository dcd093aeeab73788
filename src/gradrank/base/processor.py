"""One instruction set: numbers are computed with x86-64-v3 (AVX2 and FMA) on every x86-64 processor under Linux.

Libraries choose their kernels by what the processor has, and a wider register sums in another order: a last digit
differs, and moves the step at which validation was best. All of them read environment variables when they are first
imported, so `import gradrank` sets these before anything numeric is; GRADRANK_CPU=native leaves them alone. This
module imports nothing that takes time.
"""

import os
import sys
import warnings
from pathlib import Path

from gradrank.base.errors import GradrankError

X86_64_V3 = "x86-64-v3"
# What a value here says stands whatever the environment said: a setting that is left over from elsewhere would move
# digits and nobody would see it. GRADRANK_CPU=native is how to say that this is wanted.
PINS = {
    "OPENBLAS_CORETYPE": "Haswell",  # products and LAPACK of NumPy and of SciPy, which bring a copy each
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",  # NumPy's own exp, log, sums: all above v3
    # torch's products. MKL heeds AVX2 on Intel's processors alone, and takes another way on AMD's.
    "MKL_CBWR": "COMPATIBLE",
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's other kernels
    "ONEDNN_MAX_CPU_ISA": "AVX2",  # oneDNN's, where torch takes one of them
    "NUMBA_CPU_NAME": "haswell",
    # By its name alone Numba would add what else this processor has.
    "NUMBA_CPU_FEATURES": "+avx2,+fma,+bmi,+bmi2,+f16c,+lzcnt,+popcnt,+movbe",
    # More threads split a sum at other places, and the workflow runs jobs in parallel.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
READERS = ("numpy", "numba", "torch")  # what reads them; SciPy, scikit-learn and LightGBM import numpy
NEEDED = ("avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")  # of v3, as Linux names them

_form = "unpinned"


def pin() -> None:
    """Set the environment for everything numeric that is imported from now on; `form` says what came of it."""
    global _form
    system = os.uname()
    if (system.sysname, system.machine) != ("Linux", "x86_64"):
        _form = f"{system.machine} {system.sysname}"
    elif os.environ.get("GRADRANK_CPU") == "native":
        _form = "native"
    elif PINS.items() <= os.environ.items():
        _form = X86_64_V3
    elif early := [name for name in READERS if name in sys.modules]:
        _form = "unpinned"  # half of the settings would be neither: none is made
        warnings.warn(
            f"{', '.join(early)} imported before gradrank: last digits will depend on this processor. "
            "Import gradrank first, or set GRADRANK_CPU=native to accept it",
            RuntimeWarning,
            stacklevel=3,
        )
    else:
        os.environ.update(PINS)
        _form = X86_64_V3


def form() -> str:
    """What this process computes with: `x86-64-v3`; `native`, asked for by GRADRANK_CPU; `unpinned`, where something
    numeric was imported before gradrank; elsewhere machine and system, as in `aarch64 Linux`."""
    return _form


def check(cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Raise GradrankError where GRADRANK_CPU is misspelt, or the processor lacks what x86-64-v3 has."""
    if (chosen := os.environ.get("GRADRANK_CPU", "")) not in ("", "native", X86_64_V3):
        raise GradrankError(f"GRADRANK_CPU={chosen}: expected native, {X86_64_V3} or nothing")
    if _form != X86_64_V3 or not cpuinfo.is_file():
        return
    text = cpuinfo.read_text(encoding="ascii", errors="replace")
    flags = next((line.split() for line in text.splitlines() if line.startswith("flags")), NEEDED)
    if lacking := sorted(set(NEEDED) - set(flags)):
        raise GradrankError(
            f"this processor lacks {', '.join(lacking)}, and results are made with {X86_64_V3} (AVX2 and FMA), so that "
            "they are the same everywhere; set GRADRANK_CPU=native to compute with what it has, to other last digits"
        )


def refusal(made: str | None) -> str | None:
    """Why results made with `made`, the form in their spec.json, are none of this process's; None if they are.

    Whoever computes with x86-64-v3 takes no other; the rest take any.
    """
    if _form != X86_64_V3 or made == X86_64_V3:
        return None
    return f"made with {made or 'an instruction set that it does not name'}, here it is {X86_64_V3}"
