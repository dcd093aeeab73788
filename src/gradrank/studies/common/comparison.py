"""A published number beside ours, as columns and rows of a study's table."""

from collections.abc import Iterable

from gradrank.evaluation.literature.verdict import Judged, alike
from gradrank.report.tables.numbers import VERDICT
from gradrank.report.tables.table import Column, Row


def levels(form: str = ".4f") -> tuple[Column, ...]:
    """The columns of two numbers that nobody judges."""
    return (
        Column("published", "published", form),
        Column("ours", "ours", form),
        Column("difference", "difference", f"+{form}"),
    )


def comparison(form: str = ".4f") -> tuple[Column, ...]:
    """The columns of what `beside` returns."""
    return (
        *levels(form),
        Column("half_width", "± 95%", form),
        Column("of", "over"),
        Column("verdict", "verdict", VERDICT),
        Column("alike", "others alike", "d"),
        Column("others", "of", "d"),
    )


def level(published: float | None, ours: float) -> Row:
    """Two numbers, and ours minus the published one where there is one."""
    difference = None if published is None else ours - published
    return {"published": published, "ours": ours, "difference": difference}


def beside(published: float, own: Judged, others: Iterable[Judged]) -> Row:
    """A published number and ours, judged; others: what other methods of ours would have got for it."""
    verdicts = [other.verdict for other in others]
    found = {"half_width": own.half_width, "of": own.of, "verdict": own.verdict}
    return level(published, own.ours) | found | {"alike": alike(own.verdict, verdicts), "others": len(verdicts)}


def alone(ours: float, half_width: float, of: str) -> Row:
    """Ours where nothing is published."""
    found = {"half_width": half_width, "of": of, "verdict": "", "alike": None, "others": None}
    return level(None, ours) | found
