"""The instruction set that everything numeric is held to, in processes of their own: it is set at the first import."""

import os
import subprocess
import sys

import pytest

from gradrank.base import processor
from gradrank.base.errors import GradrankError
from gradrank.base.processor import PINS, X86_64_V3

LINUX_X86_64 = (os.uname().sysname, os.uname().machine) == ("Linux", "x86_64")
pinned_here = pytest.mark.skipif(not LINUX_X86_64, reason="only x86-64 under Linux is held to an instruction set")


def run(code: str, *options: str, **environment: str) -> subprocess.CompletedProcess:
    clean = {name: value for name, value in os.environ.items() if name not in PINS and name != "GRADRANK_CPU"}
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, env=clean | environment, capture_output=True, text=True, check=True)


FORM = "from gradrank.base import processor; import os; print(processor.form(), os.environ.get('MKL_CBWR'))"


@pinned_here
def test_these_tests_run_with_it():
    assert processor.form() == X86_64_V3 or os.environ.get("GRADRANK_CPU") == "native"


@pinned_here
def test_importing_the_package_sets_it_over_what_was_set():
    assert run(FORM, MKL_CBWR="AVX512", OMP_NUM_THREADS="8").stdout.split() == [X86_64_V3, "COMPATIBLE"]


@pinned_here
def test_native_leaves_everything_alone():
    assert run(FORM, GRADRANK_CPU="native", MKL_CBWR="AVX512").stdout.split() == ["native", "AVX512"]


@pinned_here
def test_numpy_imported_first_is_said_once_and_nothing_is_half_set():
    done = run(f"import numpy; {FORM}; import gradrank.data.collection")
    assert done.stdout.split() == ["unpinned", "None"]
    assert done.stderr.count("numpy was imported before gradrank") == 1


@pinned_here
def test_numpy_imported_first_in_a_process_that_inherits_it_is_fine():
    done = run(f"import numpy; {FORM}", "-W", "error", **PINS)
    assert done.stdout.split() == [X86_64_V3, "COMPATIBLE"]


@pinned_here
def test_every_library_heeds_it():
    """What each library says of itself; a new version of one may call its variable otherwise."""
    done = run(
        "import gradrank, torch, numba.core.registry, scipy.linalg, sklearn\n"
        "import contextlib, io, numpy\n"
        "from threadpoolctl import threadpool_info\n"
        "with contextlib.redirect_stdout(io.StringIO()) as shown:\n"
        "    numpy.show_runtime()\n"
        "print(shown.getvalue().split(\"'found': \")[1].split(']')[0] + ']')\n"
        "print(torch.backends.cpu.get_cpu_capability())\n"
        "print(numba.core.registry.cpu_target.target_context.codegen().magic_tuple()[1:])\n"
        "for each in threadpool_info():\n"
        "    print(each['internal_api'], each['num_threads'], each.get('architecture', ''))\n",
        "-W",
        "error::ImportWarning",  # NumPy's, for a name that it does not know
    )
    numpy, torch, numba, *pools = done.stdout.splitlines()
    assert numpy == "['X86_V3']"
    assert torch == "AVX2"
    assert "haswell" in numba and "avx512" not in numba
    assert {"openblas 1 Haswell"} == {line for line in pools if line.startswith("openblas")}
    assert all(line.split()[1] == "1" for line in pools)


def test_processor_that_lacks_avx2_gets_one_message(tmp_path, monkeypatch):
    monkeypatch.setattr(processor, "_form", X86_64_V3)
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nflags\t\t: fpu sse2 sse4_2 movbe f16c\n")
    with pytest.raises(GradrankError, match=r"lacks avx2, bmi1, bmi2, fma.*GRADRANK_CPU=native"):
        processor.check(info)
    monkeypatch.setattr(processor, "_form", "native")
    processor.check(info)


@pytest.mark.parametrize("made", ["native", "unpinned", "aarch64 Linux", None])
def test_who_computes_with_it_takes_no_other(made, monkeypatch):
    monkeypatch.setattr(processor, "_form", X86_64_V3)
    assert X86_64_V3 in processor.refusal(made)
    assert processor.refusal(X86_64_V3) is None
    monkeypatch.setattr(processor, "_form", "native")
    assert processor.refusal(made) is None
