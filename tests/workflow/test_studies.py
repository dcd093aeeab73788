"""The contest in the workflow: choices never read test parts, and a second collection is scored with frozen choices."""

from collections import Counter

from gradrank.base.files import read_json
from project import STUDY

METHODS = ["ranknet_linear", "regression", "fusion"]
SMALL = {"datasets": ["mine"], "methods": METHODS, "trials": 2, "tuners": 2, "seeds": 2}
CONTEST = "results/studies/contest/reduced"


def test_a_contest_has_one_job_per_method_and_fold_whatever_the_budget(project):
    project.params(studies={"contest": SMALL | {"datasets": ["synthetic_net"], "trials": 100, "tuners": 7}})
    plan = project.plan("contest", "--config", "contest_datasets=mine")
    jobs = Counter((rule, path.split("/")[4]) for path, rule in plan.items() if "/contest/tuning/" in path)
    per_rule = {("tune", "select", "refit")[k]: 5 * len(METHODS) for k in range(3)}
    expected = {(rule, "synthetic_net"): count for rule, count in per_rule.items()}
    expected |= {(rule, "synthetic_net"): len(METHODS) for rule in ("evaluate_refits", "score_trials")}
    frozen = {"freeze": len(METHODS), "refit": len(METHODS), "evaluate_refits": len(METHODS)}
    assert jobs == expected | {(rule, "mine"): count for rule, count in frozen.items()}, "no trial runs on mine"
    assert "contest_datasets" not in project.snakemake("--dry-run", "contest")
    refused = project.snakemake("--dry-run", "contest", "--config", "contest_datasets=other", ok=False)
    assert "studies.contest.frozen" in refused and "other" in refused


def test_the_reduced_contest_runs_and_its_page_is_reproducible(rerun):
    rerun.params(studies={"contest": {"datasets": ["mq2007"], "methods": ["mart"], "reduced": SMALL}})
    target = f"{CONTEST}/provenance.json"
    rerun.snakemake("--cores", "2", target)
    folder = rerun.root / CONTEST
    numbers = read_json(folder / "numbers.json")
    assert {row["method"] for row in numbers["results_mine"]} >= set(METHODS)
    assert len(numbers["chosen_mine"]) == len(METHODS) * 2
    record = read_json(folder / "provenance.json")
    assert record["read"].keys() == {f"tuning/mine/{method}" for method in METHODS}
    rerun.run("gradrank", "verify")
    before = rerun.files(CONTEST)
    (folder / "tuning/mine/regression/fold1/refits.json").unlink()
    (folder / "tuning/mine/regression/per_query.parquet").unlink()
    (folder / "tuning/mine/regression/trials_test.parquet").unlink()
    rerun.snakemake("--cores", "1", f"{CONTEST}/tuning/mine/regression/trials_test.parquet", target)
    assert rerun.files(CONTEST) == before


def test_more_draws_of_a_study_run_only_the_new_jobs(rerun):
    rerun.params(studies={"ranknet2005": {"reduced": {"artificial": {"draws": 2}}}})
    plan = rerun.plan()
    jobs = {path for path, rule in plan.items() if rule == "study_job"}
    assert jobs == {f"{STUDY}/jobs/{target}-2.json" for target in ("net", "poly")}
    assert plan[f"{STUDY}/numbers.json"] == "study" and "train" not in plan.values()
