"""A small random sample of each campaign, with a seed of its own every time; a failure prints it.

The campaigns themselves are scripts that anyone can run for hours (docs/reliability.md).
"""

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import CAMPAIGN_RUN

CAMPAIGNS = Path(__file__).parents[1] / "campaigns"
ALONE = {
    "lines": 2000,
    "forms": 40,
    "params": 150,
    "hostile": 60,
    "memory": 1,
    "callees": 1,
}  # trials in some seconds each
ON_A_RUN = {"damage": 1, "failing_writes": 2, "kills": 1, "together": 1}
FOR_PEOPLE = {"guided", "kills_slurm", "retrain"}  # which take atheris, a cluster, or hours
HELPERS = {"small", "traps"}
# Each script's --help, in one process.
USAGES = """
import runpy, sys
for path in sys.argv[1:]:
    sys.argv = [path, "--help"]
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        print("exit code", end.code)
"""


def sample(name: str, trials: int, *more: str) -> None:
    command = [sys.executable, str(CAMPAIGNS / f"{name}.py"), str(trials), *more]
    done = subprocess.run(command, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ALONE)
def test_a_sample_by_itself(name):
    sample(name, ALONE[name])


@pytest.fixture(scope="module")
def run(checkout, tmp_path_factory) -> str:
    made = checkout(tmp_path_factory.mktemp("campaigns") / "run", CAMPAIGN_RUN)
    made.snakemake("--cores", "2")
    return str(made.root)


@pytest.mark.parametrize("name", ON_A_RUN)
def test_a_sample_on_a_finished_run(name, run):
    sample(name, ON_A_RUN[name], "--run", run)


def test_every_campaign_is_sampled_and_says_how_it_is_called():
    scripts = [path for path in sorted(CAMPAIGNS.glob("*.py")) if path.stem not in HELPERS]
    assert {path.stem for path in scripts} == {*ALONE, *ON_A_RUN} | FOR_PEOPLE
    command = [sys.executable, "-c", USAGES, *map(str, scripts)]
    usages = subprocess.run(command, cwd=CAMPAIGNS, text=True, capture_output=True)
    assert usages.returncode == 0, usages.stderr
    for path in scripts:
        assert f"python tests/campaigns/{path.name}" in usages.stdout
    assert usages.stdout.count("exit code 0\n") == len(scripts)
