"""The same bytes on every processor: a small run natively, and under two that qemu emulates.

Emulated are one of Intel's and one of AMD's, neither with AVX-512; where this machine has it, the native run is the
one that must not use it. Compiled code is made natively, and the emulated processes find it in the cache: they would
take minutes to make it. One model of each numeric family is compared, in continuous integration (CI=true) all.
"""

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from gradrank.base.processor import X86_64_V3, form
from gradrank.training.registry import missing_packages, models
from project import MINE

SCRIPT = Path(__file__).with_name("emulated.py")
QEMU = shutil.which("qemu-x86_64")
IN_CI = bool(os.environ.get("CI"))
# NumPy's sorts load up to 28 bytes beyond an array under a mask, and qemu 7.2 reads them: on the heap there is memory.
# The last is emulated.py's own.
SETTINGS = ("-E", "MALLOC_MMAP_MAX_=0,MALLOC_TOP_PAD_=67108864,SORT_STABLY=1")
# NumPy, Numba with NumPy, torch, LightGBM, SciPy's L-BFGS
FAMILIES = ["regression", "arsm", "ranknet_two_layer", "lambdamart", "ranknet_linear"]
ALL = [name for name, cls in models().items() if not missing_packages(cls)]

pytestmark = pytest.mark.skipif(form() != X86_64_V3, reason=f"promised for {X86_64_V3}; this is {form()}")


def made(folder: Path, *command: str) -> dict[str, str]:
    """The SHA-256 of every file of a small run that `command` starts, but its times.

    An emulator that crashes, as qemu 7.2 does now and then, starts again; what is compared is of a run that ended well.
    """
    for attempt in range(3 if command[0] == QEMU else 1):
        out = folder / str(attempt)
        call = [*command, str(SCRIPT), str(out), *(ALL if IN_CI else FAMILIES)]
        done = subprocess.run(call, capture_output=True, text=True)
        if done.returncode >= 0:
            break
    said = [line for line in done.stderr.splitlines() if "TCG doesn't support" not in line]
    assert done.returncode == 0, "\n".join([f"exit {done.returncode}", *said[-40:]])
    return {
        str(path.relative_to(out)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != "timing.json"
    }


@pytest.fixture(scope="module")
def native(tmp_path_factory) -> dict[str, str]:
    return made(tmp_path_factory.mktemp("native"), sys.executable)


def differing(a: dict[str, str], b: dict[str, str]) -> list[str]:
    return sorted(path for path in a.keys() | b.keys() if a.get(path) != b.get(path))


@pytest.mark.skipif(QEMU is None, reason="needs qemu-x86_64: apt-get install qemu-user")
@pytest.mark.parametrize("cpu", ["Haswell", "EPYC"] if IN_CI else ["Haswell"])
def test_emulated_processor_makes_the_same_bytes(cpu, native, tmp_path):
    assert differing(native, made(tmp_path, QEMU, *SETTINGS, "-cpu", cpu, sys.executable)) == []
    assert len(native) > 10 + 5 * len(FAMILIES)


def test_results_made_natively_are_refused_where_pinned_ones_are_expected(rerun):
    method = rerun.root / MINE / "single_feature"
    shutil.rmtree(method / "fold1")
    (method / "per_query.parquet").unlink()
    rerun.environment["GRADRANK_CPU"] = "native"
    call = ("--cores", "2", "mine", "--forcerun", "summary")
    rerun.snakemake(*call)
    del rerun.environment["GRADRANK_CPU"]
    rerun.gradrank("verify", ok=False)
    assert "single_feature/fold1/spec.json" in rerun.snakemake(*call, ok=False)
