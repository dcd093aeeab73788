"""The term report's study on made-up results: the figure's exact values, the claims, the paired questions."""

import json
import math

import numpy as np
import pytest

from gradrank.studies.kit.writing import study as write_study
from gradrank.studies.term_report.claims import ATTRIBUTIONS, HIGH, LOW, MEASURED
from gradrank.studies.term_report.page import build
from gradrank.studies.term_report.weights import positions
from made_study import PARTS, QUERIES, make_study

NOISE = {"ranksvm_ndcg": 0.0, "ranksvm": 3.0, "ranknet_report_l2": 2.0, "report_hidden-hidden=64": 5.0}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    inputs = make_study(tmp_path_factory.mktemp("term"), "term_report", NOISE)
    sections = build(inputs)
    tables = {item.id: item for section in sections for item in section.content if not hasattr(item, "svg")}
    return inputs, {section.id: section for section in sections}, tables


def test_measures_of_one_relevant_document_among_ten():
    (figure,) = positions().content
    for rank, row in enumerate(figure.table.rows, start=1):
        assert row["rank"] == rank
        assert row["ndcg"] == pytest.approx(1 / math.log2(1 + rank), abs=1e-15)
        assert row["ndcg_letor"] == pytest.approx(1 / math.log2(max(rank, 2)), abs=1e-15)
        assert row["ndcg_beta"] == pytest.approx((11 - rank) / 10, abs=1e-15)
    assert len(figure.table.rows) == 11
    assert figure.svg.count("<circle") == 33 and "0.28 in the last place" in figure.alt


def ndcg15(labels, scores, discount, empty):
    """Of one query, by the definition."""
    if not labels.any():
        return empty
    gains = 2.0**labels - 1.0
    weights = [discount(rank) for rank in range(1, 16)]
    return float(gains[np.argsort(-scores)][:15] @ weights / (np.sort(gains)[::-1][:15] @ weights))


def test_conventions_of_the_claims_by_definition(made):
    """letor4, standard, lightgbm, and the standard one with empty queries dropped."""
    import polars as pl

    inputs, _, tables = made
    labels = [pl.read_parquet(inputs.data / f"mq2007/part{part}.parquet") for part in range(1, PARTS + 1)]
    expected = {name: [] for name in MEASURED}
    for fold in range(1, PARTS + 1):
        part = labels[(fold + 3) % PARTS]["label"].to_numpy().reshape(QUERIES, -1)
        scores = inputs.method("mq2007", "ranknet_report").fold(fold).scores("test")
        queries = list(zip(part, scores.reshape(QUERIES, -1), strict=True))
        values = {
            "letor4": [ndcg15(y, s, lambda rank: 1 / math.log2(max(rank, 2)), 0.0) for y, s in queries],
            "standard": [ndcg15(y, s, lambda rank: 1 / math.log2(rank + 1), 0.0) for y, s in queries],
            "lightgbm": [ndcg15(y, s, lambda rank: 1 / math.log2(rank + 1), 1.0) for y, s in queries],
            "dropped": [ndcg15(y, s, lambda rank: 1 / math.log2(rank + 1), math.nan) for y, s in queries],
        }
        for name in MEASURED:
            expected[name].append(np.nanmean(values[name]))
    for row in tables["claims_mq2007"].rows:
        if row["method"] == "ranknet_report":
            assert row["ours"] == pytest.approx(np.mean(expected[row["convention"]]), abs=1e-12)
    assert len({round(np.mean(values), 6) for values in expected.values()}) == 4


def test_both_attributions_are_judged(made):
    _, sections, tables = made
    for dataset in ("mq2007", "ohsumed"):
        rows = tables[f"claims_{dataset}"].rows
        assert len(rows) == 4 * 2 * 2
        assert {(row["method"], row["published"]) for row in rows} == {
            ("ranknet_report", HIGH),
            ("ranknet_report_l2", LOW),
            ("ranksvm_ndcg", HIGH),
            ("ranknet_report", LOW),
        }
        for row in rows:
            inside = abs(row["difference"]) <= row["half_width"]
            assert row["verdict"] == ("consistent" if inside else "not reproduced")
            assert row["of"] == "queries" and row["others"] == 2
    text = sections["claims"].paragraphs[1]
    assert text.startswith("mq2007: 0.5619 is consistent with") and "0.0405" in text
    fits = {
        (row["convention"], row["attribution"]): all(
            other["verdict"] == "consistent"
            for other in tables["claims_mq2007"].rows
            if (other["convention"], other["attribution"]) == (row["convention"], row["attribution"])
        )
        for row in tables["claims_mq2007"].rows
    }
    assert any(fits.values()) and not all(fits.values())
    for (convention, attribution), fit in fits.items():
        assert (f"`{convention}`, {attribution}" in text.split("Both values fit under")[1]) == fit


