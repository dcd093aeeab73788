"""The published numbers of the paper (paper.csv), and their comparison with our results on many random targets."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from gradrank.bench.literature import DRAWS
from gradrank.bench.report.tables.table import Row
from gradrank.bench.studies.claims import Claim, Estimate, judge_claim
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


# By metric: the factor to our unit, and half the last printed digit in our unit. Our unit of shares is percent.
UNITS = {
    "pairwise_accuracy_percent": (1, 0.005),
    "pairwise_accuracy": (100, 0.05),
    "pairwise_error_validation_percent": (1, 0.005),
    "pairwise_error_test_percent": (1, 0.005),
    "pairs_train": (1, 0.5),
}


def claim(table: str, target: str, model: str, size: int, metric: str, quantity: Any) -> Claim:
    """Return the claim of the paper about a quantity of ours. Without such a claim, its published value is None."""
    factor, tolerance = UNITS[metric]
    number = value(table, target, model, size, metric)
    statement = f"{metric} of {model} on {size} vectors of {target}"
    return Claim(statement, table, quantity, None if number is None else factor * number, tolerance)


Run = dict[str, Any]  # one run of a job, with the keys `target` and `draw` of its job


def by_draw(runs: Iterable[Run], experiment: str, target: str, net: str, size: int) -> np.ndarray:
    """Return the (draws,) percentages of correct test pairs of one net, in ascending order of the draw."""
    where = (experiment, target, net, size)
    chosen = [run for run in runs if (run["experiment"], run["target"], run["net"], run["size"]) == where]
    return np.array([run["test"] for run in sorted(chosen, key=lambda run: run["draw"])])


def over_draws(claim: Claim, draws: Mapping[Any, Sequence[float]]) -> Row:
    """Return the comparison of one published draw with the mean of our draws.

    The published number comes from a single draw. The interval is therefore the 95% prediction interval of one
    additional draw. draws: our values, one per draw, by quantity.
    """
    values, estimates = draws[claim.quantity], {}
    for quantity, own in draws.items():
        interval = prediction_interval(np.array(own))
        estimates[quantity] = Estimate(interval.mean, interval.high - interval.mean, DRAWS)
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
    bounds = {"spread": spread, "least": min(values), "most": max(values), "draws": len(values)}
    return judge_claim(claim, estimates) | bounds
