"""The text that a run prints last."""

import json

from gradrank.bench.report.document import BEST, console_summary
from gradrank.bench.report.tables.summary import summary
from gradrank.bench.report.tables.summary_tables import read_tables
from gradrank.bench.results import Results
from gradrank.training.registry import models
from made_results import make_results

MODELS = ("adarank_map", "lambdamart", "listnet", "mart", "prank", "ranknet_linear", "ranksvm")


def test_the_best_of_each_data_set_then_the_report(tmp_path):
    for dataset, convention in (("mq2007", "letor4"), ("synthetic_net", "standard")):
        summary(make_results(tmp_path, dataset, MODELS), MODELS, convention)
    results = Results(tmp_path / "results")
    text = console_summary(results, {"mq2007": "letor4", "synthetic_net": "standard"}, results.report_path)
    blocks = text.strip().split("\n\n")
    assert len(blocks) == 3
    head, *lines = blocks[1].splitlines()
    assert head.startswith("synthetic_net: ") and {"NDCG@10", "standard"} <= set(head.replace(",", "").split())
    means = {model: values["ndcg@10"] for model, values in results.dataset("synthetic_net").summary().items()}
    best = sorted(means, key=lambda model: -means[model])[:BEST]
    assert [line.split()[:2] for line in lines[:BEST]] == [[model, f"{means[model]:.4f}"] for model in best]
    assert all(line.split()[3].startswith("0.") for line in lines[:BEST])
    level = " ".join(lines[BEST:])
    p_best = {
        row["model"]: row["p_best"]
        for row in read_tables(results.dataset("synthetic_net").tables_path)["main"]
        if (row["convention"], row["metric"]) == ("standard", "ndcg@10")
    }
    assert "May be the best" in level and ("every method" in level) == (min(p_best.values()) >= 0.05)
    named = {model for model, p in p_best.items() if p >= 0.05}
    assert {model for model in MODELS if model in level} == (named if len(named) < len(MODELS) else set())
    assert all(len(line) <= 100 for line in lines)
    assert f"{tmp_path}/results/report.html" in blocks[2]
    methods = [model for model in sorted(means, key=lambda model: -means[model]) if model in models()]
    assert f"refit {results.folder}/synthetic_net/{methods[0]} --out model` trains {methods[0]} on all" in blocks[2]


def test_a_mean_that_is_not_defined_is_not_among_the_best(tmp_path):
    folder = tmp_path / "results" / "mine"
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps({"a": {"ndcg@10": None}, "b": {"ndcg@10": 0.25}}))
    text = console_summary(Results(tmp_path / "results"), {"mine": "letor4"}, tmp_path / "report.html")
    assert next(line.split() for line in text.splitlines() if line.startswith("  ")) == ["b", "0.2500", "±", "–"]


def test_warnings_about_the_features_of_a_data_set_are_printed(tmp_path):
    folder = tmp_path / "results" / "mine"
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps({"a": {"ndcg@10": 0.25}}))
    warning = "features are called like outcomes: " + ", ".join(f"'click_{k}'" for k in range(20))
    descriptions = {"mine": {"warnings": [warning]}}
    text = console_summary(Results(tmp_path / "results"), {"mine": "letor4"}, tmp_path / "report.html", descriptions)
    assert f"WARNING: {warning}" in " ".join(text.split())
