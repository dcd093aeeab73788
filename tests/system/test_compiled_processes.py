"""Numba's cache of compiled functions in real processes: concurrent writers, edited sources, read-only folders."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gradrank.base.processor import PACKAGE

# _ideal calls gradrank.data.order.descending, which is in another file.
READ = """
import os
from gradrank.base.processor import use_cache_folder
use_cache_folder()
import numpy as np
from gradrank.training.ndcg_gains import ideal_shares
print(*ideal_shares(np.array([1, 2, 0]), np.array([0, 3]), 1))
"""
RIGHT, EDITED = "0.3333333333333333 1.0 0.0", "1.0 3.0 0.0"  # best gain first, or in file order


@pytest.fixture
def package(tmp_path) -> Path:
    """A copy of the package's sources."""
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(PACKAGE, tmp_path / "copy" / "gradrank", ignore=ignored))


def run(program: str, package: Path, **environment) -> str:
    """Run `program` with a copy of the package; return its output. An environment variable of value None is unset."""
    changed = os.environ | {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"} | environment
    variables = {key: str(value) for key, value in changed.items() if value is not None}
    done = subprocess.run([sys.executable, "-c", program], env=variables, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.nb?")}


def test_after_an_edit_of_a_callee_in_another_file_its_callers_are_compiled_again(package, tmp_path):
    cache, callee = tmp_path / "cache", package / "data" / "order.py"
    source = callee.read_text()
    assert run(READ, package, NUMBA_CACHE_DIR=cache) == RIGHT
    assert "values[rows[place - 1]] < values[row]" in source
    callee.write_text(source.replace("values[rows[place - 1]] < values[row]", "False"))
    assert run(READ, package, NUMBA_CACHE_DIR=cache) == EDITED
    callee.write_text(source)
    before = files(cache)
    assert len(list(cache.iterdir())) == 2 and before
    assert run(READ, package, NUMBA_CACHE_DIR=cache) == RIGHT
    assert files(cache) == before  # nothing was compiled again


# Two processes compile functions that are called with two types. They are forked from one that has imported Numba, so
# that they compile at the same moment.
TOGETHER = """
import os, shutil, sys
from pathlib import Path
from gradrank.base.processor import use_cache_folder
folder = use_cache_folder()
import numba
import numpy as np
from gradrank.measures.ranking import group_means, running_sum
numba.njit(lambda x: x + 1.0)(2.0)  # loads the compiler before the processes are forked
ends = np.array([0, 2, 4])

def calls(kind):
    values = np.array([1, 0, 1, 1])
    assert list(running_sum(values.astype(kind), ends)) == [1, 1, 1, 2]
    assert list(group_means(values.astype(bool if kind == "i8" else kind), ends)) == [0.5, 0.5, 1, 1]

def started(kind):
    process = os.fork()
    if process == 0:
        try:
            calls(kind)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
        os._exit(0)
    return process

def ended(*processes):
    assert [os.waitpid(process, 0)[1] for process in processes] == [0] * len(processes)

for _ in range(50):
    shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    ended(started("f8"), started("i8"))
    ended(started("i8"), started("f8"))  # these processes read what the first two wrote
    assert len([path for path in folder.rglob("*") if path.is_file()]) == 4  # an index and machine code for each
print("done")
"""


def test_processes_that_compile_for_two_types_at_the_same_time_get_their_own_results(package, tmp_path):
    assert run(TOGETHER, package, NUMBA_CACHE_DIR=tmp_path / "cache") == "done"


def test_with_a_read_only_checkout_and_no_home_the_cache_is_in_the_temporary_folder(package, tmp_path):
    temporary, home = tmp_path / "temporary", tmp_path / "no" / "home"
    temporary.mkdir()
    before = sorted(package.rglob("*"))
    for path in [package, *before]:
        path.chmod(path.stat().st_mode & 0o555)
    variables = {"HOME": home, "TMPDIR": temporary, "NUMBA_CACHE_DIR": None, "XDG_CACHE_HOME": None}
    assert run(READ, package, **variables) == RIGHT
    assert sorted(package.rglob("*")) == before
    assert not home.exists()
    (own,) = temporary.iterdir()
    (folder,) = own.iterdir()
    assert [path.stat().st_mode & 0o777 for path in (own, folder)] == [0o700, 0o700]
    assert files(folder)


def test_the_cache_has_its_folder_also_if_numba_was_imported_first(package, tmp_path):
    before = sorted(package.rglob("*"))
    assert run("import gradrank, numba" + READ, package, NUMBA_CACHE_DIR=tmp_path / "cache") == RIGHT
    written = files(tmp_path / "cache")
    assert written and sorted(package.rglob("*")) == before
    assert run("import gradrank, numba" + READ, package, NUMBA_CACHE_DIR=tmp_path / "cache") == RIGHT
    assert files(tmp_path / "cache") == written


def test_a_process_and_its_children_share_a_cache_folder(package, tmp_path):
    nested = (
        READ
        + "\nimport subprocess, sys\nif len(sys.argv) == 1:\n"
        + ("    subprocess.run([sys.executable, '-c', sys.orig_argv[2], 'inner'], check=True)\n")
    )
    assert run(nested, package, NUMBA_CACHE_DIR=tmp_path / "cache").splitlines() == [RIGHT] * 2
    (folder,) = (tmp_path / "cache").iterdir()
    assert not list(folder.glob("gradrank-*"))
