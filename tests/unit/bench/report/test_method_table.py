"""Tables for papers from finished results and from the part of them that is in git: values, marks, order and errors."""

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_rel

from gradrank import table
from gradrank.base.errors import GradrankError
from gradrank.bench.report.tables.summary import summary
from gradrank.comparison.statistics import paired_test
from latex_structure import read_latex
from made_results import METRICS, make_results, write_values

ROOT = Path(__file__).parents[4]
SWEEP = "trees-learning_rate=0.05"
MODELS = ("50%_of_{a}&b#1", "lambdamart", "ranksvm", SWEEP)
STEPS = {"lambdamart": 0.0, MODELS[0]: 0.02, "ranksvm": 0.3, SWEEP: 0.05}  # how much each method is worse


def change(folder, model, *columns):
    path = folder / "methods" / model / "per_query.parquet"
    write_values(pl.read_parquet(path).with_columns(*columns), path.parent)


def made(root, dataset, queries):
    """Write and return finished results, with differences between the methods that are correlated over queries."""
    folder = make_results(root, dataset, MODELS, queries)
    base = pl.read_parquet(folder / "methods/lambdamart/per_query.parquet")
    rng = np.random.default_rng(3)
    for model, step in STEPS.items():
        noise = rng.normal(0, 0.2, len(base))
        values = base.with_columns(*(pl.col(metric) - step + pl.Series(noise) for metric in METRICS))
        write_values(values, folder / "methods" / model)
    summary(folder, MODELS, "letor4")
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return made(tmp_path_factory.mktemp("study"), "my_data", 6)


@pytest.fixture
def folder(finished, tmp_path):
    """A copy that a test may change."""
    return shutil.copytree(finished, tmp_path / "results" / finished.name)


def in_git(folder):
    """Remove the files that are not in git."""
    for name in ("methods", "tables"):
        shutil.rmtree(folder / name)


def values(folder, model, metric, convention="letor4"):
    """Return the (q,) values of a method, read a second way."""
    frame = pl.read_parquet(folder / "methods" / model / "per_query.parquet")
    frame = frame.filter(convention=convention, split="test")
    return frame[metric].to_numpy(), frame["fold"].to_numpy()


@pytest.mark.parametrize("queries", [6, 78, 798])
def test_bold_agrees_with_the_t_tests_on_40_400_and_4000_queries(tmp_path, queries):
    folder = made(tmp_path, "my_data", queries)
    found = table(folder, metrics=["map"], convention="standard")
    data = {model: values(folder, model, "map", "standard") for model in MODELS}
    means = {m: np.mean([v[folds == fold].mean() for fold in range(1, 6)]) for m, (v, folds) in data.items()}
    assert found.methods == sorted(MODELS, key=lambda model: -means[model])
    winner = max(means, key=means.get)
    p = {model: ttest_rel(data[winner][0], data[model][0]).pvalue for model in MODELS if model != winner}
    (only,) = found.columns
    assert {model for model, value in p.items() if value >= 0.05} | {winner} <= only.bold, "one test is less strict"
    assert not {model for model, value in p.items() if value < 0.05 / 20} & only.bold, "twenty tests are stricter"
    assert "ranksvm" not in only.bold
    row = {row["method"]: row for row in found.frame.iter_rows(named=True)}
    assert {m: row[m]["map"] for m in MODELS} == pytest.approx(means, abs=1e-13)
    assert row["ranksvm"]["map_queries"] == 5 * queries + 10
    assert row[winner]["map_p_best"] == 1 and row["ranksvm"]["map_p_best"] < 0.05


def test_bold_is_decided_among_the_methods_of_the_table(finished):
    whole, rest = (
        table(finished, metrics=["map"], methods=names)
        for names in (None, [name for name in MODELS if name != "lambdamart"])
    )
    assert "lambdamart" in whole.columns[0].bold
    highest = rest.methods[0]
    assert rest.frame.filter(method=highest)["map_p_best"].item() == 1


@pytest.mark.parametrize("baseline", [None, "ranksvm"])
def test_values_in_git_give_the_same_table(folder, baseline):
    names = {"metrics": ["map", "ndcg@10"], "intervals": True, "baseline": baseline}
    before = table(folder, **names)
    in_git(folder)
    after = table(folder, **names)
    assert before.to_latex() == after.to_latex()
    texts = [name for name in before.frame.columns[3:] if name.endswith("_decision")]
    assert len(texts) == 2 * (baseline is not None) and before.frame.select(texts).equals(after.frame.select(texts))
    for column in [name for name in before.frame.columns[3:] if name not in texts]:
        np.testing.assert_allclose(
            before.frame[column].cast(float), after.frame[column].cast(float), rtol=2e-2, atol=1e-6
        )


