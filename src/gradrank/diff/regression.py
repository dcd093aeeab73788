"""`--fail-on-regression METRIC:DELTA`: which methods fell by more than a CI job allows."""

from typing import NamedTuple

from gradrank.base.errors import GradrankError, nearest
from gradrank.diff.compare import Comparison, MeanDifference

EXIT_CODE = 3  # 1 is an error, 2 a wrong command line


class Limit(NamedTuple):
    metric: str
    delta: float


def limit(text: str) -> Limit:
    """`ndcg@10:0.005`. Raises GradrankError for anything else."""
    metric, _, number = text.rpartition(":")
    try:
        delta = float(number)
    except ValueError:
        delta = -1.0
    if not metric or not 0 <= delta < float("inf"):
        raise GradrankError(
            f"--fail-on-regression {text}: expected METRIC:DELTA with DELTA at least 0, as in ndcg@10:0.005"
        )
    return Limit(metric, delta)


def regressions(comparison: Comparison, limit: Limit) -> list[MeanDifference]:
    """The methods whose mean fell by more than the limit, significant or not: equal seeds give equal bytes, so
    a fall is no noise of the run, and few queries must not hide a large one. Only methods of both sides count.

    Raises GradrankError where that cannot be told: the metric was not measured, or a data set was refused.
    """
    if comparison.refused:
        reasons = "; ".join(f"{dataset}: {reason}" for dataset, reason in comparison.refused.items())
        raise GradrankError(f"--fail-on-regression cannot be judged: {reasons}")
    rows = [row for row in comparison.rows if row.metric == limit.metric]
    if not rows:
        known = sorted({row.metric for row in comparison.rows})
        raise GradrankError(f"--fail-on-regression: {limit.metric!r} is not measured{nearest(limit.metric, known)}")
    # To 9 decimals: .45 to .44 is a fall by .01, not by a rounding error more.
    return [row for row in rows if round(-row.difference, 9) > limit.delta]
