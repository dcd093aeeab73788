"""`gradrank.pin` must be called before numeric libraries are imported, so most tests start new processes."""

import os
import subprocess
import sys

import pytest

from gradrank.base import processor
from gradrank.base.errors import GradrankError
from gradrank.base.processor import PINS, X86_64_V3

LINUX_X86_64 = (os.uname().sysname, os.uname().machine) == ("Linux", "x86_64")
pinned_here = pytest.mark.skipif(not LINUX_X86_64, reason="the instruction set is pinned only on x86-64 Linux")


def run(code: str, *options: str, **environment: str) -> subprocess.CompletedProcess:
    clean = {name: value for name, value in os.environ.items() if name not in PINS and name != "GRADRANK_CPU"}
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, env=clean | environment, capture_output=True, text=True, check=True)


FORM = "from gradrank.base import processor; import os; print(processor.form(), os.environ.get('MKL_CBWR'))"
PIN = f"import gradrank; gradrank.pin(); {FORM}"


@pinned_here
def test_these_tests_run_with_the_pinned_instruction_set():
    assert processor.form() == X86_64_V3 or os.environ.get("GRADRANK_CPU") == "native"


@pinned_here
def test_pin_overrides_environment_variables():
    assert run(PIN, MKL_CBWR="AVX512", OMP_NUM_THREADS="8").stdout.split() == [X86_64_V3, "COMPATIBLE"]


@pinned_here
def test_native_changes_no_environment_variable():
    assert run(PIN, GRADRANK_CPU="native", MKL_CBWR="AVX512").stdout.split() == ["native", "AVX512"]


@pinned_here
@pytest.mark.parametrize("module", ["numpy", "numba", "torch"])
def test_pin_is_refused_after_a_numeric_import_and_changes_nothing(module):
    code = (
        f"import {module}, os, gradrank\nbefore = dict(os.environ)\n"
        "try:\n    gradrank.pin()\nexcept gradrank.base.errors.GradrankError as error:\n    print(error)\n"
        f"assert before == dict(os.environ)\n{FORM}"
    )
    refusal, found = run(code).stdout.splitlines()
    assert module in refusal
    assert found.split() == ["unpinned", "None"]


@pinned_here
def test_numpy_imported_first_is_accepted_if_the_pin_is_inherited():
    done = run(f"import numpy; {PIN}", "-W", "error", **PINS)
    assert done.stdout.split() == [X86_64_V3, "COMPATIBLE"]


@pinned_here
def test_every_library_uses_the_pinned_instruction_set():
    """Check what each library reports, because a new version may read another environment variable."""
    done = run(
        "import gradrank; gradrank.pin()\n"
        "import torch, numba.core.registry, scipy.linalg, sklearn\n"
        "import contextlib, io, numpy\n"
        "from threadpoolctl import threadpool_info\n"
        "with contextlib.redirect_stdout(io.StringIO()) as shown:\n"
        "    numpy.show_runtime()\n"
        "print(shown.getvalue().split(\"'found': \")[1].split(']')[0] + ']')\n"
        "print(torch.backends.cpu.get_cpu_capability())\n"
        "print(numba.core.registry.cpu_target.target_context.codegen().magic_tuple()[1:])\n"
        "for pool in threadpool_info():\n"
        "    print(pool['internal_api'], pool['num_threads'], pool.get('architecture', ''))\n",
        "-W",
        "error::ImportWarning",  # NumPy warns of unknown feature names
    )
    numpy, torch, numba, *pools = done.stdout.splitlines()
    assert numpy == "['X86_V3']"
    assert torch == "AVX2"
    assert "haswell" in numba and "avx512" not in numba
    assert {"openblas 1 Haswell"} == {line for line in pools if line.startswith("openblas")}
    assert all(line.split()[1] == "1" for line in pools)


def test_libraries_that_are_imported_after_the_first_limit_are_limited_too():
    done = run(
        "import numpy\n"
        "from threadpoolctl import threadpool_info\n"
        "from gradrank.base.processor import thread_count, use_threads\n"
        "counts = lambda: {pool['filepath']: pool['num_threads'] for pool in threadpool_info()}\n"
        "with use_threads(2):\n    first = counts()\n"
        "import lightgbm\n"
        "before = counts()\n"
        "with use_threads(2):\n    inside = counts(), thread_count()\n"
        "print(len(inside[0]) > len(first), {*first.values(), *inside[0].values()}, inside[1], thread_count(), "
        "counts() == before)",
        OMP_NUM_THREADS="2",
        OPENBLAS_NUM_THREADS="2",
    )
    assert done.stdout.strip() == "True {1} 2 1 True"


@pinned_here
def test_a_processor_without_avx2_is_refused_with_one_message(tmp_path, monkeypatch):
    monkeypatch.delenv("GRADRANK_CPU", raising=False)
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nflags\t\t: fpu sse2 sse4_2 movbe f16c\n")
    with pytest.raises(GradrankError, match=r"lacks avx2, bmi1, bmi2, fma.*GRADRANK_CPU=native"):
        processor.check(info)
    monkeypatch.setenv("GRADRANK_CPU", "native")
    processor.check(info)


@pinned_here
@pytest.mark.parametrize("made", ["native", "unpinned", "aarch64 Linux", None])
def test_results_of_another_instruction_set_are_refused_by_a_pinned_process(made, monkeypatch):
    monkeypatch.delenv("GRADRANK_CPU", raising=False)
    assert X86_64_V3 in processor.refusal(made)
    assert processor.refusal(X86_64_V3) is None
    monkeypatch.setenv("GRADRANK_CPU", "native")
    assert processor.refusal(made) is None
