"""The rule by which tables set values in bold."""

from collections.abc import Mapping

from gradrank.base.numbers import is_missing
from gradrank.bench.report.tables.table import Row
from gradrank.comparison.statistics import LEVEL


def bold_rule(varying: str, where: str = "") -> str:
    """Return the sentences that explain bold values. varying: what the test takes into account. where: the columns."""
    return (
        f"Bold{where}: the methods that may be the best. The best method is among them with {1 - LEVEL:.0%} confidence "
        f"(model confidence set, Hansen et al. 2011, over {varying}). A bold value can be lower than a plain one: "
        "between two methods that rank very differently, only a larger difference can be detected. Nothing is bold if "
        "every method may be the best."
    )


BOLD = bold_rule("test queries")


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
