"""The contest in the workflow: choices never read test parts, and a second collection is scored with frozen choices."""

import os
import shutil
import time
from collections import Counter

from gradrank.base.files import read_json
from project import STUDY

METHODS = ["ranknet_linear", "regression", "fusion"]
SMALL = {"datasets": ["mine"], "methods": METHODS, "trials": 2, "tuners": 2, "seeds": 2}
CONTEST = "results/studies/contest/reduced"


def test_a_contest_has_one_job_per_method_and_tuner_whatever_the_budget(project):
    project.study("contest", **SMALL | {"datasets": ["synthetic_net"], "trials": 100, "tuners": 3})
    plan = project.plan("contest", "--config", "contest_datasets=mine")
    jobs = Counter((rule, path.split("/")[4]) for path, rule in plan.items() if path.endswith(".parquet"))
    of_tuners = 3 * len(METHODS)
    expected = {("tune", "synthetic_net"): of_tuners, ("refit", "synthetic_net"): of_tuners}
    assert jobs == expected | {("refit", "mine"): of_tuners}, "no trial runs on mine"
    assert "contest_datasets" not in project.snakemake("--dry-run", "contest")
    refused = project.snakemake("--dry-run", "contest", "--config", "contest_datasets=other", ok=False)
    assert "studies/contest/study.yaml" in refused and "frozen" in refused and "other" in refused


def test_the_reduced_contest_runs_and_its_page_is_reproducible(rerun):
    rerun.study("contest", datasets=["mq2007"], methods=["mart"], reduced=SMALL)
    target = f"{CONTEST}/provenance.json"
    rerun.snakemake("--cores", "2", target)
    folder = rerun.root / CONTEST
    numbers = read_json(folder / "numbers.json")
    assert {row["method"] for row in numbers["results_mine"]} == set(METHODS)
    assert len(numbers["chosen_mine"]) == len(METHODS) * 2
    record = read_json(folder / "provenance.json")
    assert record["read"].keys() == {f"values/mine/{method}" for method in METHODS}
    rerun.run("gradrank", "verify")
    before = rerun.files(CONTEST)
    (folder / "values/mine/regression/tuner1.parquet").unlink()
    rerun.snakemake("--cores", "1", f"{CONTEST}/values/mine/regression/tuner1.parquet", target)
    assert rerun.files(CONTEST) == before


def test_a_reduced_factorial_study_runs_and_its_page_is_recorded(rerun):
    """Its jobs are those of a contest, with the combinations as variants, and its record lists the files in git."""
    small = {"datasets": ["mine"], "scorers": {"linear": {"epochs": 2}, "trees": {"rounds": 3}}}
    small |= {"losses": ["softmax", "squared_error"], "trials": 2, "tuners": 1, "seeds": 2}
    rerun.study("factorial", **small | {"datasets": ["mq2007"], "reduced": small})
    folder = rerun.root / "results/studies/factorial/reduced"
    rerun.snakemake("--cores", "2", f"{folder.relative_to(rerun.root)}/provenance.json")
    cells = {"linear-softmax", "linear-squared_error", "trees-softmax", "trees-squared_error"}
    numbers, record = read_json(folder / "numbers.json"), read_json(folder / "provenance.json")
    assert {f"{row['scorer']}-{row['loss']}" for row in numbers["pareto_mine"]} == cells
    assert record["read"].keys() == {f"values/mine/{cell}" for cell in cells}
    assert {f"{stage} {cell}" for stage in ("tune", "refit") for cell in cells} < record["code"].keys()
    rerun.run("gradrank", "verify")


def test_a_clone_continues_from_the_parts_in_git(rerun, tmp_path):
    """Only trials, choices and values are kept, with arbitrary times. Missing values are computed, and nothing else."""
    rerun.study("contest", **SMALL)
    rerun.snakemake("--cores", "2", "contest_values_mine")
    folder = rerun.root / "results/studies/contest"
    before = rerun.files("results/studies/contest/values")
    for part in ("runs", "choices.json"):
        (folder / part).rename(tmp_path / part)
    (tmp_path / "choices.json").rename(folder / "choices.json")
    shutil.rmtree(rerun.root / ".snakemake")
    (folder / "values/mine/fusion/tuner1.parquet").unlink()
    now = time.time()
    for path in folder.rglob("*"):
        os.utime(path, (now, now))
    plan = rerun.plan("contest_choices", "contest_values_mine")
    assert set(plan) == {"results/studies/contest/values/mine/fusion/tuner1.parquet"}
    rerun.snakemake("--cores", "2", "contest_values_mine")
    assert rerun.files("results/studies/contest/values") == before


def test_more_draws_of_a_study_run_only_the_new_jobs(rerun):
    rerun.study("ranknet2005", reduced={"artificial": {"draws": 2}})
    plan = rerun.plan()
    jobs = {path for path, rule in plan.items() if rule == "study_job"}
    assert jobs == {f"{STUDY}/jobs/{target}-2.json" for target in ("net", "poly")}
    assert plan[f"{STUDY}/numbers.json"] == "study" and "train" not in plan.values()
