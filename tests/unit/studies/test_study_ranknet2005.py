"""The 2005 RankNet paper's study on made-up runs and scores: every published number, intervals, verdicts."""

import csv
import json
from collections import Counter
from importlib.resources import files

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

from gradrank.evaluation.per_query import QueryValues
from gradrank.evaluation.statistics import wilcoxon
from gradrank.studies.kit.study import Inputs, Table
from gradrank.studies.ranknet2005.page import build
from gradrank.studies.ranknet2005.published import value
from gradrank.studies.ranknet2005.tables123 import over_draws
from gradrank.studies.ranknet2005.tables456 import METHODS, METRIC, PRIVATE, _half_width
from made_study import DOCUMENTS, PARAMS, PARTS, QUERIES, make_collection

DRAWS = 4
SETTINGS = PARAMS.study_settings("ranknet2005")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("ranknet2005")
    folder = root / "results" / "studies" / "ranknet2005"
    make_runs(folder / "jobs")
    make_scores(root)
    inputs = Inputs(
        root / "results", root / "data" / "parquet", folder, SETTINGS | {"artificial": {"draws": DRAWS}}
    )
    sections = build(inputs)
    tables = {item.id: item for section in sections for item in section.content if isinstance(item, Table)}
    return inputs, {section.id: section for section in sections}, tables


