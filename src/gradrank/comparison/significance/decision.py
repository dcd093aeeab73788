"""The rule by which every page decides whether a difference between two methods is claimed."""

from collections.abc import Mapping
from typing import Any, Literal

from gradrank.comparison.statistics import LEVEL

Decision = Literal["better", "worse", "no evidence"]
RULE = (
    f"A difference stands if its p value of Wilcoxon's test, corrected by Holm, is below {LEVEL:g} and its 95% "
    "interval excludes 0."
)


def decide(p: float, low: float, high: float) -> Decision:
    """Return the decision on the difference a - b of two methods: whether a is better or worse than b.

    p: p value of a paired test, corrected for the number of comparisons. It is Wilcoxon's signed-rank test, or
    Student's test if the variance due to seeds and tuning was estimated. low, high: bounds of the 95% interval of the
    difference of the means. Both conditions are needed. The signed-rank test asks whether more queries gain than lose,
    so it can reject although the means differ by nothing. The interval is not corrected for the number of comparisons.
    A nan gives no evidence.
    """
    if p < LEVEL and low > 0:
        return "better"
    return "worse" if p < LEVEL and high < 0 else "no evidence"


def decide_row(row: Mapping[str, Any]) -> Decision:
    """Return the decision on a row with the keys `wilcoxon_holm`, `low` and `high`."""
    return decide(row["wilcoxon_holm"], row["low"], row["high"])
