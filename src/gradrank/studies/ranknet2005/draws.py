"""One published draw of an artificial target beside the mean of ours, whose interval is that of one further draw."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradrank.evaluation.literature.verdict import DRAWS, Band, Judged, judge
from gradrank.evaluation.statistics import prediction_interval
from gradrank.report.tables.table import Column, Row
from gradrank.studies.common.comparison import unpublished_row, verdict_columns, verdict_row

NOTE = (
    "Percent of the test pairs in the right order at the least validation error. Ours: mean over draws of the "
    "target; ± is the 95% interval of one further draw, as the paper's is one, and spread the standard deviation."
)
PERCENT_ROUNDING = 0.005  # of two printed decimals
SHARE_ROUNDING = 0.05  # in percent, of shares printed to three
OVER_DRAWS = (
    *verdict_columns(".2f"),
    Column("spread", "spread", ".2f"),
    Column("least", "least", ".2f"),
    Column("most", "most", ".2f"),
    Column("draws", "draws", "d"),
)

Run = dict[str, Any]


def over_draws(
    there: float | None,
    values: Sequence[float],
    others: Iterable[Sequence[float]] = (),
    rounding: float = PERCENT_ROUNDING,
) -> Row:
    """A published draw beside the mean of ours; half the 95% prediction interval.

    others: values of what else of ours could be held against the same number.
    """
    if there is None:
        interval = prediction_interval(np.array(values))
        row = unpublished_row(interval.mean, interval.high - interval.mean, DRAWS)
    else:
        mine, *rest = (_judged(there, each, rounding) for each in (values, *others))
        row = verdict_row(there, mine, rest)
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
    return row | {"spread": spread, "least": min(values), "most": max(values), "draws": len(values)}


def _judged(there: float, values: Sequence[float], rounding: float) -> Judged:
    interval = prediction_interval(np.array(values))
    return judge(there, interval.mean, Band(interval.high - interval.mean, DRAWS, rounding))
