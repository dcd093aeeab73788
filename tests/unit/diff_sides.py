"""The two states that tests of `gradrank diff` compare: made in memory, or a small study on disk."""

import json
from pathlib import Path

import numpy as np
import polars as pl

from gradrank.diff.state import MethodResults, State
from gradrank.evaluation.costs import Cost
from gradrank.evaluation.per_query import QueryValues
from gradrank.report.tables.summary import summary
from made_results import make_results, write_values

SIZES = (20, 30, 45)  # test queries of each fold, unequal
FOLDS = np.repeat(np.arange(1, len(SIZES) + 1), SIZES)
QIDS = 10 * np.arange(len(FOLDS))


def values(seed: int = 0, **shifts: np.ndarray | float) -> QueryValues:
    """Return seeded random values of two metrics, plus the shifts `ndcg` and `map`."""
    draw = np.random.default_rng(seed)
    drawn = {metric: draw.random(len(FOLDS)) for metric in ("ndcg@10", "map")}
    shifted = {metric: own + shifts.get(metric.partition("@")[0], 0.0) for metric, own in drawn.items()}
    return QueryValues(FOLDS, QIDS, shifted)


def method(measured: QueryValues, seconds: float = 1.0) -> MethodResults:
    """Return the results of a method with one fold's cost."""
    means = {metric: measured.mean(metric) for metric in measured.values}
    return MethodResults(means, measured, Cost(1, seconds, seconds, seconds, 100.0))


def side(name: str, methods: dict[str, dict[str, QueryValues | MethodResults]], **fields) -> State:
    """Return the state of a results folder with these methods, by data set."""
    made = {
        dataset: {
            model: results if isinstance(results, MethodResults) else method(results) for model, results in own.items()
        }
        for dataset, own in methods.items()
    }
    conventions = fields.pop("conventions", dict.fromkeys(made, "letor4"))
    return State(name, "results folder", None, conventions, made, **fields)


def make_study(root: Path, shift: float = 0.0) -> Path:
    """Write and return root/results with two methods on mq2007.

    `shift` is added to lambdamart's NDCG@10 and is its parameter.
    """
    folder = make_results(root, queries=9)
    for path in folder.glob("*/fold*/spec.json"):
        spec = json.loads(path.read_text()) | {"data_sha256": "ab" * 32, "features": 46}
        spec["params"] = {"shift": shift} if spec["model"] == "lambdamart" else {"C": [0.1, 1]}
        path.write_text(json.dumps(spec))
    table = pl.read_parquet(folder / "lambdamart/per_query.parquet")
    write_values(table.with_columns(pl.col("ndcg@10") + shift), folder / "lambdamart")
    summary(folder, ["lambdamart", "ranksvm"], "letor4")
    return root / "results"