def test_claimed_gap_beside_ours(made):
    inputs, _, tables = made
    rows = tables["claims_ohsumed_gaps"].rows
    assert {row["attribution"] for row in rows} == set(ATTRIBUTIONS) and len(rows) == 8
    row = next(
        row for row in rows if row["convention"] == "dropped" and row["attribution"].startswith("without")
    )
    assert row["claimed"] == pytest.approx(0.0405)
    first, second = (
        inputs.measure("ohsumed", model, ["ndcg@15"], MEASURED["dropped"]).values["ndcg@15"]
        for model in ("ranknet_report", "ranknet_report_l2")
    )
    assert row["difference"] == pytest.approx(np.nanmean(first - second))
    assert sum(map(int, row["record"].split(", "))) == np.sum(~np.isnan(first)) < PARTS * QUERIES


def test_weighted_against_plain(made):
    _, sections, tables = made
    rows = {(row["dataset"], row["pair"], row["metric"]): row for row in tables["weights_tests"].rows}
    assert len(rows) == 2 * 2 * 4
    boost = rows["mq2007", "rankboost_ndcg − rankboost", "MAP"]  # the same scores
    assert (boost["difference"], boost["wilcoxon_holm"]) == (0.0, 1.0)
    svm = rows["mq2007", "ranksvm_ndcg − ranksvm", "MAP"]  # perfect against noisy ones
    assert svm["low"] > 0 and svm["record"].endswith(", 0") and svm["wilcoxon_holm"] < 0.05
    assert "mq2007, ranksvm_ndcg − ranksvm, MAP (+" in sections["weights"].paragraphs[1]
    perfect = next(row for row in tables["weights"].rows if row["method"] == "ranksvm_ndcg")
    assert perfect["ndcg_beta"] == 1.0


def test_every_reading_scoring_and_penalty(made):
    _, _, tables = made
    rows = tables["scoring_mq2007"].rows
    assert {(row["reading"], row["scoring"], row["l2"]) for row in rows} == {
        (reading, scoring, l2)
        for reading in ("difference", "siamese")
        for scoring in ("row sums", "plain")
        for l2 in (0.0, 0.01)
    }
    tests = tables["scoring_mq2007_tests"].rows
    assert len(tests) == 3 * 4 * 2
    penalty = [row for row in tests if row["question"] == "no L2 − L2"]
    assert {row["net"] for row in penalty if row["difference"] != 0} == {"difference, row sums, no L2"}


def test_variation_changes_one_thing_a_panel(made):
    _, sections, tables = made
    values = {}
    for row in tables["variation_mq2007"].rows:
        values.setdefault(row["parameter"], []).append(row["value"])
    assert values == {
        "hidden units": ["32 × 16", "64 × 32", "128 × 64"],
        "layers": ["64", "64 × 32", "64 × 32 × 16"],
        "pairs a batch": ["32", "128", "512"],
        "epochs": ["5", "10", "20"],
    }
    tests = tables["variation_mq2007_tests"].rows
    assert len(tests) == 4 * 2 * 2
    different = {(row["parameter"], row["value"]) for row in tests if row["difference"] != 0}
    assert different == {("layers", "64")}
    figure = sections["variation"].content[0]
    assert figure.svg.count("<svg") == 4 and figure.svg.startswith('<div class="plots"')


def test_written_twice_it_is_the_same(made):
    inputs, _, tables = made
    write_study("term_report", inputs)
    first = {name: (inputs.folder / name).read_bytes() for name in ("page.md", "numbers.json", "page.json")}
    write_study("term_report", inputs)
    assert {name: (inputs.folder / name).read_bytes() for name in first} == first
    assert set(json.loads(first["numbers.json"])) == set(tables)
