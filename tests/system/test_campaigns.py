"""A small random sample of each campaign, with a new seed every time; a failure prints it."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TRIALS = {"lines": 5000, "forms": 60, "params": 200, "damage": 2, "kills": 2}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """The folder of a finished run, which the first campaign makes."""
    return tmp_path_factory.mktemp("campaigns") / "a run"


@pytest.mark.parametrize("name", TRIALS)
def test_a_random_sample_has_no_faults(name, run):
    command = [sys.executable, str(HERE / f"{name}.py"), str(TRIALS[name]), "--run", str(run)]
    done = subprocess.run(command, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