def test_differences_from_a_baseline_are_paired_and_narrower_than_those_of_means(finished):
    found = table(finished, metrics=["map"], baseline="ranksvm", intervals=True)
    rows = {row["method"]: row for row in found.frame.iter_rows(named=True)}
    data, folds = zip(*(values(finished, model, "map") for model in MODELS), strict=True)
    for model, own in zip(MODELS, data, strict=True):
        test = paired_test(own, data[MODELS.index("ranksvm")], folds[0])
        row = rows[model]
        if model == "ranksvm":
            assert [row[f"map_{key}"] for key in ("difference", "low", "high", "decision")] == [None] * 4
            continue
        assert row["map_difference"] == pytest.approx(row["map"] - rows["ranksvm"]["map"])
        assert (row["map_low"], row["map_high"]) == pytest.approx((test.low, test.high))
        assert row["map_high"] - row["map_low"] < 2 * row["map_half_width"]
        assert row["map_decision"] == "better"
        assert f"{row['map_difference']:+.4f} [{row['map_low']:+.4f}, {row['map_high']:+.4f}] ▲" in found.to_markdown()
    (read,) = read_latex(found.to_latex())
    assert read.lines[0] == ["method", "MAP", "− ranksvm"] and "▲" in read.lines[1][2]
    assert "detected with a probability of 80%: from the best method" in found.to_markdown()
    with pytest.raises(GradrankError, match=r"unknown baseline 'rankvsm' \(did you mean 'ranksvm'"):
        table(finished, baseline="rankvsm")


def test_another_baseline_turns_the_sign(finished):
    one, other = (
        table(finished, methods=["ranksvm", "lambdamart"], metrics=["map"], baseline=name)
        for name in ("ranksvm", "lambdamart")
    )
    first = one.frame.filter(method="lambdamart").row(0, named=True)
    second = other.frame.filter(method="ranksvm").row(0, named=True)
    assert first["map_difference"] == pytest.approx(-second["map_difference"])
    assert (first["map_low"], first["map_high"]) == pytest.approx((-second["map_high"], -second["map_low"]), rel=0.02)
    assert (first["map_decision"], second["map_decision"]) == ("better", "worse")


def test_metrics_whose_values_per_query_are_not_in_git_are_shown_and_not_tested(folder):
    before = table(folder)
    in_git(folder)
    after = table(folder)
    assert after.methods == before.methods
    assert [column.metric for column in after.columns] == list(METRICS)
    for metric in METRICS:
        np.testing.assert_allclose(after.frame[metric], before.frame[metric], atol=5.1e-5)
        assert after.frame[f"{metric}_p_best"].is_null().all() == (metric not in ("ndcg@10", "map"))
    assert "not tested in NDCG@1, NDCG@3, NDCG@5, MeanNDCG and P@10." in after.to_markdown()
    assert "model confidence set" not in table(folder, metrics=["p@10"]).to_markdown()


def test_a_method_without_values_is_last_and_leaves_the_tests_alone(folder):
    before = table(folder, methods=[name for name in MODELS if name != "lambdamart"], metrics=["ndcg@10"])
    change(folder, "lambdamart", pl.lit(float("nan")).alias("ndcg@10"))
    summary(folder, MODELS, "letor4")
    after = table(folder, metrics=["ndcg@10"])
    assert after.methods == [*before.methods, "lambdamart"]
    assert after.columns[0].bold == before.columns[0].bold
    assert after.to_markdown().splitlines()[-3].split("|")[2].strip() == "–"
    assert after.frame.row(-1, named=True)["ndcg@10"] is None
    in_git(folder)
    assert table(folder, metrics=["ndcg@10"]).to_markdown() == after.to_markdown()


def test_names_with_special_characters_keep_the_structure(finished):
    for intervals in (False, True):
        (read,) = read_latex(table(finished, intervals=intervals).to_latex())
        assert {line[0] for line in read.lines[1:]} == set(MODELS)
        assert read.label == "tab:my_data-letor4"


def test_several_data_sets_are_groups_of_columns(finished, tmp_path):
    other = made(tmp_path, "other_data", 8)
    found = table(finished, other, metrics=["ndcg@10", "map"])
    (read,) = read_latex(found.to_latex())
    assert read.lines[0] == ["", "my_data", "other_data"]
    assert read.lines[1] == ["method", "NDCG@10", "MAP", "NDCG@10", "MAP"]
    assert found.methods == table(finished, metrics=["ndcg@10"]).methods
    alone = [table(folder, metrics=["ndcg@10", "map"]) for folder in (finished, other)]
    cells = [{line[0]: line[1:] for line in read_latex(one.to_latex())[0].lines[1:]} for one in alone]
    assert {line[0]: line[1:] for line in read.lines[2:]} == {m: cells[0][m] + cells[1][m] for m in MODELS}
    assert found.frame.height == 2 * len(MODELS)
    assert table(finished.parent, metrics=["map"]).to_markdown() == table(finished, metrics=["map"]).to_markdown()


