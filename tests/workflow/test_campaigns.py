"""A small random sample of each campaign, with a seed of its own every time; a failure prints it.

The campaigns themselves are scripts that anyone can run for hours (docs/reliability.md).
"""

import subprocess
import sys
from pathlib import Path

import pytest

CAMPAIGNS = Path(__file__).parents[1] / "campaigns"
ALONE = {
    "lines": 2000,
    "params": 150,
    "hostile": 60,
    "memory": 1,
    "callees": 1,
}  # trials in some seconds each
ON_A_RUN = {"damage": 1, "failing_writes": 2, "kills": 1, "together": 1}
FOR_PEOPLE = {"guided", "kills_slurm", "retrain"}  # which take atheris, a cluster, or hours
HELPERS = {"small", "traps"}


def sample(name: str, trials: int, *more: str) -> None:
    command = [sys.executable, str(CAMPAIGNS / f"{name}.py"), str(trials), *more]
    done = subprocess.run(command, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ALONE)
def test_a_sample_by_itself(name):
    sample(name, ALONE[name])


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> str:
    return str(tmp_path_factory.mktemp("campaigns") / "run")


@pytest.mark.parametrize("name", ON_A_RUN)
def test_a_sample_on_a_finished_run(name, run):
    sample(name, ON_A_RUN[name], "--run", run)


def test_every_campaign_is_sampled_and_says_how_it_is_called():
    scripts = [path for path in sorted(CAMPAIGNS.glob("*.py")) if path.stem not in HELPERS]
    assert {path.stem for path in scripts} == {*ALONE, *ON_A_RUN} | FOR_PEOPLE
    for path in scripts:
        usage = subprocess.run([sys.executable, str(path), "--help"], text=True, capture_output=True)
        assert usage.returncode == 0 and f"python tests/campaigns/{path.name}" in usage.stdout, usage.stderr
