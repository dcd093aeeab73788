"""The rule by which tables set values in bold."""

from collections.abc import Mapping

from gradrank.base.numbers import is_missing
from gradrank.evaluation.statistics import LEVEL
from gradrank.report.tables.table import Row

BOLD = (
    f"Bold: the methods that may be the best. With {1 - LEVEL:.0%} confidence, every method with the highest expected "
    "value is among them (model confidence set, Hansen et al. 2011, over test queries). A value can be bold although a "
    "higher one is not, because smaller differences can be detected between methods that rank alike. Nothing is bold "
    "if every method may be the best."
)


def may_be_best(rows: Mapping[str, Row]) -> set[str]:
    """Return the methods whose `p_best` is at least .05; empty if the metric was not tested. rows: rows by method."""
    return {method for method, row in rows.items() if is_worse(row) is False}


def is_worse(row: Row) -> bool | None:
    """Return whether a method is significantly worse than the best, from its `p_best`; None if this was not tested."""
    p = row.get("p_best")
    return None if p is None or is_missing(p) else p < LEVEL


def in_bold(rows: Mapping[str, Row]) -> set[str]:
    """Return the methods of `may_be_best`, or the empty set if no tested method is worse. rows: rows by method."""
    return may_be_best(rows) if any(is_worse(row) for row in rows.values()) else set()
