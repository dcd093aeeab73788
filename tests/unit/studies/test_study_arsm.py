"""The ARSM-L2R study on made-up results: the published numbers, the verdicts, the ablations, the variance."""

import csv
import json
from importlib.resources import files
from itertools import product

import numpy as np
import pytest
from scipy.stats import t

from gradrank.studies.arsm.page import build
from gradrank.studies.arsm.variance import GRADES, LEVELS, evaluations
from gradrank.studies.kit.writing import study as write_study
from made_study import PARTS, QUERIES, make_study

WORSE = "arsm_levels-levels=3"  # scores that are nearly all noise
BETTER = "arsm_levels-levels=40"  # scores without any
NOISE = {WORSE: 30.0, BETTER: 0.0, "ranksvm": 30.0, "listnet": 2.0, "adarank_map": 0.0, "arsm_bare": 30.0}
METHODS = {
    "ranksvm": ("RankSVM", "RankSVM-Struct"),
    "listnet": ("ListNet",),
    "adarank_map": ("AdaRank-MAP",),
    "adarank_ndcg": ("AdaRank-NDCG",),
    "arsm": ("ARSM-L2R",),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    inputs = make_study(tmp_path_factory.mktemp("arsm"), "arsm", NOISE)
    sections = build(inputs)
    tables = {item.id: item for section in sections for item in section.content if not hasattr(item, "svg")}
    return inputs, {section.id: section for section in sections}, tables


def published(source, dataset, split="test"):
    """Rows of letor_results.csv whose source begins so."""
    text = files("gradrank.evaluation").joinpath("literature/letor_results.csv").read_text()
    return [
        row
        for row in csv.DictReader(text.splitlines())
        if row["source"].startswith(source) and (row["dataset"], row["split"]) == (dataset.upper(), split)
    ]


@pytest.mark.parametrize("dataset", ["mq2007", "ohsumed"])
def test_every_number_of_the_paper_stands_beside_ours(made, dataset):
    inputs, _, tables = made
    rows = tables[f"paper_{dataset}"].rows
    shown = {(row["method"], row["metric"]): row["published"] for row in rows}
    theirs = {(row["method"], row["metric"]): float(row["value"]) for row in published("ARSM", dataset)}
    assert shown == theirs and len(rows) == 25
    for row in rows:
        model = next(model for model, methods in METHODS.items() if row["method"] in methods)
        ours = inputs.measure(dataset, model, [metric := row["metric"].lower()], "letor4")
        assert row["ours"] == ours.mean(metric)
        assert row["difference"] == pytest.approx(row["ours"] - row["published"])
        inside = abs(row["difference"]) <= row["half_width"] <= ours.half_width(metric)
        assert row["verdict"] == ("consistent" if inside else "not reproduced")
        assert row["others"] == 4 and 0 <= row["alike"] <= 4
    assert len({row["verdict"] for row in rows}) > 1  # else the verdicts say nothing


@pytest.mark.parametrize("metric", ["NDCG@10", "MAP"])
def test_official_results_fold_by_fold(made, metric):
    inputs, _, tables = made
    rows = tables[f"folds_mq2007_{metric.lower().replace('@', '')}"].rows
    theirs = {
        (row["method"], row["fold"]): float(row["value"])
        for row in published("LETOR 4.0", "mq2007")
        if row["fold"] != "mean" and row["metric"] == metric and row["method"] != "RankBoost"
    }
    assert {(row["method"], row["fold"]): row["published"] for row in rows} == theirs
    assert len(theirs) >= 3 * PARTS
    values = inputs.measure("mq2007", "adarank_map", [metric.lower()], "letor4")
    own = values.values[metric.lower()][values.folds == 2]
    assert len(own) == QUERIES
    row = next(row for row in rows if (row["method"], row["fold"]) == ("AdaRank-MAP", "2"))
    assert row["ours"] == pytest.approx(own.mean())


def test_means_whose_folds_are_published_are_judged_by_them(made):
    """AdaRank-NDCG's scores here are noise of the same size everywhere: fold differences are narrower than queries."""
    _, _, tables = made
    folds = [row for row in tables["folds_mq2007_map"].rows if row["method"] == "AdaRank-NDCG"]
    gaps = np.array([row["difference"] for row in folds])
    half = t.ppf(0.975, 4) * gaps.std(ddof=1) / np.sqrt(5)
    rows = tables["official_mq2007"].rows + tables["paper_mq2007"].rows  # the paper copies the official mean
    found = [row for row in rows if (row["method"], row["metric"]) == ("AdaRank-NDCG", "MAP")]
    assert len(found) == 2
    for row in found:
        wide = row["of"] == "queries"
        assert row["half_width"] < half if wide else row["half_width"] == pytest.approx(half)
    assert {row["of"] for row in tables["paper_ohsumed"].rows} == {"queries"}
    assert {row["of"] for row in tables["official_mq2007"].rows} >= {"folds"}


def test_disagreements_are_the_known_ones(made):
    rows = made[2]["disagreements"].rows
    known = {("mq2007", "RankSVM-Struct / RankSVM", f"NDCG@{k}") for k in (1, 3, 5, 10)}
    known |= {("mq2007", "RankSVM-Struct / RankSVM", "MAP")}
    known |= {("ohsumed", f"{name} / {name}", "MAP") for name in ("RankSVM", "ListNet", "AdaRank-MAP")}
    assert {(row["dataset"], row["method"], row["metric"]) for row in rows} == known
    first = next(row for row in rows if row["metric"] == "NDCG@10")
    assert (first["official"], first["paper"]) == (0.4439, 0.4383)
    for row in rows:
        gaps = {name: abs(row[name] - row["ours"]) for name in ("paper", "official")}
        assert gaps[row["nearer"]] == min(gaps.values())


def test_ablation_over_levels_has_every_value_in_order(made):
    inputs, sections, tables = made
    rows = tables["levels_ohsumed"].rows
    assert [row["value"] for row in rows] == ["3", "5", "10", "20", "40"]
    best = inputs.measure("ohsumed", BETTER, ["map"], "letor3").mean("map")
    assert rows[-1]["map"] == best == max(row["map"] for row in rows)
    tests = {(row["value"], row["metric"]): row for row in tables["levels_ohsumed_tests"].rows}
    assert set(tests) == set(product(["3", "5", "10", "40"], ["NDCG@10", "MAP"]))
    same = tests["5", "MAP"]  # the same noise as the paper's setting
    assert (same["difference"], same["record"], same["wilcoxon"]) == (0.0, f"0, {PARTS * QUERIES}, 0", 1.0)
    assert tests["40", "MAP"]["low"] > 0 > tests["3", "MAP"]["high"]
    assert tests["40", "MAP"]["wilcoxon_holm"] > tests["40", "MAP"]["wilcoxon"]
    assert any(
        "levels C 40, MAP (+" in text or "40, MAP (+" in text for text in sections["levels"].paragraphs
    )


def test_ablation_over_the_loss(made):
    _, sections, tables = made
    assert [row["value"] for row in tables["loss_mq2007"].rows] == ["ap", "ndcg@10", "p@10"]
    assert len(tables["loss_mq2007_tests"].rows) == 2 * 3
    assert "none of 6 differences" in sections["loss"].paragraphs[1]
    figure = next(item for item in sections["loss"].content if hasattr(item, "svg"))
    assert ">p@10</text>" in figure.svg and "MAP from" in figure.alt


def test_the_paper_s_own_update_beside_ours(made):
    _, _, tables = made
    rows = {(row["dataset"], row["update"], row["metric"]): row for row in tables["update"].rows}
    assert len(rows) == 2 * 2 * 5
    own, bare = (rows["mq2007", update, "NDCG@10"] for update in ("ours", "the paper's"))
    assert own["published"] == bare["published"] == 0.4432
    assert own["ours"] > bare["ours"]
    (found,) = (
        row for row in tables["update_tests"].rows if (row["dataset"], row["metric"]) == ("mq2007", "MAP")
    )
    assert found["low"] > 0


def test_variance_table(made):
    rows = made[2]["variance"].rows
    assert [row["levels"] for row in rows] == list(LEVELS)
    assert [row["evaluations"] for row in rows] == [4, 11, 46, 191, 781] == [evaluations(C) for C in LEVELS]
    for row in rows:
        assert row["arsm"] < row["baseline"] < row["reinforce"]
        assert row["equal"] == pytest.approx(row["reinforce"] / row["evaluations"])
    assert np.bincount(GRADES).tolist() == [14, 4, 2]


def test_written_twice_it_is_the_same(made):
    inputs, _, tables = made
    write_study("arsm", inputs)
    first = {name: (inputs.folder / name).read_bytes() for name in ("page.md", "numbers.json", "page.json")}
    write_study("arsm", inputs)
    assert {name: (inputs.folder / name).read_bytes() for name in first} == first
    numbers = json.loads(first["numbers.json"])
    assert set(numbers) == set(tables)
    assert numbers["paper_mq2007"][0]["published"] == 0.4045
    assert b"| RankSVM | NDCG@1 | 0.4045 |" in first["page.md"]
