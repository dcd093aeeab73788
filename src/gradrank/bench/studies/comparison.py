"""Columns and rows of tables that compare published numbers with this project's own numbers ("ours")."""

from collections.abc import Iterable

from gradrank.bench.literature.verdict import Judged, alike
from gradrank.bench.report.tables.numbers import VERDICT
from gradrank.bench.report.tables.table import Column, Row


def difference_columns(form: str = ".4f") -> tuple[Column, ...]:
    """Return the columns of `difference_row`. form: format of the numbers."""
    return (
        Column("published", "published", form),
        Column("ours", "ours", form),
        Column("difference", "difference", f"+{form}"),
    )


def verdict_columns(form: str = ".4f") -> tuple[Column, ...]:
    """Return the columns of `verdict_row` and `unpublished_row`. form: format of the numbers."""
    return (
        *difference_columns(form),
        Column("half_width", "half 95% interval", form),
        Column("of", "over"),
        Column("verdict", "verdict", VERDICT),
        Column("alike", "others alike", "d"),
        Column("others", "of", "d"),
    )


def difference_row(published: float | None, ours: float) -> Row:
    """Return a row with both numbers and their difference, ours minus published.

    Without a published number, the difference has the value None.
    """
    difference = None if published is None else ours - published
    return {"published": published, "ours": ours, "difference": difference}


def verdict_row(published: float, ours: Judged, others: Iterable[Judged]) -> Row:
    """Return a row that compares a published number with ours and gives the verdict.

    ours: the verdict on our number. others: the verdicts on our other methods, compared with the same published number.
    The row counts how many of these methods get the same verdict as ours. The count shows how selective the verdict is.
    """
    verdicts = [other.verdict for other in others]
    judged = {"half_width": ours.half_width, "of": ours.of, "verdict": ours.verdict}
    return (
        difference_row(published, ours.ours)
        | judged
        | {"alike": alike(ours.verdict, verdicts), "others": len(verdicts)}
    )


def unpublished_row(ours: float, half_width: float, of: str) -> Row:
    """Return a row without a published number and without a verdict.

    half_width: half the width of the 95% interval of our number. of: what the interval is computed over, such as
    queries or draws.
    """
    unjudged = {"half_width": half_width, "of": of, "verdict": "", "alike": None, "others": None}
    return difference_row(None, ours) | unjudged
