"""The term report's study on made-up results: the figure's exact values, the claims, the paired questions."""

import math

import numpy as np
import pytest

from gradrank.models.ranknet_report.pair_net import PairNet
from gradrank.studies.term_report.claims import HIGH, LOW, MEASURED, PLAIN
from gradrank.studies.term_report.targets import blog_cost, report_cost
from gradrank.studies.term_report.weights import positions
from made_study import DOCUMENTS, PARTS, make_study, part_of, trained_on, written

NOISE = {"ranksvm_ndcg": 0.0, "ranksvm": 3.0, "report_whole-l2=0.01": 3.0, "report_hidden-hidden=64": 5.0}
NOISE |= {"ranknet_report_l2": 2.0}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    inputs = make_study(tmp_path_factory.mktemp("term"), "term_report", NOISE)
    sections = written("term_report", inputs)
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
    """Return NDCG@15 of one query, computed by its definition."""
    if not labels.any():
        return empty
    gains = 2.0**labels - 1.0
    weights = [discount(rank) for rank in range(1, 16)]
    return float(gains[np.argsort(-scores)][:15] @ weights / (np.sort(gains)[::-1][:15] @ weights))


def test_conventions_of_the_claims_by_definition(made):
    """The values of letor4, standard, lightgbm and dropped, on both parts and on one file, follow their definitions."""
    import polars as pl

    inputs, _, tables = made
    labels = [pl.read_parquet(inputs.data / f"mq2007/part{part}.parquet") for part in range(1, PARTS + 1)]
    rows = [row for row in tables["claims"].rows if row["method"] == PLAIN]
    for part, held in (("test", lambda fold: [part_of(fold)]), ("train", trained_on)):
        expected = {name: [] for name in MEASURED}
        for fold in range(1, PARTS + 1):
            own = np.concatenate([labels[number - 1]["label"].to_numpy() for number in held(fold)])
            scores = inputs.method("mq2007", PLAIN).fold(fold).scores(part)
            queries = list(zip(own.reshape(-1, DOCUMENTS), scores.reshape(-1, DOCUMENTS), strict=True))
            values = {
                "letor4": [ndcg15(y, s, lambda rank: 1 / math.log2(max(rank, 2)), 0.0) for y, s in queries],
                "standard": [ndcg15(y, s, lambda rank: 1 / math.log2(rank + 1), 0.0) for y, s in queries],
                "lightgbm": [ndcg15(y, s, lambda rank: 1 / math.log2(rank + 1), 1.0) for y, s in queries],
                "dropped": [ndcg15(y, s, lambda rank: 1 / math.log2(rank + 1), math.nan) for y, s in queries],
            }
            for name in MEASURED:
                expected[name].append(np.nanmean(values[name]))
        shown = {row["convention"]: row["ours"] for row in rows if row["part"] == part}
        assert shown == pytest.approx({name: np.mean(values) for name, values in expected.items()}, abs=1e-12)
        assert len({round(value, 6) for value in shown.values()}) == 4
        (one,) = (
            row
            for row in tables["claims_other"].rows
            if (row["method"], row["part"], row["metric"], row["files"], row["published"])
            == (PLAIN, part, "NDCG@15", "one file", HIGH if part == "test" else LOW)
        )
        assert one["standard"] == pytest.approx(expected["standard"][0], abs=1e-12)


def test_the_report_s_targets_and_the_blog_s_are_one_cost(made):
    rows = made[2]["targets"].rows
    assert [(row["blog"], row["report"]) for row in rows] == [(-1, 0), (0, 0.5), (1, 1)]
    for o in (-3.0, 0.0, 0.7):
        for S in (-1.0, 0.0, 1.0):
            assert report_cost((1 + S) / 2, o) == pytest.approx(blog_cost(S, o), rel=1e-12)


@pytest.mark.parametrize("target", [0, 1])
def test_the_net_that_is_trained_has_the_report_s_cost(target):
    net = PairNet([2, 3, 1], False, np.random.default_rng(0))
    first, second = np.ones((1, 2), np.float32), np.zeros((1, 2), np.float32)
    found = net.differentiate(first, second, np.array([target]))
    o = float((np.maximum((first - second) @ net.weights[0], 0) @ net.weights[1])[0, 0])
    assert found == pytest.approx(report_cost(target, o), rel=1e-6)
