"""Studies in the workflow: the jobs of a contest, its frozen choices on a second collection, and further jobs."""

from collections import Counter

from project import STUDY

METHODS = ["ranknet_linear", "regression", "fusion"]
SMALL = {"datasets": ["mine"], "methods": METHODS, "trials": 2, "tuners": 2, "seeds": 2}


def test_a_contest_has_one_job_per_method_and_tuner_whatever_the_budget(project):
    project.study("contest", **SMALL | {"datasets": ["synthetic_net"], "trials": 100, "tuners": 3})
    trials = project.plan("contest_choices", "contest_values_synthetic_net")
    assert {rule for rule in trials.values() if rule in ("tune", "choices", "refit")} == {"tune", "choices", "refit"}
    plan = project.plan("contest", "--config", "contest_datasets=mine")
    parts = [(rule, path) for path, rule in plan.items() if path.endswith(".parquet") and rule != "pack"]
    jobs = Counter((rule, path.split("/")[4]) for rule, path in parts)
    of_tuners = 3 * len(METHODS)
    expected = {("tune", "synthetic_net"): of_tuners, ("refit", "synthetic_net"): of_tuners}
    assert jobs == expected | {("refit", "mine"): of_tuners}, "no trial runs on mine"
    assert "contest_datasets" not in project.snakemake("--dry-run", "contest")
    refused = project.snakemake("--dry-run", "contest", "--config", "contest_datasets=other", ok=False)
    assert "studies/contest/study.yaml" in refused and "frozen" in refused and "other" in refused


def test_more_draws_of_a_study_run_only_the_new_jobs(rerun):
    rerun.study("ranknet2005", reduced={"artificial": {"draws": 2}})
    plan = rerun.plan()
    jobs = {path for path, rule in plan.items() if rule == "study_job"}
    assert jobs == {f"{STUDY}/jobs/{target}-2.json" for target in ("net", "poly")}
    assert plan[f"{STUDY}/numbers.json"] == "study" and "train" not in plan.values()
