"""Tables of published single runs, and of the verdicts by kind of interval."""

import numpy as np
import pytest

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.literature import FOLDS, QUERIES, RUNS, judge_values, lookup
from gradrank.bench.report.contents import read_contents
from gradrank.bench.report.tables.dataset_values import (
    DatasetValues,
    band_rows,
    published_rows,
    run_rows,
    sharper_verdicts,
)
from gradrank.bench.report.tables.summary import summary
from gradrank.bench.results import Results
from made_results import make_results
from rendered import rendered

FOLD = np.repeat(np.arange(1, 6), 200)


def near(folds, shift=0.0):
    """Return values whose mean on each fold is the given one plus `shift`."""
    noise = np.random.default_rng(0).normal(0, 0.3, len(FOLD))
    for fold, mean in folds.items():
        noise[fold == FOLD] += mean + shift - noise[fold == FOLD].mean()
    return {"letor4": QueryValues(FOLD, np.arange(len(FOLD)), {"ndcg@10": noise})}


@pytest.fixture(scope="module")
def dataset():
    (theirs,) = (there for there in lookup("mq2007", "listnet", "ndcg@10") if there.runs)
    shifts = {"listnet": 0.001, "mart": 0.012, "prank": -0.03}
    return DatasetValues("mq2007", "letor4", {model: near(theirs.folds, shift) for model, shift in shifts.items()})


def test_runs_are_compared_fold_by_fold(dataset):
    rows = list(run_rows(dataset))
    assert [row["fold"] for row in rows] == ["1", "2", "3", "4", "5", "mean"]
    for row in rows:
        assert row["ours"] == pytest.approx(row["mean"] + 0.001) and row["inside"] == "yes"
        assert row["low"] < row["ours"] < row["high"] and row["runs"] == 40
        assert row["fold"] == "mean" or row["least"] < row["mean"] < row["most"]
    widths = [row["high"] - row["low"] for row in rows]
    assert widths[-1] < min(widths[:-1]), "the mean over folds varies least"


def test_runs_take_fewer_other_methods_for_the_published_one(dataset):
    bands = [row for row in band_rows(dataset) if row["method"] == "ListNet (RankLib)"]
    assert [(row["of"], row["inside"]) for row in bands] == [(QUERIES, 1), (FOLDS, 0), (RUNS, 0)]
    assert [row["verdict"] for row in bands] == ["consistent", "not reproduced", "reproduced"], (
        "the shift is the same on every fold"
    )
    (sentence,) = sharper_verdicts(list(band_rows(dataset)))
    assert (
        "1 of 2 other methods if it is over queries" in sentence
        and "0 of 2 other methods if it is over runs" in sentence
    )


def test_the_table_of_published_numbers_has_the_verdict_of_the_runs(dataset):
    (row,) = (row for row in published_rows(dataset) if row.published.runs)
    (theirs,) = (there for there in lookup("mq2007", "listnet", "ndcg@10") if there.runs)
    assert row.judged == judge_values(theirs, dataset.values["listnet"]["letor4"], "ndcg@10")
    assert (row.judged.of, row.judged.verdict, row.alike, row.others) == (RUNS, "reproduced", 0, 2)


def test_the_pages_of_a_run_and_of_committed_results_show_the_runs(tmp_path):
    folder = make_results(tmp_path, "mq2007", ("listnet", "ranksvm"))
    summary(folder, ["listnet", "ranksvm"], "letor4")
    assert "### Published single runs, fold by fold" in (folder / "summary.md").read_text()
    html = rendered(tmp_path)
    assert "Single runs, fold by fold" in html and html.count("ListNet (RankLib)") > 6
    other = make_results(tmp_path / "other", "synthetic_net", ("listnet", "ranksvm"))
    summary(other, ["listnet", "ranksvm"], "letor4")
    assert "single runs" not in (other / "summary.md").read_text().lower()
    contents = read_contents(Results(tmp_path / "results"), "letor4", tmp_path / "params.yaml", tmp_path / "data")
    here = contents.datasets[0].tables["published_runs"]
    for path in (folder / "tables", folder / "methods/listnet", folder / "methods/ranksvm"):
        path.rename(tmp_path / path.name)
    contents = read_contents(Results(tmp_path / "results"), "letor4", tmp_path / "params.yaml", tmp_path / "data")
    there = contents.datasets[0].tables["published_runs"]
    assert [row["fold"] for row in here] == [row["fold"] for row in there] and len(there) == 6
    assert [row["ours"] for row in there] == pytest.approx([row["ours"] for row in here], abs=1e-6)
