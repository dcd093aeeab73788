"""Tuned studies in the workflow: the reduced contest and the reduced factorial study run, and a clone continues."""

import os
import shutil
import time
from pathlib import Path

import pytest

from gradrank.base.files import read_json
from project import Project

METHODS = ["ranknet_linear", "regression", "fusion"]
SMALL = {"datasets": ["mine"], "methods": METHODS, "trials": 2, "tuners": 2, "seeds": 2}
CONTEST = "results/studies/contest/reduced"
CHOICES, PAGE = f"{CONTEST}/choices.json", f"{CONTEST}/provenance.json"
VALUES = [f"{CONTEST}/values/mine/{method}/tuner{tuner}.parquet" for method in METHODS for tuner in (1, 2)]


@pytest.fixture(scope="module")
def contest(shared) -> Project:
    """A project in which the reduced contest ran; not to be changed."""

    def make(root: Path) -> None:
        project = Project.small(root)
        project.study("contest", datasets=["mq2007"], methods=["mart"], reduced=SMALL)
        project.snakemake("--cores", "2", PAGE)

    return Project(shared("contest", make))


@pytest.fixture
def clone(contest, tmp_path) -> Project:
    """A copy of the project with the contest."""
    return Project(Path(shutil.copytree(contest.root, tmp_path / "my checkout", symlinks=True)))


def test_the_reduced_contest_runs_and_its_page_is_reproducible(contest, clone):
    numbers, record = (read_json(contest.root / CONTEST / f"{name}.json") for name in ("numbers", "provenance"))
    assert {row["method"] for row in numbers["results_mine"]} == set(METHODS)
    assert len(numbers["chosen_mine"]) == len(METHODS) * 2
    assert record["read"].keys() == {f"values/mine/{method}" for method in METHODS}
    value = f"{CONTEST}/values/mine/regression/tuner1.parquet"
    (clone.root / value).unlink()
    clone.snakemake("--cores", "1", value, PAGE)
    assert clone.files(CONTEST) == contest.files(CONTEST)


def test_a_clone_continues_from_the_parts_in_git(contest, clone, tmp_path):
    """Only trials, choices and values are kept, with arbitrary times. Missing values are computed, and nothing else."""
    folder, value = clone.root / CONTEST, f"{CONTEST}/values/mine/fusion/tuner1.parquet"
    (folder / "runs").rename(tmp_path / "runs")
    for name in (".snakemake", "logs"):  # for Snakemake, the measured times in logs/ are outputs with a time
        shutil.rmtree(clone.root / name)
    (clone.root / value).unlink()
    now = time.time()
    for path in folder.rglob("*"):
        os.utime(path, (now, now))
    assert set(clone.plan(CHOICES, *VALUES)) == {value}
    clone.snakemake("--cores", "2", *VALUES)
    assert clone.files(f"{CONTEST}/values") == contest.files(f"{CONTEST}/values")


def test_a_clone_with_packed_files_trains_nothing(contest, clone):
    """A packed file has the trials of all tuners. Missing values are computed, and the trials are not."""
    folder = clone.root / CONTEST
    clone.gradrank("pack", CONTEST)
    for path in (folder / "trials", folder / "values", clone.root / ".snakemake"):
        shutil.rmtree(path)
    (folder / "values.parquet").unlink()
    assert clone.plan(CHOICES) == {}
    before, restored = (project.files(f"{CONTEST}/trials") for project in (contest, clone))
    assert {name: restored[name] for name in before} == before
    plan = clone.plan(*VALUES)
    assert plan and set(plan.values()) == {"refit"}


def test_a_reduced_factorial_study_runs_and_its_page_is_recorded(project):
    """Its jobs are those of a contest, with the combinations as variants, and its record lists the files in git."""
    small = {"datasets": ["mine"], "scorers": {"linear": {"epochs": 2}, "trees": {"rounds": 3}}}
    small |= {"losses": ["softmax", "squared_error"], "trials": 2, "tuners": 1, "seeds": 2}
    project.study("factorial", **small | {"datasets": ["mq2007"], "reduced": small})
    folder = project.root / "results/studies/factorial/reduced"
    project.snakemake("--cores", "2", f"{folder.relative_to(project.root)}/provenance.json")
    cells = {"linear-softmax", "linear-squared_error", "trees-softmax", "trees-squared_error"}
    numbers, record = read_json(folder / "numbers.json"), read_json(folder / "provenance.json")
    assert {f"{row['scorer']}-{row['loss']}" for row in numbers["pareto_mine"]} == cells
    assert record["read"].keys() == {f"values/mine/{cell}" for cell in cells}
    assert {f"{stage} {cell}" for stage in ("tune", "refit") for cell in cells} < record["code"].keys()
