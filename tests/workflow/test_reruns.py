"""Who reruns what, on the real DAG."""

import os
import re
from collections import Counter

DATASETS = ("synthetic_net", "synthetic_poly")


def after_training(*models: str) -> Counter:
    """The jobs that follow when these models' evaluations change."""
    jobs = Counter({(rule, None, None): 1 for rule in ("report", "snapshot", "track", "all")})
    for dataset in DATASETS:
        jobs["summary", dataset, None] = jobs["provenance", dataset, None] = 1
        for model in models:
            jobs["evaluate_folds", dataset, model] = 1
    return jobs


def retraining(*models: str) -> Counter:
    return after_training(*models) + Counter({("train", d, m): 5 for d in DATASETS for m in models})


def test_second_call_does_nothing(rerun):
    assert "Nothing to be done" in rerun.snakemake("--cores", "2")


def test_touch_reruns_nothing(rerun):
    for path in rerun.root.rglob("*"):
        if path.is_file() and ".snakemake" not in path.parts:
            os.utime(path)
    assert rerun.planned() == Counter()


def test_hyper_parameter_reruns_its_model_alone(rerun):
    rerun.params(models={"lambdamart": {"learning_rate": 0.07}})
    assert rerun.planned() == retraining("lambdamart")


def test_model_source_reruns_its_model_alone(rerun):
    source = rerun.root / "src/gradrank/models/lambdamart.py"
    source.write_text(source.read_text() + "EDITED = 1\n")
    output = rerun.snakemake("--cores", "2", "--dry-run")
    assert rerun.listed(output) == retraining("lambdamart")
    assert re.search(r"Params have changed.* before: 'code=\w+' now: 'code=\w+'", output)
    assert "src/gradrank/models/lambdamart.py: changed, concerns train lambdamart" in rerun.gradrank("verify")


def test_comments_docstrings_and_formatting_rerun_nothing(rerun):
    for path in (rerun.root / "src/gradrank").rglob("*.py"):
        text = (
            path.read_text().replace('"""', '"""Edited. ', 1)
            if path.read_text()[:3] == '"""'
            else path.read_text()
        )
        path.write_text(text + "# edited\n\n\n")
    assert rerun.planned() == Counter()


def test_ancestor_package_is_code_of_what_lies_below_it(rerun):
    package = rerun.root / "src/gradrank/models/__init__.py"
    package.write_text(package.read_text() + "EDITED = 1\n")
    assert rerun.planned() == retraining("lambdamart", "ranknet_linear", "single_feature")


def test_queries_and_documents_that_change_places_are_another_size(rerun):
    rerun.params(datasets={"synthetic_net": {"queries": 12, "documents": 10}})
    rerun.snakemake("--cores", "2", "data/raw/synthetic_net/fetched.json")
    rerun.params(datasets={"synthetic_net": {"queries": 10, "documents": 12}})
    assert rerun.planned()["generate", "synthetic_net", None] == 1


def test_metric_retrains_nothing(rerun):
    source = rerun.root / "src/gradrank/evaluation/metrics.py"
    source.write_text(source.read_text() + "EDITED = 1\n")
    assert rerun.planned() == after_training("lambdamart", "ranknet_linear", "single_feature")


def test_reported_convention_retrains_nothing(rerun):
    rerun.params(evaluation={"convention": "standard"})
    jobs = rerun.planned()
    assert jobs["report", None, None] == 1
    assert not [job for job in jobs if job[0] in ("train", "evaluate_folds")]


def test_size_of_one_data_set_reruns_that_data_set_alone(rerun):
    rerun.params(datasets={"synthetic_net": {"queries": 15}})
    assert {dataset for _, dataset, _ in rerun.planned()} == {"synthetic_net", None}


def test_real_data_sets_are_targets_with_five_folds(project):
    project.params(run={"models": ["lambdamart", "ranksvm"]})
    jobs = project.planned("mq2007", "ohsumed")
    for dataset in ("mq2007", "ohsumed"):
        assert jobs["fetch", dataset, None] == jobs["parse", dataset, None] == 1
        assert jobs["train", dataset, "ranksvm"] == jobs["train", dataset, "lambdamart"] == 5
    assert jobs["report", None, None] == jobs["track", None, None] == 1


def test_stages_are_targets(project):
    assert {rule for rule, _, _ in project.planned("data")} == {"data", "generate", "parse", "pairs"}
    jobs = project.planned("report")
    assert ("report", None, None) in jobs and ("track", None, None) not in jobs
    assert ("report", None, None) in project.planned("track"), "MLflow keeps its figures"
