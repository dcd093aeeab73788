"""The contest on the real DAG: no choice sees a test part, and a second collection is looked at with all frozen."""

import json
import shutil

METHODS = ["ranknet_linear", "regression", "fusion"]
SMALL = {"datasets": ["synthetic_net"], "methods": METHODS, "trials": 2, "tuners": 2, "seeds": 2}
RULES = ("tune", "select", "freeze", "choices", "refit", "evaluate_refits", "score_trials", "contest_study")


def planned(project, *call):
    jobs = project.planned("contest", *call)
    return {(rule, dataset): count for (rule, dataset, _), count in jobs.items() if rule in RULES}


def test_one_job_a_method_and_fold_whatever_the_budget(project):
    small = SMALL | {"trials": 100, "tuners": 7}
    project.params(studies={"contest": small})
    each = len(METHODS) * 5
    assert planned(project) == {
        ("tune", "synthetic_net"): each,
        ("select", "synthetic_net"): each,
        ("refit", "synthetic_net"): each,
        ("evaluate_refits", "synthetic_net"): len(METHODS),
        ("score_trials", "synthetic_net"): len(METHODS),
        ("choices", None): 1,
        ("contest_study", None): 1,
    }


def test_a_collection_that_nobody_tuned_on(project):
    project.params(studies={"contest": SMALL})
    jobs = planned(project, "--config", "contest_datasets=synthetic_poly")
    own = {rule: count for (rule, dataset), count in jobs.items() if dataset == "synthetic_poly"}
    assert own == {"freeze": 15, "refit": 15, "evaluate_refits": 3}, "nothing is tried on it"
    output = project.snakemake("-n", "contest", "--config", "contest_datasets=synthetic_pol", ok=False)
    assert (
        "studies.contest.frozen: unknown data set 'synthetic_pol' (did you mean 'synthetic_poly'?)" in output
    )


def test_the_reduced_form_runs_and_stays(rerun):
    """Of plain `snakemake`: a page in the report, and the same bytes at any number of cores."""
    rerun.params(studies={"contest": {"datasets": ["mq2007"], "methods": ["mart"], "reduced": SMALL}})
    rerun.snakemake("--cores", "2")
    folder = rerun.root / "results/studies/contest/reduced"
    numbers = json.loads((folder / "numbers.json").read_text())
    assert {row["method"] for row in numbers["results_synthetic_net"]} >= {
        *METHODS,
        "constant score, file order",
    }
    assert len(numbers["chosen_synthetic_net"]) == len(METHODS) * 5 * 2
    assert 'id="study-contest"' in (rerun.root / "results/report.html").read_text()
    assert "Nothing to be done" in rerun.snakemake("--cores", "2")
    assert "ok       contest/reduced: results: 3 files" in rerun.gradrank("verify")
    record = json.loads((folder / "provenance.json").read_text())
    assert sorted(record["read"]) == sorted(
        f"studies/contest/reduced/tuning/synthetic_net/{method}/per_query.parquet" for method in METHODS
    )
    assert "python" in record["versions"], "of what trained the choices anew, too"
    assert not [number for number in record["versions"].values() if "+" in number], "a build is no version"

    names = ("trials.parquet", "choices.json", "per_query.parquet", "trials_test.parquet", "numbers.json")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.name in names}
    own = folder / "tuning/synthetic_net/regression"
    shutil.rmtree(own)
    made = (
        str((own / name).relative_to(rerun.root)) for name in ("per_query.parquet", "trials_test.parquet")
    )
    rerun.snakemake("--cores", "1", *made)
    assert {path: path.read_bytes() for path in before} == before, "the same bytes, in another order of jobs"
