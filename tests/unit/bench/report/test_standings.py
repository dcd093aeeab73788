"""The sentence on the tests, the order of data sets, and the plot of the first page, for runs and committed results."""

import re
import shutil
from collections.abc import Collection

import numpy as np
import polars as pl
import pytest

from gradrank.bench.report.contents import ReportedDataset, read_contents
from gradrank.bench.report.plots.row_plots import MOST_SHOWN, IntervalPlot, intervals
from gradrank.bench.report.standings import Standing, Standings, listed, standings
from gradrank.bench.report.tables.summary import summary
from gradrank.bench.report.tables.summary_tables import read_tables
from gradrank.bench.results import Results
from gradrank.comparison.significance import decide_row
from gradrank.comparison.statistics import compare_all
from made_results import METRICS, make_results, write_values
from rendered import Document, rendered

MODELS = ("fusion", "lambdamart", "ranknet_linear", "ranksvm")


def made(means, worse: Collection[str] | None = (), better: Collection[str] | None = (), families=None):
    """Return standings of methods with these means; by default, every method has a family of its name.

    worse: methods that are worse than the best. better: methods that are better than `ranksvm`.
    """
    rows = [
        Standing(model, (families or {}).get(model, model), mean, 0.01, (), None if worse is None else model in worse)
        for model, mean in means.items()
    ]
    return Standings("ndcg@10", rows, "ranksvm", None if better is None else frozenset(better))


def drawn(ranked) -> IntervalPlot:
    plot = intervals(ranked)
    assert plot is not None
    return plot


FUSED = {"f": "fusion"}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (made({}), "No method has a value of NDCG@10."),
        (made({"a": 0.5}), "`a` is the only method: NDCG@10 0.5000 ± 0.0100."),
        (made({"a": 0.0, "b": 0.0}), "Every method has NDCG@10 0."),
        (made({"a": 0.5, "b": 0.4}), "`a` and `b` may both be the best."),
        (made({"a": 0.5, "ranksvm": 0.4}, {"ranksvm"}, {"a"}), "`a` is significantly better than `ranksvm`."),
        (made({"a": 0.5, "b": 0.4, "c": 0.3}), "Every method may be the best."),
        (
            made({"a": 0.5, "b": 0.5, "c": 0.3}, {"c"}),
            "`a` and `b` share the highest mean; the methods that may be the best are `a` and `b`.",
        ),
        (made({"a": 0.5, "b": 0.5}), "All 2 methods have the same mean; `a` and `b` may both be the best."),
        (
            made({"a": 0.5, "b": 0.4, "c": 0.3}, None, None),
            "`a` has the highest mean, which is not tested, because values per query are missing.",
        ),
        (
            made({"f": 0.5, "ranksvm": 0.4, "c": 0.3}, {"ranksvm", "c"}, {"f"}, FUSED),
            "Only `f` is significantly better than `ranksvm`, and no single method is; `f` is the best method "
            "with 95% confidence.",
        ),
        (
            made({"f": 0.5, "a": 0.45, "ranksvm": 0.4, "c": 0.3}, {"c"}, (), FUSED),
            "No single method is significantly better than `ranksvm`; the methods that may be the best are `f`, `a` "
            "and `ranksvm`.",
        ),
        (
            made({"a": 0.5, "ranksvm": 0.4, "c": 0.3}, {"ranksvm"}, {"a"}),
            "`a` is significantly better than `ranksvm`; the methods that may be the best are `a` and `c`.",
        ),
        (
            made({"a": 0.5, "ranksvm": 0.4, "c": 0.3}, {"c"}, None),
            "The methods that may be the best are `a` and `ranksvm`.",
        ),
        (
            made({name: 0.5 - 0.01 * i for i, name in enumerate("abcdefgh")}, {"g", "h"}, None),
            "6 of 8 methods may be the best, and `a` has the highest mean.",
        ),
        (made({"ranksvm": 0.5, "a": 0.4, "b": 0.3}, {"b"}), "The methods that may be the best are `ranksvm` and `a`."),
        (
            made(dict.fromkeys("abcd", 0.5) | {"e": 0.4, "ranksvm": 0.3}, {"ranksvm"}, "abcd"),
            "`a`, `b`, `c` and 1 other method share the highest mean; 4 of 5 other methods are significantly better "
            "than `ranksvm`; the methods that may be the best are `a`, `b`, `c`, `d` and `e`.",
        ),
    ],
)
def test_one_sentence_for_every_case(given, sentence):
    assert given.answer() == sentence


