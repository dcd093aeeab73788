"""Summaries, compared with a second computation of their definitions."""

import csv
import json
import shutil
import statistics
from math import sqrt

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

from gradrank.base.errors import GradrankError
from gradrank.bench.folds.per_query import compact_conventions, join_test_queries, read_compact, read_test_queries
from gradrank.bench.literature import lookup
from gradrank.bench.report.tables.summary import summary
from gradrank.bench.report.tables.summary_tables import DEFINITIONS, SEEDS, read_tables
from gradrank.bench.report.tables.table import Column
from gradrank.bench.results import DatasetFolder
from gradrank.comparison.statistics import paired_test
from made_collection import store
from made_results import CONVENTIONS, METRICS, make_results, write_values
from rendered import Document, rendered

MODELS = ("lambdamart", "ranksvm")


@pytest.fixture(scope="module")
def summarised(tmp_path_factory):
    made = make_results(tmp_path_factory.mktemp("study"))
    summary(made, MODELS, "letor4")
    return made


@pytest.fixture
def folder(summarised, tmp_path):
    """A copy that a test may change."""
    return shutil.copytree(summarised, tmp_path / summarised.name)


def table(folder, name, **wanted):
    """Return the rows of a table, as text, that have these values."""
    with (folder / "tables" / f"{name}.csv").open(newline="") as stream:
        return [row for row in csv.DictReader(stream) if row.items() >= wanted.items()]


def queries_by_fold(folder, model="ranksvm", convention="letor4", metric="ndcg@10"):
    """Return {fold: values} of the test queries, read row by row."""
    values = {}
    for row in pl.read_parquet(folder / "methods" / model / "per_query.parquet").iter_rows(named=True):
        if row["convention"] == convention and row["split"] == "test":
            values.setdefault(row["fold"], []).append(row[metric])
    return values


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("metric", METRICS)
def test_main_table_is_the_mean_of_fold_means(folder, convention, metric):
    folds = queries_by_fold(folder, convention=convention, metric=metric)
    every = [value for values in folds.values() for value in values]
    (row,) = table(folder, "main", model="ranksvm", convention=convention, metric=metric)
    assert float(row["mean"]) == pytest.approx(statistics.fmean(map(statistics.fmean, folds.values())), abs=1e-14)
    assert float(row["half_width"]) == pytest.approx(1.96 * statistics.stdev(every) / sqrt(len(every)), rel=1e-12)
    assert int(row["queries"]) == len(every) == 7 + 8 + 9 + 10 + 11


def test_summary_json_has_four_decimals_of_the_primary_convention(folder):
    written = json.loads((folder / "summary.json").read_text())
    assert list(written) == sorted(MODELS)
    rows = table(folder, "main", convention="letor4")
    assert len(rows) == len(MODELS) * len(METRICS)
    for row in rows:
        assert written[row["model"]][row["metric"]] == round(float(row["mean"]), 4)


def test_pairwise_table_tests_every_pair_of_the_primary_convention(tmp_path):
    models = ("lambdamart", "ranknet_linear", "ranksvm")
    folder = make_results(tmp_path, models=models)
    better = pl.read_parquet(folder / "methods/ranksvm/per_query.parquet").with_columns(pl.col("map") + 2)
    write_values(better, folder / "methods/ranknet_linear")
    summary(folder, models, "letor4")
    rows = table(folder, "pairwise")
    pairs = [("lambdamart", "ranknet_linear"), ("lambdamart", "ranksvm"), ("ranknet_linear", "ranksvm")]
    assert [(row["metric"], row["model_a"], row["model_b"]) for row in rows] == [
        (metric, *pair) for metric in ("ndcg@10", "map") for pair in pairs
    ]
    assert {row["convention"] for row in rows} == {"letor4"}
    assert float(rows[5]["difference"]) == pytest.approx(2, abs=1e-12)
    assert (rows[5]["wins"], rows[5]["ties"], rows[5]["losses"]) == ("45", "0", "0")
    assert float(rows[5]["wilcoxon"]) < float(rows[5]["wilcoxon_holm"]) < 1e-6
    assert float(rows[2]["wilcoxon"]) == 1, "equal on every query"
    text = (folder / "summary.md").read_text()
    assert "By MAP, every other method is significantly worse than `ranknet_linear`" in text


def test_pairwise_difference_is_that_of_the_two_printed_means(folder):
    """Folds differ in size: the mean over queries would be another number."""
    main = table(folder, "main", convention="letor4")
    means = {(row["model"], row["metric"]): float(row["mean"]) for row in main}
    for row in table(folder, "pairwise"):
        gap = means[row["model_a"], row["metric"]] - means[row["model_b"], row["metric"]]
        assert float(row["difference"]) == pytest.approx(gap, abs=1e-12)
        assert float(row["low"]) < gap < float(row["high"])
        sides = [queries_by_fold(folder, row[key], metric=row["metric"]) for key in ("model_a", "model_b")]
        over_queries = [statistics.fmean(v for values in folds.values() for v in values) for folds in sides]
        assert abs(over_queries[0] - over_queries[1] - gap) > 1e-4


