"""The cache folder of compiled functions: its place, its owner, and the inputs of its digest."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from gradrank.base import processor
from gradrank.base.errors import GradrankError, GradrankWarning
from gradrank.base.extensions import use_own_models
from gradrank.base.processor import PINS, cache_folder, digest, use_cache_folder


@pytest.fixture
def environment(monkeypatch):
    """Unset the variables that choose the folder. Changes that a test makes are undone afterwards."""
    monkeypatch.setattr(processor, "_in_use", None)
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return monkeypatch


def test_the_folder_is_in_the_users_cache_and_closed_to_other_users(environment, tmp_path):
    environment.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "gradrank").mkdir(mode=0o777)
    folder = use_cache_folder()
    assert folder == tmp_path / "gradrank" / f"gradrank-{digest()}"
    assert os.environ["NUMBA_CACHE_DIR"] == str(folder)
    assert {path.stat().st_mode & 0o777 for path in (folder, folder.parent)} == {0o700}


def test_a_folder_of_another_user_is_refused(environment, tmp_path):
    environment.setenv("XDG_CACHE_HOME", str(tmp_path / "no" / "cache"))
    environment.setattr(tempfile, "tempdir", str(tmp_path))
    environment.setattr(os, "getuid", lambda: 54321)
    with pytest.raises(GradrankError, match="NUMBA_CACHE_DIR") as refused:
        use_cache_folder()
    assert str(tmp_path / "gradrank-user-54321") in str(refused.value)


def test_a_link_and_a_folder_that_cannot_be_created_are_refused(environment, tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / f"gradrank-{digest()}").symlink_to(tmp_path / "target")
    for chosen in (tmp_path, tmp_path / "file/cache"):
        environment.setenv("NUMBA_CACHE_DIR", str(chosen))
        with pytest.raises(GradrankError, match="NUMBA_CACHE_DIR"):
            use_cache_folder()


def test_a_new_folder_replaces_folders_that_were_unused_for_a_month(environment, tmp_path):
    environment.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    now = time.time()
    old, recent = (f"gradrank-{letter * 20}" for letter in "ab")
    for name, days in ((old, 31), (recent, 29), ("another", 99), ("gradrank-mine", 99)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (now, now - days * 24 * 3600))
    folder = use_cache_folder()
    assert {path.name for path in tmp_path.iterdir()} == {folder.name, recent, "another", "gradrank-mine"}


def test_a_process_uses_the_folder_of_the_process_that_started_it(environment, tmp_path):
    environment.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert use_cache_folder() == use_cache_folder() == tmp_path / f"gradrank-{digest()}"


def test_settings_of_numba_are_in_the_digest(environment):
    before = digest()
    environment.setenv("NUMBA_CACHE_DIR", "/another/folder")
    assert digest() == before
    environment.setenv("NUMBA_CPU_NAME", "generic")
    assert digest() != before


def test_the_models_of_a_working_folder_are_in_the_digest(environment, tmp_path):
    environment.chdir(tmp_path)
    use_own_models(None)  # a test that runs a command in this process enables the folder
    before = digest()
    Path("models").mkdir()
    Path("models/mine.py").write_text(
        "from gradrank.base.compiled import compiled\n\n\n@compiled()\ndef f(x):\n    return x\n"
    )
    assert digest() == before  # a program that imports gradrank does not read the folder
    use_own_models()
    try:
        assert digest() != before
    finally:
        use_own_models(None)


# The first argument tells whether the caller imports Numba before gradrank compiles a function.
PREDICT = """
import os, sys, warnings
warnings.simplefilter("error")
before = dict(os.environ)
if sys.argv[1] == "numba":
    import numba
import numpy
from gradrank.measures.ranking import running_sum
print(running_sum(numpy.ones(4), numpy.array([0, 4])), running_sum.entry.stats.cache_hits)
import numba
assert numba.config.CACHE_DIR == "" and dict(os.environ) == before
"""


@pytest.mark.parametrize("first", ["numba", "gradrank"])
def test_without_pin_the_second_process_reads_the_code_that_the_first_compiled(first, tmp_path):
    variables = {name: value for name, value in os.environ.items() if name not in (*PINS, "NUMBA_CACHE_DIR")}
    variables |= {"XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", PREDICT, first]
    runs = [subprocess.run(command, env=variables, capture_output=True, text=True, check=True) for _ in range(2)]
    printed = [run.stdout.split("]")[1].strip() for run in runs]
    assert printed[0] == "Counter()" and "1" in printed[1]
    assert len(list(tmp_path.glob("gradrank/gradrank-*/*/*"))) == 2  # an index and machine code


def test_without_a_folder_functions_are_compiled_with_a_warning(environment, tmp_path):
    (tmp_path / "gradrank").symlink_to(tmp_path)
    environment.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.warns(GradrankWarning, match="not cached.*NUMBA_CACHE_DIR"):
        assert cache_folder() is None
    assert "NUMBA_CACHE_DIR" not in os.environ