def test_names_are_listed():
    assert [listed("abcde"[:count]) for count in (1, 2, 4, 5)] == [
        "`a`",
        "`a` and `b`",
        "`a`, `b`, `c` and 1 other method",
        "`a`, `b`, `c` and 2 other methods",
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Results of MQ2007, whose two best methods are far above the others, and of artificial data."""
    root = tmp_path_factory.mktemp("standings")
    for dataset in ("mq2007", "synthetic_net", "ohsumed"):
        folder = make_results(root, dataset, MODELS)
        path = folder / "methods" / "fusion" / "per_query.parquet"
        _raise(path, 2)
        _raise(folder / "methods/lambdamart/per_query.parquet", 1)
        summary(folder, MODELS, "letor4")
    return root


def _raise(path, by):
    write_values(pl.read_parquet(path).with_columns(pl.col(METRICS) + by), path.parent)


@pytest.fixture
def committed(run, tmp_path):
    """A copy of the results that has only the committed files of MQ2007."""
    root = shutil.copytree(run, tmp_path / "committed")
    shutil.rmtree(root / "results/mq2007/tables")
    for model in MODELS:
        shutil.rmtree(root / "results/mq2007/methods" / model)
    return root


def contents(root):
    return read_contents(Results(root / "results"), "letor4", root / "params.yaml", root / "data" / "parquet")


def test_better_methods_are_those_of_the_table_baseline(run):
    (dataset,) = (dataset for dataset in contents(run).datasets if dataset.name == "mq2007")
    rows = [row for row in read_tables(run / "results/mq2007/tables")["baseline"] if row["metric"] == "ndcg@10"]
    assert {row["model"] for row in rows} == {*MODELS} - {"ranksvm"} and {row["baseline"] for row in rows} == {
        "ranksvm"
    }
    assert dataset.better == {row["model"] for row in rows if row["decision"] == "better"}
    assert dataset.better >= {"fusion", "lambdamart"} and dataset.baseline == "ranksvm"


def test_committed_results_have_the_intervals_and_tests_of_their_run(run, committed):
    there = {dataset.name: dataset for dataset in contents(run).datasets}["mq2007"]
    here = {dataset.name: dataset for dataset in contents(committed).datasets}["mq2007"]
    assert there.was_run_here and not here.was_run_here
    assert here.better == there.better
    first, second = standings(there), standings(here)
    assert first.answer() == second.answer()
    for ours, theirs in zip(first.rows, second.rows, strict=True):
        assert (ours.model, ours.family, ours.is_worse) == (theirs.model, theirs.family, theirs.is_worse)
        assert theirs.mean == pytest.approx(ours.mean, abs=5.1e-5)
        assert theirs.half_width == pytest.approx(ours.half_width, abs=1e-5)
        assert [row["published"] for row in ours.published] == [row["published"] for row in theirs.published]


def test_a_convention_without_a_table_of_tests_is_tested_from_the_values(run):
    found = read_contents(Results(run / "results"), "standard", run / "params.yaml", run / "data" / "parquet")
    dataset = {dataset.name: dataset for dataset in found.datasets}["mq2007"]
    folds = np.repeat(np.arange(1, 6), [7, 8, 9, 10, 11])  # of made_results
    rows = compare_all(dataset.queries, folds, baseline="ranksvm")
    assert dataset.better == {row["model_a"] for row in rows if decide_row(row) == "better"} and dataset.better


@pytest.mark.parametrize("damage", ["missing", "other means"])
def test_without_values_that_fit_the_summary_there_are_no_tests(committed, damage):
    path = committed / "results/mq2007/queries.parquet"
    if damage == "missing":
        path.unlink()
    else:
        pl.read_parquet(path).with_columns(pl.col("ndcg@10") + 0.1).write_parquet(path)
    dataset = {dataset.name: dataset for dataset in contents(committed).datasets}["mq2007"]
    assert dataset.better is None and dataset.baseline is None
    assert {row.half_width for row in standings(dataset).rows} == {None}
    tables = Document(rendered(committed)).tables
    (rows,) = (each["rows"] for each in tables if each["attributes"].get("data-values") == "data-mq2007-values")
    assert all("±" not in cell["text"] for row in rows for cell in row)


def test_results_of_this_run_come_first_and_among_them_real_data(committed):
    assert [dataset.name for dataset in contents(committed).datasets] == ["ohsumed", "synthetic_net", "mq2007"]


def test_plot_shows_every_method_once_and_shades_the_methods_that_are_not_worse():
    count = 40
    means = {f"m{number}": 1 - number / 100 for number in range(count)}
    families = {f"m{number}": f"family {number % 3}" for number in range(count)}
    worse = {f"m{number}" for number in range(20, count)}
    plot = drawn(made(means, worse, families=families))
    assert sorted(strip.model for strip in plot.strips) == sorted(means)
    assert sum(map(len, plot.shown.values())) == MOST_SHOWN and plot.folded_methods == count - MOST_SHOWN
    assert list(plot.shown) == ["family 0", "family 1", "family 2"]
    assert plot.level == {f"m{number}" for number in range(20)}
    for strips in (*plot.shown.values(), *plot.folded.values()):
        values = [strip.mean for strip in strips]
        assert values == sorted(values, reverse=True)


def test_strips_describe_their_values_as_text(run):
    document = Document(rendered(run))
    labels = (attributes.get("aria-label", "") for _, attributes in document.tags)
    label = next(label for label in labels if label.startswith("fusion: NDCG@10"))
    mean, low, high = map(float, re.findall(r"\d\.\d{4}", label))
    assert low < mean < high and mean - low == pytest.approx(high - mean, abs=1.1e-4)


def test_undefined_means_are_left_out():
    means = {"a": {"ndcg@10": None}, "b": {"ndcg@10": 0.5}}
    rows = [
        {"convention": "letor4", "model": model, "metric": "ndcg@10", "mean": of["ndcg@10"], "half_width": np.nan}
        for model, of in means.items()
    ]
    dataset = ReportedDataset("d", "d", "letor4", means, {"main": rows}, {}, {}, None, [])
    assert standings(dataset).answer() == "`b` is the only method: NDCG@10 0.5000."
    assert drawn(standings(dataset)).strips[0].model == "b"