def test_a_column_is_added_in_one_place(folder, monkeypatch):
    """A column added to the definition is written, printed and read."""
    folds = DEFINITIONS["folds"]
    spread = Column("half_width", form=".4f")
    monkeypatch.setitem(DEFINITIONS, "folds", folds._replace(columns=(*folds.columns, spread), wide=None))
    summary(folder, MODELS, "letor4")
    rows = table(folder, "folds")
    own = queries_by_fold(folder, rows[0]["model"])[1]
    (row,) = table(folder, "folds", convention="letor4", metric="ndcg@10", fold="1", model=rows[0]["model"])
    half = 1.96 * statistics.stdev(own) / sqrt(len(own))
    assert float(row["half_width"]) == pytest.approx(half, rel=1e-12)
    assert f"{half:.4f}" in (folder / "tables/folds.md").read_text()
    assert read_tables(folder / "tables")["folds"][3]["half_width"] == pytest.approx(float(rows[3]["half_width"]))


def test_published_numbers_are_compared_with_the_measured_ones(folder):
    written = json.loads((folder / "summary.json").read_text())
    rows = table(folder, "published", metric="ndcg@10")
    assert [(row["method"], float(row["published"])) for row in rows] == [
        (number.method, number.value) for number in lookup("mq2007", "ranksvm", "ndcg@10")
    ]
    for row in rows:
        ours, half_width = float(row["ours"]), float(row["half_width"])
        assert round(ours, 4) == written["ranksvm"]["ndcg@10"]
        assert float(row["difference"]) == pytest.approx(ours - float(row["published"]), abs=1e-15)
        inside = ours - half_width <= float(row["published"]) <= ours + half_width
        assert row["verdict"] == ("consistent" if inside else "not reproduced")


def test_markdown_bold_are_the_methods_that_may_be_the_best(folder):
    """No cell is bold while every method may be the best; then one method is better by 2 at MAP."""
    assert bold_cells(folder) == set()
    path = folder / "methods/ranksvm/per_query.parquet"
    write_values(pl.read_parquet(path).with_columns(pl.col("map") + 2), path.parent)
    summary(folder, MODELS, "letor4")
    assert bold_cells(folder) == {("ranksvm", "map")}
    assert "model confidence set" in (folder / "summary.md").read_text()


def bold_cells(folder):
    """Return the (method, metric) pairs in bold in the main table."""
    text = (folder / "summary.md").read_text().split("## Published")[0]
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return {
        (model.strip(" `"), metric)
        for model, *cells in lines
        for metric, cell in zip(METRICS, cells[:-1], strict=True)  # the last cell is a difference
        if cell.strip().startswith("**")
    }


def test_files_in_git_do_not_depend_on_times(folder):
    """summary.* contain neither times nor memory, and equal inputs give equal bytes."""
    before = {name: (folder / name).read_bytes() for name in ("summary.json", "summary.md")}
    for timing in folder.glob("*/*/timing.json"):
        timing.write_text('{"seconds": 99, "fit_seconds": 98, "peak_memory_mb": 97}')
    summary(folder, MODELS[::-1], "letor4")
    assert before == {name: (folder / name).read_bytes() for name in before}


def test_another_primary_convention(folder):
    summary(folder, MODELS, "standard")
    mean = statistics.fmean(map(statistics.fmean, queries_by_fold(folder, convention="standard").values()))
    assert json.loads((folder / "summary.json").read_text())["ranksvm"]["ndcg@10"] == round(mean, 4)
    assert "`standard`" in (folder / "summary.md").read_text().splitlines()[0]


def test_dropped_queries_do_not_count(folder):
    """A convention that drops queries without relevant documents leaves nan."""
    path = folder / "methods/ranksvm/per_query.parquet"
    dropped = pl.when(pl.col("qid") % 3 > 0).then(pl.col("ndcg@10")).otherwise(float("nan")).alias("ndcg@10")
    write_values(pl.read_parquet(path).with_columns(dropped), path.parent)
    summary(folder, MODELS, "letor4")
    folds = queries_by_fold(folder).values()
    kept = [[value for value in fold if value == value] for fold in folds]
    (row,) = table(folder, "main", model="ranksvm", convention="letor4", metric="ndcg@10")
    assert int(row["queries"]) == sum(map(len, kept)) < 45
    assert float(row["mean"]) == pytest.approx(statistics.fmean(map(statistics.fmean, kept)), abs=1e-14)


