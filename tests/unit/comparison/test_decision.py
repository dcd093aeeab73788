"""The decision rule, and that heat maps, studies and `gradrank diff` follow it."""

import math

import numpy as np
import pytest

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.contents import ReportedDataset
from gradrank.bench.report.plots.paired_tests import matrices
from gradrank.bench.studies.tables import Question, describe_significant, paired_tests
from gradrank.comparison.significance import decide, decide_row
from gradrank.comparison.statistics import paired_test

OPPOSITE = {"better": "worse", "worse": "better", "no evidence": "no evidence"}


def many_small_gains_and_few_large_losses(queries=400):
    """Return values of two methods with equal means, of which the first is better on most queries."""
    gaps = np.where(np.arange(queries) % 10 == 0, -0.18, 0.02)
    b = np.random.default_rng(1).uniform(0.3, 0.6, queries)
    return b + gaps, b


@pytest.mark.parametrize(
    ("p", "low", "high", "decision"),
    [
        (0.01, 0.001, 0.1, "better"),
        (0.05, 0.001, 0.1, "no evidence"),
        (0.01, 0.0, 0.1, "no evidence"),
        (0.01, -0.1, 0.1, "no evidence"),
        (math.nan, 0.001, 0.1, "no evidence"),
        (0.01, math.nan, math.nan, "no evidence"),
        (0.0, 0.2, 0.2, "better"),
    ],
)
def test_both_conditions_are_needed_and_the_sides_are_alike(p, low, high, decision):
    assert decide(p, low, high) == decision
    assert decide(p, -high, -low) == OPPOSITE[decision]


def test_a_significant_signed_rank_test_of_equal_means_is_no_evidence():
    a, b = many_small_gains_and_few_large_losses()
    test = paired_test(a, b, np.ones(len(a)))
    assert test.wilcoxon < 1e-6 and test.low < 0 < test.high and abs(test.difference) < 1e-9
    assert decide(test.wilcoxon, test.low, test.high) == "no evidence"


def test_studies_count_the_differences_that_stand():
    a, b = many_small_gains_and_few_large_losses()
    first, second, better = (
        QueryValues(np.ones(len(a)), np.arange(len(a)), {"map": values}) for values in (a, b, b + 0.1)
    )
    rows = paired_tests(
        [Question({"name": "equal"}, "map", first, second), Question({"name": "shifted"}, "map", better, second)]
    )
    assert [decide_row(row) for row in rows] == ["no evidence", "better"]
    assert all(row["wilcoxon_holm"] < 1e-6 for row in rows)
    assert describe_significant(rows, "name") == "1 of 2 differences stands: shifted, MAP (+0.1000)."


def test_heat_maps_mark_the_differences_that_stand():
    row = {"metric": "map", "convention": "letor4", "wilcoxon_holm": 0.001}
    rows = [
        row | {"model_a": "a", "model_b": "b", "difference": 0.02, "low": -0.01, "high": 0.05},
        row | {"model_a": "a", "model_b": "c", "difference": 0.08, "low": 0.04, "high": 0.12},
        row | {"model_a": "b", "model_b": "c", "difference": -0.06, "low": -0.09, "high": -0.03},
    ]
    means = {name: {"map": mean} for name, mean in {"a": 0.5, "b": 0.48, "c": 0.42}.items()}
    (found,) = matrices(ReportedDataset("d", "d", "letor4", means, {"pairwise": rows}, {}, {}, None, []))
    marks = [[cell and cell["mark"] for cell in line] for line in found.cells]
    assert marks == [[None, "", "▲"], ["", None, "▼"], ["▼", "▲", None]]
    assert (found.separated, found.pairs) == (2, 3)
