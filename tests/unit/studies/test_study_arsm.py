"""The ARSM-L2R study on made-up results: the published numbers, the verdicts, the ablations, the variance."""

import csv
import json
from importlib.resources import files

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from gradrank.base.results import read_job, write_job
from gradrank.cli import app
from gradrank.studies.arsm.experiments import METRICS
from gradrank.studies.arsm.variance import GRADES, LEVELS
from made_collection import store
from made_study import PARTS, QUERIES, make_study, written

WORSE = "arsm_levels-levels=3"  # mostly noise
BETTER = "arsm_levels-levels=40"  # no noise
NOISE = {WORSE: 30.0, BETTER: 0.0, "ranksvm": 30.0, "listnet": 2.0, "adarank_map": 0.0, "arsm_bare": 30.0}
NOISE |= {"arsm_paper": 2.0, "arsm_combination-combination=likeliest": 30.0}
JOB = {  # NDCG@3 and @10 of LETOR 3.0's RankSVM are .4207 and .4140
    "solved": [{"exponent": -4} | dict.fromkeys(METRICS, 0.45), {"exponent": 0} | dict.fromkeys(METRICS, 0.47)],
    "stopped": [
        {"exponent": 0, "order": order, "visits": 300} | dict.fromkeys(METRICS, value)
        for order, value in enumerate((0.40, 0.44))
    ],
}
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
    write_job(inputs.folder / "jobs/ranksvm-ohsumed.json", JOB)
    sections = written("arsm", inputs)
    tables = {item.id: item for section in sections for item in section.content if not hasattr(item, "svg")}
    return inputs, {section.id: section for section in sections}, tables


def published(source, dataset, split="test"):
    """Return the rows of letor_results.csv whose source begins with `source`."""
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
    assert len({row["verdict"] for row in rows}) > 1  # otherwise the verdicts would not be tested


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


def test_ohsumed_s_ranksvm_solved_and_stopped(made):
    _, sections, tables = made
    first, *rows = tables["ranksvm_ohsumed"].rows
    assert [first[metric] for metric in METRICS] == [0.4958, 0.4207, 0.4164, 0.4140, 0.4334, 0.4864]
    assert [(row["C"], row["until"]) for row in rows] == [("2^-4", "the end"), ("2^0", "the end"), ("2^0", "300 pairs")]
    assert rows[2]["ndcg@3"] == pytest.approx(0.42)  # the mean over orders
    assert rows[0]["furthest"] == pytest.approx(0.4958 - 0.45)
    said = sections["ranksvm"].paragraphs[1]
    assert "NDCG@3, 0.4207 in LETOR: 0.4500 to 0.4700 at the end (LETOR's lies outside)" in said
    assert "0.4000 to 0.4400 stopped (LETOR's lies inside)" in said


def test_ranksvm_s_job_solves_and_stops(tmp_path):
    """With the grade as a feature, the optimum ranks perfectly for every C; two runs of the job are equal."""
    labels = np.tile([2, 1, 0], 4)
    kinds = {"qid": pl.Int64, "label": pl.Int8, "f1": pl.Float32, "f2": pl.Float32}
    noise = {part: np.random.default_rng(part).normal(size=12) for part in (1, 2)}
    columns = {part: {"qid": np.full(12, part), "label": labels, "f1": labels, "f2": noise[part]} for part in noise}
    frames = {part: pl.DataFrame(own, schema_overrides=kinds) for part, own in columns.items()}
    folds = [{"train": [1], "vali": [1], "test": [2]}, {"train": [2], "vali": [2], "test": [1]}]
    store(tmp_path / "tiny", frames, folds=folds, features=2)
    settings = {"dataset": "tiny", "exponents": [-4, 4], "stopped": [0], "visits": [1, 10_000], "orders": 2}
    found = []
    for out in (tmp_path / "one.json", tmp_path / "two.json"):
        options = {"--settings": json.dumps(settings), "--data": tmp_path, "--seed": 2005, "--out": out}
        arguments = [str(each) for option in options.items() for each in option]
        done = CliRunner().invoke(app, ["study-job", "arsm", "ranksvm-tiny", *arguments])
        assert done.exit_code == 0, done.output
        found.append(read_job(out))
    assert [row["exponent"] for row in found[0]["solved"]] == [-4, 4]
    stopped = [(row["order"], row["visits"]) for row in found[0]["stopped"]]
    assert stopped == [(0, 1), (0, 10_000), (1, 1), (1, 10_000)]
    for row in found[0]["solved"]:
        assert row["map"] == row["ndcg@3"] == 1.0
    assert found[0] == found[1]


def test_variance_table(made):
    _, _, tables = made
    draw, equal = tables["variance_of_draw"].rows, tables["variance_equal"].rows
    assert [row["levels"] for row in draw] == list(LEVELS)
    assert [row["losses"] for row in draw] == [4, 11, 46, 191, 781]
    for row in draw:
        assert row["arsm"] < row["ars"] < row["ar"] and row["arsm"] < row["baseline"] < row["reinforce"] < row["ar"]
    for one, row in zip(draw, equal, strict=True):
        assert row["equal_arsm"] == one["arsm"]
        assert row["equal_ars"] == pytest.approx(one["ars"] * row["levels"] / row["losses"])
        for name in ("reinforce", "baseline", "ar"):
            assert row[f"equal_{name}"] == pytest.approx(one[name] / row["losses"])
    assert np.bincount(GRADES).tolist() == [14, 4, 2]