def test_one_query_has_no_interval(folder):
    path = folder / "methods/ranksvm/per_query.parquet"
    write_values(pl.read_parquet(path).filter(fold=1, qid=100), path.parent)
    summary(folder, ["ranksvm"], "letor4")
    assert {row["half_width"] for row in table(folder, "main")} == {""}


def test_a_missing_evaluation_or_convention_is_named(folder):
    with pytest.raises(GradrankError, match=r"lambdarank/evaluation\.json: .*missing"):
        summary(folder, [*MODELS, "lambdarank"], "letor4")
    with pytest.raises(GradrankError, match=r"not evaluated under convention 'letor3'.*letor4"):
        summary(folder, MODELS, "letor3")


def test_models_of_different_queries_are_refused(folder):
    path = folder / "methods/ranksvm/per_query.parquet"
    write_values(pl.read_parquet(path).filter(pl.col("qid") != 203), path.parent)
    with pytest.raises(GradrankError, match="lambdamart and ranksvm were evaluated on different test queries"):
        summary(folder, MODELS, "letor4")


def test_no_known_metric_is_refused(folder):
    with pytest.raises(GradrankError, match="none of the metrics err@10"):
        read_test_queries(folder / "methods" / MODELS[0] / "per_query.parquet", ["err@10"])


@pytest.fixture
def short(tmp_path):
    """Results on 75 queries, 70 of which have two documents, so that NDCG@10 is 0; and the stored collection."""
    folder = make_results(tmp_path, "mine", MODELS, queries=13)
    for model in MODELS:
        path = folder / "methods" / model / "per_query.parquet"
        zero = pl.when(pl.col("convention") == "letor4").then(0.0).otherwise(pl.col("ndcg@10"))
        write_values(pl.read_parquet(path).with_columns(zero.alias("ndcg@10")), path.parent)
    rows = [
        {"part": part, "qid": 100 * part + query, "label": int(document == 0), "docid": f"{part}.{query}.{document}"}
        for part in range(1, 6)
        for query in range(15)
        for document in range(12 if query == 0 else 2)
    ]
    frame = pl.DataFrame(rows)
    folds = [{"train": [1], "vali": [1], "test": [part]} for part in range(1, 6)]
    parts = {part: frame.filter(part=part).drop("part") for part in range(1, 6)}
    return folder, store(tmp_path / "data/parquet/mine", parts, folds=folds)


def test_zeros_of_short_lists_give_a_warning_and_no_method_is_best(short):
    folder, data = short
    summary(folder, MODELS, "letor4", data)
    page = (folder / "summary.md").read_text()
    assert "> **Warning.** " in page and "under `letor4`" in page
    assert all(f"NDCG@{k} is 0 for 93%" in page for k in (3, 5, 10)) and "75 test queries" in page
    assert "`datasets.mine.convention: standard`" in page
    assert "**0.0000**" not in page and "By NDCG@10, " not in page
    assert "By MAP, " in page
    rows = {(row["convention"], row["metric"]): row for row in table(folder, "short_lists")}
    assert rows["letor4", "ndcg@10"]["queries"] == "70" and ("standard", "ndcg@10") not in rows


def test_a_constant_score_and_the_effect_of_the_file_order(short):
    """Relevant documents come first in every file, so a constant score is perfect in file order."""
    folder, data = short
    for model, gap in zip(MODELS, (0.2, 0.0), strict=True):
        path = folder / "methods" / model / "per_query.parquet"
        own = pl.read_parquet(path)
        twin = own.filter(convention="letor4").with_columns(
            pl.col("map") - gap, convention=pl.lit("letor4_expected"), ndcg=None
        )
        write_values(pl.concat([own, twin.select(own.columns)]), path.parent)
    summary(folder, MODELS, "letor4", data)
    page = (folder / "summary.md").read_text()
    rows = {(row["model"], row["metric"]): row for row in table(folder, "file_order")}
    assert float(rows["constant", "map"]["mean"]) == 1
    expected = (14 * 0.75 + statistics.fmean(1 / rank for rank in range(1, 13))) / 15
    assert float(rows["constant", "map"]["expected"]) == pytest.approx(expected)
    assert float(rows["lambdamart", "map"]["difference"]) == pytest.approx(0.2)
    assert float(rows["ranksvm", "map"]["share"]) == 0
    assert "one method differs by more than a tenth of half the 95% interval: `lambdamart`, MAP" in page
    last = [line for line in page.splitlines() if line.startswith("| *constant score")]
    assert last[0].startswith("| *constant score, file order* |") and f"| {expected:.4f} |" in last[1]
    assert f"| `lambdamart` | MAP | {float(rows['lambdamart', 'map']['mean']):.4f} |" in page
    assert json.loads((folder / "summary.json").read_text()).keys() == set(MODELS)
    shutil.rmtree(data)
    shown = Document(rendered(data.parents[2])).table("file-order")
    assert [row[0]["text"] for row in shown[1:]].count("lambdamart") == 1


