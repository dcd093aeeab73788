"""A small run gives the same bytes natively and on two processors that qemu emulates.

The emulated processors are one of Intel and one of AMD, both without AVX-512. On a machine with AVX-512, the native run
must not use it. Code is compiled natively and read from the cache by the emulated processes, because compilation under
emulation takes minutes. One model per numeric family is compared; in continuous integration (CI=true), every model on
the first of the two.
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
# NumPy's sorts load up to 28 bytes beyond an array under a mask, and qemu 7.2 reads them. Arrays are therefore put on
# the heap, where the memory exists. emulated.py reads SORT_STABLY.
SETTINGS = ("-E", "MALLOC_MMAP_MAX_=0,MALLOC_TOP_PAD_=67108864,SORT_STABLY=1")
# NumPy, Numba with NumPy, torch, LightGBM, SciPy's L-BFGS
FAMILIES = ["regression", "arsm", "ranknet_two_layer", "lambdamart", "ranknet_linear"]
ALL = [name for name, cls in models().items() if not missing_packages(cls)]
COMPARED = {"Haswell": ALL, "EPYC": FAMILIES} if IN_CI else {"Haswell": FAMILIES}

pytestmark = pytest.mark.skipif(form() != X86_64_V3, reason=f"reproducible on {X86_64_V3}; this is {form()}")


def digests_of_run(folder: Path, names: list[str], *command: str) -> dict[str, str]:
    """Return the SHA-256 of every file, except timing.json, of a small run of models that `command` starts.

    An emulator that crashes, as qemu 7.2 sometimes does, is started again. Only a complete run is compared.
    """
    for attempt in range(3 if QEMU in command else 1):
        out = folder / str(attempt)
        call = [*command, str(SCRIPT), str(out), *names]
        done = subprocess.run(call, capture_output=True, text=True)
        if done.returncode >= 0:
            break
    messages = [line for line in done.stderr.splitlines() if "TCG doesn't support" not in line]
    assert done.returncode == 0, "\n".join([f"exit {done.returncode}", *messages[-40:]])
    return {
        str(path.relative_to(out)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != "timing.json"
    }


def differing(a: dict[str, str], b: dict[str, str]) -> list[str]:
    return sorted(path for path in a.keys() | b.keys() if a.get(path) != b.get(path))


@pytest.mark.skipif(QEMU is None, reason="needs qemu-x86_64: apt-get install qemu-user")
@pytest.mark.parametrize("cpu", COMPARED)
def test_an_emulated_processor_gives_the_same_bytes(cpu, tmp_path):
    names = COMPARED[cpu]
    native = digests_of_run(tmp_path / "native", names, sys.executable)
    emulated = digests_of_run(tmp_path / cpu, names, str(QEMU), *SETTINGS, "-cpu", cpu, sys.executable)
    assert differing(native, emulated) == []
    assert len(native) > 10 + 5 * len(names)


def test_results_of_unpinned_runs_are_refused_by_a_pinned_run(rerun):
    method = rerun.root / MINE / "methods/single_feature"
    shutil.rmtree(method / "fold1")
    (method / "per_query.parquet").unlink()
    rerun.environment["GRADRANK_CPU"] = "native"
    call = ("--cores", "2", "mine", "--forcerun", "summary")
    rerun.snakemake(*call)
    del rerun.environment["GRADRANK_CPU"]
    rerun.gradrank("verify", ok=False)
    assert "single_feature/fold1/spec.json" in rerun.snakemake(*call, ok=False)
