"""The differences from a baseline in the tables of a run, in summary.md and in the report."""

import csv
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.config.params import check
from gradrank.bench.config.params_file import read
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.folds.settings import BASELINE, baseline_of
from gradrank.bench.report.tables.dataset_values import DatasetValues, baseline_among, baseline_rows
from gradrank.bench.report.tables.summary import summary
from gradrank.comparison.significance import decide
from gradrank.comparison.statistics import holm, paired_test
from made_results import make_results, write_values
from rendered import Document, rendered

ROOT = Path(__file__).parents[4]
MODELS = ("lambdamart", "mart", "ranksvm")
FOLD = np.repeat([1, 2, 3], [30, 40, 50])


def values(seed, shift=0.0):
    noise = np.random.default_rng(seed).normal(0, 0.05, len(FOLD))
    common = np.random.default_rng(0).random(len(FOLD))
    return {"letor4": QueryValues(FOLD, np.arange(len(FOLD)), {"ndcg@10": common + noise + shift})}


@pytest.fixture
def dataset():
    methods = {"a": values(1, 0.1), "b": values(2), "ranksvm": values(3), "c": values(4, -0.1)}
    return DatasetValues("mine", "letor4", methods)


def test_rows_are_paired_tests_with_a_correction_for_the_methods(dataset):
    rows = list(baseline_rows(dataset))
    assert [row["model"] for row in rows] == ["a", "b", "c"] and {row["baseline"] for row in rows} == {"ranksvm"}
    of = {name: own["letor4"].values["ndcg@10"] for name, own in dataset.values.items()}
    tests = {name: paired_test(of[name], of["ranksvm"], FOLD) for name in "abc"}
    corrected = holm([tests[name].wilcoxon for name in "abc"])
    for row, p in zip(rows, corrected, strict=True):
        test = tests[row["model"]]
        assert {key: row[key] for key in test._fields} == pytest.approx(test._asdict())
        assert row["wilcoxon_holm"] == p
        assert row["decision"] == decide(p, test.low, test.high)
    assert [row["decision"] for row in rows] == ["better", "no evidence", "worse"]


def test_without_the_baseline_the_highest_method_is_shown_and_not_tested(dataset):
    rows = list(baseline_rows(DatasetValues("mine", "letor4", dataset.values, baseline="lambdarank")))
    assert {row["baseline"] for row in rows} == {"a"} and {row["decision"] for row in rows} == {None}
    fixed = {row["model"]: row for row in baseline_rows(DatasetValues("mine", "letor4", dataset.values, baseline="a"))}
    for row in rows:
        assert row["difference"] == fixed[row["model"]]["difference"]
        assert row["detectable"] > fixed[row["model"]]["detectable"], "all pairs are corrected for"
    assert baseline_among({"x": None, "y": 0.2, "z": 0.3}, "lambdarank") == "z"
    assert baseline_among({"x": None, "y": 0.2}, "x") == "x"


def test_the_parameter_names_the_baseline_of_tables_and_pages(tmp_path):
    folder = make_results(tmp_path, "mq2007", MODELS, 30)
    path = folder / "methods/lambdamart/per_query.parquet"
    write_values(pl.read_parquet(path).with_columns(pl.col("ndcg@10") + 2), path.parent)
    for baseline in ("ranksvm", "mart"):
        summary(folder, MODELS, "letor4", baseline=baseline)
        with (folder / "tables/baseline.csv").open(newline="") as stream:
            rows = [row for row in csv.DictReader(stream) if row["metric"] == "ndcg@10"]
        assert {row["model"] for row in rows} == {*MODELS} - {baseline}
        page = (folder / "summary.md").read_text()
        assert f"| NDCG@10 − `{baseline}` |" in page
        line = next(line for line in page.splitlines() if line.startswith("| `lambdamart` |"))
        assert line.endswith("] ▲ |") and abs(float(line.split("|")[-2].split()[0]) - 2) < 0.2
        assert next(line for line in page.splitlines() if line.startswith(f"| `{baseline}` |")).endswith("|  |")
        assert "detected with a probability of 80%: from `" + baseline in page
        table = Document(rendered(tmp_path)).table("differences")
        assert [cell["text"] for cell in table[0]][:2] == ["method", "NDCG@1"]
        assert {row[0]["text"] for row in table[1:]} == {*MODELS} - {baseline}


def test_the_parameter_is_checked():
    raw = read(ROOT / "params.yaml")
    raw["evaluation"]["baseline"] = "rankvsm"
    with pytest.raises(GradrankError, match=r"evaluation.baseline: unknown model 'rankvsm' \(did you mean 'ranksvm'"):
        check(raw)
    raw["evaluation"].pop("baseline")
    assert check(raw).evaluation.baseline == BASELINE == baseline_of(raw) == baseline_of({})
    assert baseline_of({"evaluation": {"baseline": "mart"}}) == "mart"
