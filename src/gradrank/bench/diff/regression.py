"""The option `--fail-on-regression METRIC:DELTA`, which makes a CI job fail if a method's mean falls too far."""

from typing import NamedTuple

from gradrank.base.errors import GradrankError, nearest
from gradrank.bench.diff.compare import Comparison
from gradrank.bench.diff.verdicts import MeanDifference

EXIT_CODE = 3  # 1 stands for an error, and 2 for a wrong command line


class Limit(NamedTuple):
    """The largest allowed fall of a metric's mean."""

    metric: str
    delta: float


def limit(text: str) -> Limit:
    """Return the limit in a text such as `ndcg@10:0.005`. Raises GradrankError for any other form."""
    metric, _, number = text.rpartition(":")
    try:
        delta = float(number)
    except ValueError:
        delta = -1.0
    if not metric or not 0 <= delta < float("inf"):
        raise GradrankError(
            f"--fail-on-regression {text}: expected METRIC:DELTA with DELTA >= 0, such as ndcg@10:0.005"
        )
    return Limit(metric, delta)


def regressions(comparison: Comparison, limit: Limit) -> list[MeanDifference]:
    """Return the rows of methods whose mean fell by more than the limit, significant or not.

    Significance is not required, for two reasons. Training with the same seeds gives the same bytes, so with unchanged
    seeds a fall is never caused by chance in training. With few queries, a large fall may not be significant. Methods
    that exist in only one state are ignored.

    Raises GradrankError if the metric was not measured or a data set could not be compared.
    """
    if comparison.refused:
        reasons = "; ".join(f"{dataset}: {reason}" for dataset, reason in comparison.refused.items())
        raise GradrankError(f"--fail-on-regression cannot be decided, because data sets were not compared: {reasons}")
    rows = [row for row in comparison.rows if row.metric == limit.metric]
    if not rows:
        metrics = sorted({row.metric for row in comparison.rows})
        raise GradrankError(f"--fail-on-regression: {limit.metric!r} was not measured{nearest(limit.metric, metrics)}")
    # The fall is rounded to 9 decimals, so that a fall from .45 to .44 does not exceed .01 by a rounding error.
    return [row for row in rows if round(-row.difference, 9) > limit.delta]