def make_runs(folder):
    """One draw more than the study asks for, of numbers that no mean may contain."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    own = SETTINGS["artificial"]
    for target in ("net", "poly"):
        for draw in range(1, DRAWS + 2):
            runs = [
                ("table1", net, size, False)
                for net in ("linear", "two_layer_5", "two_layer_10")
                for size in own["sizes"]
            ]
            runs += [
                ("by_variance", net, size, False)
                for net in ("linear", "two_layer_5")
                for size in own["sizes"]
            ]
            runs += [
                ("table2", "two_layer_10", size, ties) for size in own["tie_sizes"] for ties in (False, True)
            ]
            if target == "net":
                runs.append(("zero_error", "two_layer_10", 1000, False))
            made = [
                {"experiment": experiment, "net": net, "size": size, "ties": ties, "pairs": 20 * size + draw}
                | {"vali": 90.0, "test": float(rng.uniform(60, 99)) if draw <= DRAWS else -1e6}
                | {"train": 100.0 if draw < 3 else 99.9, "epoch": 5, "epochs": 100 * draw}
                for experiment, net, size, ties in runs
            ]
            job = {"target": target, "draw": draw, "seed": draw, "runs": made}
            (folder / f"{target}-{draw}.json").write_text(json.dumps(job))


def make_scores(root):
    folds = [
        {
            "train": [k % 5 + 1, (k + 1) % 5 + 1, (k + 2) % 5 + 1],
            "vali": [(k + 3) % 5 + 1],
            "test": [(k + 4) % 5 + 1],
        }
        for k in range(PARTS)
    ]
    labels = make_collection(root / "data" / "parquet" / "mq2007", folds=folds)
    for place, model in enumerate(METHODS):
        rng = np.random.default_rng(place)
        for number, parts in enumerate(folds, start=1):
            folder = root / "results" / "mq2007" / model / f"fold{number}"
            folder.mkdir(parents=True)
            rows = [part for own in parts.values() for part in own]
            splits = np.repeat(["train", "train", "train", "vali", "test"], QUERIES * DOCUMENTS)
            scores = np.concatenate([labels[part - 1] for part in rows]) + rng.normal(
                0, 3 - place / 2, len(splits)
            )
            pl.DataFrame({"split": splits, "score": scores}).write_parquet(folder / "scores.parquet")
            timing = {"fit_seconds": 1.0 + place + number, "seconds": 9.0, "peak_memory_mb": 100}
            (folder / "timing.json").write_text(json.dumps(timing))
            (folder / "spec.json").write_text("{}")


def test_every_number_of_the_paper_stands_beside_ours(made):
    _, _, tables = made
    text = files("gradrank.studies.ranknet2005").joinpath("paper.csv").read_text()
    theirs = {name: [] for name in ("Table 1", "Table 2", "Table 4", "Table 5", "Table 6", "text 5.1")}
    for row in csv.DictReader(text.splitlines()):
        number = row["value"]
        if row["table"] not in theirs:
            continue
        if row["table"] == "Table 6":
            hours, minutes = number.split(":")
            number = 3600 * int(hours) + 60 * int(minutes)
        theirs[row["table"]].append(round(float(number) * (100 if row["table"] == "Table 2" else 1), 6))
    nets = [row for row in tables["tables45_mq2007"].rows if row["published"] is not None]
    shown = {
        "Table 1": [row["published"] for row in tables["table1"].rows],
        "Table 2": [row["published"] for row in tables["table2"].rows],
        "Table 4": [row["published"] for row in nets if row["split"] != "training"],
        "Table 5": [row["published"] for row in nets if row["split"] == "training"],
        "Table 6": [row["theirs"] for row in tables["table6_mq2007"].rows],
        "text 5.1": [row["published"] for row in tables["zero_error"].rows[2:]],
    }
    for table, numbers in theirs.items():
        assert sorted(round(number, 6) for number in shown[table]) == sorted(numbers), table
    assert {row["published_pairs"] for row in tables["table2"].rows} >= {2060, 12250, 101858}


def test_the_file_holds_what_the_paper_prints():
    """Counted by hand, table by table: cells, and a few of them typed a second time."""
    text = files("gradrank.studies.ranknet2005").joinpath("paper.csv").read_text()
    rows = list(csv.DictReader(text.splitlines()))
    assert Counter(row["table"] for row in rows) == {
        "Table 1": 2 * 2 * 4,  # targets, nets, training sizes
        "Table 2": 2 * 4,  # without and with ties, training sizes
        "Table 3": 3,  # parts
        "Table 4": 6 * 2,  # methods; validation and test
        "Table 5": 2,  # nets
        "Table 6": 6,  # methods
        "text 5.1": 2,  # validation and test error of the net without a training error
        "text 6.2": 3,  # the nets' best epochs, and the Wilcoxon test between them
    }
    assert value("Table 1", "net", "two_layer", 12500, "pairwise_accuracy_percent") == 97.67
    assert value("Table 2", "poly", "two_layer_10_all_ties", 5000, "pairwise_accuracy") == 0.688
    assert value("Table 5", PRIVATE, "Two layer net", 0, "ndcg@15_train") == 0.5
    assert value("text 5.1", "net", "two layer (10 hidden)", 1000, "pairwise_error_test_percent") == 10.01


def test_cells_are_means_over_the_draws_asked_for(made):
    inputs, _, tables = made
    for row in tables["table1"].rows:
        own = []
        for draw in range(1, DRAWS + 1):
            job = json.loads((inputs.folder / "jobs" / f"{row['target']}-{draw}.json").read_text())
            own += [
                run["test"]
                for run in job["runs"]
                if (run["experiment"], run["net"], run["size"]) == ("table1", row["net"], row["size"])
            ]
        assert row["draws"] == len(own) == DRAWS and row["ours"] == pytest.approx(np.mean(own))
        assert (row["least"], row["most"]) == (min(own), max(own))
        assert row["difference"] == pytest.approx(row["ours"] - row["published"])


def test_interval_covers_one_further_draw_as_often_as_it_says():
    rng = np.random.default_rng(3)
    inside = [
        over_draws(float(rng.normal(80, 2)), rng.normal(80, 2, 5).tolist())["verdict"] != "not reproduced"
        for _ in range(4000)
    ]
    assert np.mean(inside) == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 4000))


def test_interval_by_hand():
    row = over_draws(90.0, [80.0, 82.0, 84.0])
    assert row["half_width"] == pytest.approx(t.ppf(0.975, 2) * 2 * np.sqrt(4 / 3))
    assert (row["ours"], row["spread"], row["verdict"]) == (82.0, 2.0, "consistent")
    assert over_draws(99.0, [80.0, 82.0, 84.0])["verdict"] == "not reproduced"
    assert over_draws(82.004, [80.0, 82.0, 84.0])["verdict"] == "reproduced"
    other = over_draws(90.0, [80.0, 82.0, 84.0], [[89.0, 90.0, 91.0], [60.0, 60.1, 60.2]])
    assert (other["alike"], other["others"]) == (1, 2), "the first would have been reproduced, the second not"
    assert np.isnan(over_draws(99.0, [80.0])["half_width"])


def test_ties_are_compared_draw_by_draw(made):
    _, _, tables = made
    cells = {(row["size"], row["ties"]): row["ours"] for row in tables["table2"].rows}
    for row in tables["table2_difference"].rows:
        assert row["difference"] == pytest.approx(cells[row["size"], "all"] - cells[row["size"], "none"])
        assert row["low"] < row["difference"] < row["high"]


def test_zero_error_counts_the_draws_that_reach_it(made):
    _, sections, tables = made
    assert (
        "2 of 4 draws end without a training error, after 100 to 200 epochs"
        in sections["zero_error"].paragraphs[0]
    )
    cells = {row["what"]: row for row in tables["zero_error"].rows}
    assert cells["training pairs in error, %"]["ours"] == pytest.approx(0.05)
    assert cells["training pairs"]["published"] == 20382


def test_ndcg_15_of_each_part_from_scores(made):
    inputs, sections, tables = made
    rows = tables["tables45_mq2007"].rows
    assert len(rows) == 3 * len(METHODS)
    for row in rows:
        split = {"validation": "vali", "test": "test", "training": "train"}[row["split"]]
        values = inputs.measure("mq2007", row["model"], [METRIC], "standard", split)
        assert row["ours"] == pytest.approx(values.mean(METRIC))
        assert (row["published"] is None) == (split == "train" and not row["model"].startswith("ranknet"))
        assert "verdict" not in row, "the paper's collection is private"
    ours = {row["method"]: row["ours"] for row in rows if row["split"] == "test"}
    order = " > ".join(sorted(ours, key=lambda method: -ours[method]))
    assert sections["tables456_mq2007"].paragraphs[1].endswith(f"Ours: {order}.")


def test_nets_are_compared_by_wilcoxon(made):
    inputs, _, tables = made
    (row,) = (row for row in tables["nets_mq2007"].rows if row["second"] == "ranknet_2005_linear")
    two, one = (
        inputs.measure("mq2007", f"ranknet_2005_{name}", [METRIC], "standard").values[METRIC]
        for name in ("two_layer", "linear")
    )
    assert row["wilcoxon"] == wilcoxon(two, one) and row["difference"] == pytest.approx(np.mean(two - one))


def test_a_training_query_counts_once():
    values = np.random.default_rng(0).random(30)
    once = QueryValues(np.ones(30), np.arange(30), {METRIC: values})
    thrice = QueryValues(np.repeat([1, 2, 3], 30), np.tile(np.arange(30), 3), {METRIC: np.tile(values, 3)})
    assert _half_width(thrice) == pytest.approx(_half_width(once)) == pytest.approx(once.half_width(METRIC))


def test_times_are_no_part_of_the_numbers(made):
    _, _, tables = made
    timed = tables["table6_mq2007"]
    assert timed.timed and [row["ours"] for row in timed.rows] == sorted(row["ours"] for row in timed.rows)
    cells = {row["method"]: row for row in timed.rows}
    assert cells["Two layer RankNet"]["their_ratio"] == pytest.approx(351 / 11)
    assert cells["Linear PRank"]["our_ratio"] == 1 and cells["Linear PRank"]["ours"] == pytest.approx(5)


def test_reduced_form_needs_no_data_set(made):
    inputs, _, _ = made
    settings = {"artificial": {"draws": 2}, "datasets": [], "models": []}
    sections = build(Inputs(inputs.results, inputs.data, inputs.folder, settings))
    assert [section.id for section in sections] == ["table1", "table2", "zero_error", "figure1"]
