"""States to compare in the tests of `gradrank diff`: in memory, or as a small study on disk."""

import json
from pathlib import Path

import numpy as np
import polars as pl

from gradrank.bench.diff.state import MethodResults, State
from gradrank.bench.folds.costs import Cost
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.summary import summary
from made_results import make_results, write_values

SIZES = (20, 30, 45)  # test queries of each fold, unequal
FOLDS = np.repeat(np.arange(1, len(SIZES) + 1), SIZES)
QIDS = 10 * np.arange(len(FOLDS))


def values(seed: int = 0, **shifts: np.ndarray | float) -> QueryValues:
    """Seeded values of two metrics; `ndcg` and `map` are added to them."""
    draw = np.random.default_rng(seed)
    drawn = {metric: draw.random(len(FOLDS)) for metric in ("ndcg@10", "map")}
    found = {metric: own + shifts.get(metric.partition("@")[0], 0.0) for metric, own in drawn.items()}
    return QueryValues(FOLDS, QIDS, found)


def method(found: QueryValues, seconds: float = 1.0) -> MethodResults:
    means = {metric: found.mean(metric) for metric in found.values}
    return MethodResults(means, found, Cost(1, seconds, seconds, seconds, 100.0))


def state(name: str, methods: dict[str, dict[str, QueryValues | MethodResults]], **known) -> State:
    """A results folder with these methods, by data set."""
    made = {
        dataset: {model: each if isinstance(each, MethodResults) else method(each) for model, each in own.items()}
        for dataset, own in methods.items()
    }
    conventions = known.pop("conventions", dict.fromkeys(made, "letor4"))
    return State(name, "results folder", None, conventions, made, **known)


def make_study(root: Path, shift: float = 0.0) -> Path:
    """root/results of two methods on mq2007; `shift` is added to lambdamart's NDCG@10, and is its parameter."""
    folder = make_results(root, queries=9)
    for path in folder.glob("methods/*/fold*/spec.json"):
        spec = json.loads(path.read_text()) | {"data_sha256": "ab" * 32, "features": 46}
        spec["params"] = {"shift": shift} if spec["model"] == "lambdamart" else {"C": [0.1, 1]}
        path.write_text(json.dumps(spec))
    table = pl.read_parquet(folder / "methods/lambdamart/per_query.parquet")
    write_values(table.with_columns(pl.col("ndcg@10") + shift), folder / "methods/lambdamart")
    summary(folder, ["lambdamart", "ranksvm"], "letor4")
    (root / "params.yaml").write_text("evaluation: { convention: letor4 }\n")
    return root / "results"
