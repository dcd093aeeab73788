"""Claims: published values that are compared with our estimates, and the verdict on each claim."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from gradrank.bench.literature import ROUNDING, Band, judge
from gradrank.bench.report.tables.table import Row
from gradrank.bench.studies.tables import unpublished_row, verdict_row


class Claim(NamedTuple):
    """A published value of a quantity.

    statement: what the publication says. source: the place in the publication. quantity: the key of our estimate, a
    hashable value. published: the value; None if the publication does not give it. tolerance: the largest difference
    that rounding explains, half the last printed digit.
    """

    statement: str
    source: str
    quantity: Any
    published: float | None
    tolerance: float = ROUNDING


class Estimate(NamedTuple):
    """Our value of a quantity.

    half_width: half the width of its 95% interval. of: the sample on which the interval is based, as in
    gradrank.bench.literature.
    """

    value: float
    half_width: float
    of: str


def judge_claim(claim: Claim, estimates: Mapping[Any, Estimate]) -> Row:
    """Return the row of `verdict_columns` for a claim, without a verdict if no value is published.

    estimates: our estimates by quantity. The row counts how many of the other estimates get the same verdict.
    """
    if claim.published is None:
        return unpublished_row(*estimates[claim.quantity])
    judged = {
        quantity: judge(claim.published, own.value, Band(own.half_width, own.of, claim.tolerance))
        for quantity, own in estimates.items()
    }
    return verdict_row(claim.published, judged.pop(claim.quantity), judged.values())