@pytest.fixture
def seeded(summarised, tmp_path):
    """A copy with two seeds of lambdamart: NDCG@10 of the second is higher by .02 on fold 1, by .04 on the others."""
    folder = shutil.copytree(summarised, tmp_path / "results" / summarised.name)
    path = folder / "methods/lambdamart/per_query.parquet"
    first = pl.read_parquet(path)
    gain = pl.when(pl.col("fold") == 1).then(0.02).otherwise(0.04)
    seeds = {7: first, 9: first.with_columns(pl.col("ndcg@10") + gain)}
    tables = (each.with_columns(seed=pl.lit(seed, pl.Int32)) for seed, each in seeds.items())
    write_values(pl.concat(tables), path.parent)
    return folder


def test_two_seeds_are_shown_as_their_mean_with_its_deviation(seeded):
    one = {row["model"]: row for row in read_tables(seeded / "tables")["main"] if row["metric"] == "ndcg@10"}
    assert "seeds" not in one["lambdamart"] and "(" not in page_row(seeded, "lambdamart")
    before = queries_by_fold(seeded, "lambdamart")
    summary(seeded, MODELS, "letor4")
    main = {row["model"]: row for row in table(seeded, "main", convention="letor4", metric="ndcg@10")}
    gain = (0.02 + 4 * 0.04) / 5  # of the second seed's mean over folds
    own, other = main["lambdamart"], main["ranksvm"]
    first = [values[: len(values) // 2] for values in before.values()]
    assert float(own["mean"]) == pytest.approx(statistics.fmean(map(statistics.fmean, first)) + gain / 2)
    assert (own["seeds"], float(own["seed_deviation"])) == ("2", pytest.approx(gain / sqrt(2)))
    assert (other["seeds"], other["seed_deviation"]) == ("", "")

    # Both samples, each within folds: a fold's two seeds have half their squared gap as variance.
    means = [[value + (0.01 if fold == 0 else 0.02) for value in values] for fold, values in enumerate(first)]
    query = sum(statistics.variance(values) / len(values) for values in means) / 25
    seed = statistics.fmean([0.02**2 / 2, *[0.04**2 / 2] * 4]) / 5 / 2  # of the mean of two
    freedom = (query + seed) ** 2 / (query**2 / (45 - 5) + seed**2 / 5)
    assert float(own["half_width"]) == pytest.approx(t.ppf(0.975, freedom) * sqrt(query + seed))
    shown = f"{float(own['half_width']):.4f} ({gain / sqrt(2):.4f})"
    assert shown in page_row(seeded, "lambdamart") and "(" not in page_row(seeded, "ranksvm")
    page = (seeded / "summary.md").read_text()
    assert "the standard deviation of the mean over 2 seeds" in page
    assert SEEDS in (seeded / "tables/main-letor4.tex").read_text()
    text = rendered(seeded.parents[1])
    assert f"±{shown}" in text


def page_row(folder, model):
    """Return the line of a method in the main table, the first table of the page."""
    lines = (folder / "summary.md").read_text().splitlines()
    return next(line for line in lines if line.startswith(f"| `{model}` |"))


def test_queries_parquet_has_the_values_of_each_seed_and_tests_use_their_means(seeded):
    summary(seeded, MODELS, "letor4")
    path, measured = seeded / "queries.parquet", read_test_queries(seeded / "methods/lambdamart/per_query.parquet")
    assert compact_conventions(path) == ["letor4", *sorted(measured.keys() - {"letor4"})]
    for convention, whole in measured.items():
        _, kept = read_compact(path, convention)
        assert kept["lambdamart"].seeds == 2 and kept["ranksvm"].seeds == 1
        np.testing.assert_allclose(kept["lambdamart"].by_seed["map"], whole.by_seed["map"], atol=5e-7)
    whole = measured["letor4"]
    svm = pl.read_parquet(path).filter(model="ranksvm", convention="letor4")
    assert svm["seed"].null_count() == 45
    other = read_test_queries(seeded / "methods/ranksvm/per_query.parquet")["letor4"]
    (row,) = table(seeded, "pairwise", convention="letor4", metric="ndcg@10")
    wanted = paired_test(whole.values["ndcg@10"], other.values["ndcg@10"], whole.folds)
    assert (row["model_a"], int(row["queries"])) == ("lambdamart", 45)
    assert float(row["wilcoxon"]) == pytest.approx(wanted.wilcoxon)
    joined = join_test_queries(DatasetFolder(seeded).methods())
    assert len(joined.filter(model="lambdamart", convention="letor4")) == 2 * 45
