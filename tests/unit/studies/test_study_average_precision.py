"""The blog's claims on made-up results: what tracks what, how AP spreads, and the worked example by exact fractions."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau

from gradrank.evaluation.metrics import average_precision as average_precision_of
from gradrank.studies.average_precision.page import CONVENTION
from gradrank.studies.average_precision.worked import PRINTED, SLIPS, average_precision
from made_study import make_study, written

NOISE = {"lambdamart": 0.1, "lambdarank": 0.5, "ranksvm": 1.0, "listnet": 1.5, "mart": 3.0, "single_feature": 30.0}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    inputs = make_study(tmp_path_factory.mktemp("ap"), "average_precision", NOISE)
    sections = written("average_precision", inputs)
    tables = {item.id: item for section in sections for item in section.content if not hasattr(item, "svg")}
    return inputs, {section.id: section for section in sections}, tables


def test_tracking_is_of_the_methods_and_of_the_queries(made):
    inputs, sections, tables = made
    rows = {(row["dataset"], row["measure"]): row for row in tables["tracking"].rows}
    assert len(rows) == 2 * 4
    values = [inputs.measure("mq2007", model, ["map", "r_precision"], CONVENTION) for model in inputs.models]
    row = rows["mq2007", "R-precision"]
    means = [[each.mean(metric) for each in values] for metric in ("r_precision", "map")]
    assert row["tau"] == pytest.approx(kendalltau(*means).statistic)
    assert row["methods"] == pytest.approx(np.corrcoef(means)[0, 1])
    relevant = [each.values["map"] > 0 for each in values]
    own = [
        np.corrcoef(each.values["r_precision"][kept], each.values["map"][kept])[0, 1]
        for each, kept in zip(values, relevant, strict=True)
        if np.ptp(each.values["map"][kept])
    ]
    assert len(own) == len(values) - 1, "without noise AP is 1 throughout, and correlates with nothing"
    assert row["queries"] == pytest.approx(np.mean(own))
    assert sections["tracking"].paragraphs[1].startswith("mq2007: R-precision's correlation with AP is over methods")


def test_spread_over_queries_and_over_methods(made):
    inputs, _, tables = made
    rows = {(row["dataset"], row["method"]): row for row in tables["spread"].rows}
    assert len(rows) == 2 * len(inputs.models)
    aps = np.array([inputs.measure("ohsumed", model, ["map"], CONVENTION).values["map"] for model in inputs.models])
    kept = aps[:, aps[0] > 0]
    row = rows["ohsumed", "mart"]
    own = kept[inputs.models.index("mart")]
    assert row["queries"] == len(own) == 15, "each part's first query has no relevant document"
    assert row["50"] == pytest.approx(np.median(own)) and row["5"] <= row["25"] <= row["50"] <= row["95"]
    assert row["inside"] == pytest.approx(np.mean((own >= 0.1) & (own <= 0.7)))
    (shares,) = (row for row in tables["shares"].rows if row["dataset"] == "ohsumed")
    assert shares["over_queries"] == pytest.approx(np.sqrt(np.mean([each.var(ddof=1) for each in kept])))
    assert shares["over_methods"] == pytest.approx(np.sqrt(np.mean([each.var(ddof=1) for each in kept.T])))


def test_no_three_relevant_documents_have_the_printed_value():
    """At every depth: 3 / r = 8/3 - 1/r1 - 2/r2 has no rank r after r2."""
    assert Fraction(8, 9) == PRINTED
    assert all(average_precision(ranks) != PRINTED for ranks in combinations(range(1, 60), 3))
    for first, second in combinations(range(1, 200), 2):
        rest = 3 * PRINTED - Fraction(1, first) - Fraction(2, second)
        last = 3 / rest
        assert not (last > second and last.denominator == 1)


def test_worked_example_agrees_with_the_metric_map(made):
    rows = made[2]["worked"].rows
    assert [row["printed"] for row in rows] == [pytest.approx(8 / 9)] * 3
    assert [row["right"] for row in rows] == pytest.approx([11 / 12, 29 / 36, 1.0])
    for ranks, _ in SLIPS.values():
        labels = np.isin(np.arange(1, 6), ranks).astype(int)
        found = average_precision_of(-np.arange(5.0), labels, np.array([0, 5]))
        assert found == pytest.approx([float(average_precision(ranks))])
    said = made[1]["worked"].paragraphs[0]
    assert "= 53/126 = 0.4206, which is .42" in said
    assert "no AP of three relevant documents" in said and "13/15 = 0.8667 and 11/12 = 0.9167" in said