def test_a_method_of_one_data_set_has_a_dash_on_the_other(finished, tmp_path):
    other = made(tmp_path, "other_data", 8)
    names = [name for name in MODELS if name != "ranksvm"]
    summary(other, names, "letor4")
    shutil.rmtree(other / "methods/ranksvm")
    lines = table(finished, other, metrics=["map"]).to_markdown().splitlines()
    (line,) = (line for line in lines if line.startswith("| `ranksvm`"))
    assert line.count("–") == 1
    with pytest.raises(GradrankError, match=r"other_data: none of the chosen methods"):
        table(finished, other, methods=["ranksvm"])


def test_tables_of_other_choices_have_other_labels(finished):
    choices = ({}, {"metrics": ["map"]}, {"metrics": ["map", "p@10"]}, {"methods": ["ranksvm", "lambdamart"]})
    choices = (*choices, {"convention": "standard"}, {"methods": ["ranksvm", MODELS[0]]})
    labels = {read_latex(table(finished, **choice).to_latex())[0].label for choice in choices}
    assert len(labels) == len(choices) and all("my_data" in label for label in labels)


def test_several_seeds_are_named(folder):
    path = folder / "methods/lambdamart/per_query.parquet"
    first = pl.read_parquet(path)
    seeds = {7: first, 9: first.with_columns(pl.col("map") + 0.1)}
    write_values(pl.concat(own.with_columns(seed=pl.lit(seed, pl.Int32)) for seed, own in seeds.items()), path.parent)
    summary(folder, MODELS, "letor4")
    found = table(folder, metrics=["map"])
    assert "means over 2 seeds" in found.to_markdown() and found.methods.count("lambdamart") == 1
    in_git(folder)
    assert table(folder, metrics=["map"]).to_latex() == found.to_latex()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["ranksmv"]}, "unknown method 'ranksmv' .did you mean 'ranksvm'"),
        ({"metrics": ["ndgc@10"]}, "did you mean 'ndcg@10'"),
        ({"metrics": ["err@10"]}, "no values of metric 'err@10' under letor4; there are ndcg@1,"),
        ({"convention": "standrd"}, "did you mean 'standard'"),
        ({"convention": "letor3"}, "no values under convention 'letor3'; there are values under letor4, standard"),
    ],
)
def test_an_unknown_name_is_an_error_that_says_what_there_is(finished, options, message):
    with pytest.raises(GradrankError, match=message):
        table(finished, **options)


def test_other_conventions_are_in_git_with_the_metrics_that_have_values_per_query(folder):
    before = table(folder, convention="standard", metrics=["map", "ndcg@10"])
    in_git(folder)
    after = table(folder, convention="standard")
    assert sorted(column.metric for column in after.columns) == ["map", "ndcg@10"]
    for metric in ("map", "ndcg@10"):
        np.testing.assert_allclose(before.frame[metric].cast(float), after.frame[metric].cast(float), atol=1e-6)
    with pytest.raises(GradrankError, match="no values of metric 'ndcg@1' under standard"):
        table(folder, convention="standard", metrics=["ndcg@1"])


def test_a_convention_that_is_not_in_git_is_an_error(folder):
    in_git(folder)
    rows = pl.read_parquet(folder / "queries.parquet").filter(convention="letor4")
    rows.write_parquet(folder / "queries.parquet")
    with pytest.raises(GradrankError, match=r"under letor4\. Fix"):
        table(folder, convention="standard")


def test_results_that_are_not_there_are_an_error(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results/per_query.parquet").touch()  # a file of the run
    assert table("my_data").methods == table(folder).methods == table(".").methods == table("results").methods
    with pytest.raises(GradrankError, match="did you mean 'my_data'"):
        table("my_dat")
    with pytest.raises(GradrankError, match="'my_data'"):
        table("my_data", folder)
    (folder / "summary.json").unlink()
    with pytest.raises(GradrankError, match="snakemake my_data"):
        table(folder)


@pytest.mark.parametrize("dataset", ["mq2007", "ohsumed"])
def test_the_committed_results_give_the_means_of_the_summary(dataset):
    found = table(ROOT / "results" / dataset)
    (read,) = read_latex(found.to_latex())
    assert read.label == f"tab:{dataset}-letor4" and len(read.lines) > 70
    values = found.frame["ndcg@10"].to_list()
    assert values == sorted(values, reverse=True)
