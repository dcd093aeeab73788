"""The published numbers of the paper (paper.csv), and their comparison with our results on many random targets."""

import csv
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from gradrank.bench.literature import DRAWS, Band, Judged, judge
from gradrank.bench.report.tables.table import Column, Row
from gradrank.bench.studies.tables import unpublished_row, verdict_columns, verdict_row
from gradrank.comparison.statistics import prediction_interval

PRIVATE = "commercial search engine (private)"  # value of the column `target` in the rows of Tables 3 to 6


@cache
def published() -> dict[tuple[str, str, str, int, str], tuple[str, str]]:
    """Return a dict of the published numbers as text.

    Each key is (table, target, model, number of training vectors or 0, metric), and each value is (value, note).
    """
    text = files("studies.ranknet2005").joinpath("paper.csv").read_text(encoding="utf-8")
    return {
        (row["table"], row["target"], row["model"], int(row["train_size"] or 0), row["metric"]): (
            row["value"],
            row["note"],
        )
        for row in csv.DictReader(text.splitlines())
    }


def value(table: str, target: str, model: str, size: int, metric: str) -> float | None:
    """Return a published number, or None if the paper does not give it."""
    cell = published().get((table, target, model, size, metric))
    return float(cell[0]) if cell else None


NOTE = (
    "Percent of the test pairs in the right order at the least validation error. Ours: mean over draws of the "
    "target; ± is the 95% interval of one further draw, as the paper's is one, and spread the standard deviation."
)
PERCENT_ROUNDING = 0.005  # half the last printed digit of percentages with two decimals
SHARE_ROUNDING = 0.05  # half the last printed digit, in percent, of shares with three decimals
OVER_DRAWS = (
    *verdict_columns(".2f"),
    Column("spread", "spread", ".2f"),
    Column("least", "least", ".2f"),
    Column("most", "most", ".2f"),
    Column("draws", "draws", "d"),
)
Run = dict[str, Any]  # one run of a job, with the keys `target` and `draw` of its job


def by_draw(runs: Iterable[Run], experiment: str, target: str, net: str, size: int) -> np.ndarray:
    """Return the (draws,) percentages of correct test pairs of one net, in ascending order of the draw."""
    where = (experiment, target, net, size)
    chosen = [run for run in runs if (run["experiment"], run["target"], run["net"], run["size"]) == where]
    return np.array([run["test"] for run in sorted(chosen, key=lambda run: run["draw"])])


def over_draws(
    published: float | None,
    values: Sequence[float],
    others: Iterable[Sequence[float]] = (),
    rounding: float = PERCENT_ROUNDING,
) -> Row:
    """Return the comparison of one published draw with the mean of our draws.

    The published number comes from a single draw. The interval is therefore the 95% prediction interval of one
    additional draw.

    published: the published number, or None. values: our values, one per draw. others: the values of our other
    experiments that are compared with the same number. rounding: half the last printed digit.
    """
    if published is None:
        interval = prediction_interval(np.array(values))
        row = unpublished_row(interval.mean, interval.high - interval.mean, DRAWS)
    else:
        ours, *rivals = (_judge(published, draws, rounding) for draws in (values, *others))
        row = verdict_row(published, ours, rivals)
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
    return row | {"spread": spread, "least": min(values), "most": max(values), "draws": len(values)}


def _judge(published: float, values: Sequence[float], rounding: float) -> Judged:
    interval = prediction_interval(np.array(values))
    return judge(published, interval.mean, Band(interval.high - interval.mean, DRAWS, rounding))
