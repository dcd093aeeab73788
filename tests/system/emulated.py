"""`python tests/system/emulated.py OUT MODELS...` makes a small run in one process: data, models, metrics, statistics.

The files below OUT, except timing.json, must be the same on every processor. There are few steps and the collection is
small, because an emulated processor is 10 to 50 times as slow. Layers and features are as wide as in a study, because
the width determines which kernel a library uses.
"""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import gradrank

gradrank.pin()  # before numpy

# isort: split
import numpy as np

from gradrank.base.files import read_json, write_json
from gradrank.bench.folds.evaluate import evaluate_folds
from gradrank.bench.folds.job import train
from gradrank.bench.folds.per_query import read_test_queries
from gradrank.bench.report.tables.summary import summary
from gradrank.comparison.statistics import friedman_nemenyi, mean_difference, mean_interval
from gradrank.data.pair_files import write_pairs
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from gradrank.training import selection
from gradrank.training.contract.test_models import QUICK_SCORERS
from gradrank.training.registry import models

SEED, QUERIES, DOCUMENTS = 2005, 30, 20
# Number of methods with metrics, summary and statistics, for which any scores suffice: an emulated bootstrap takes 1 s,
# and the emulator crashes if Polars joins fifty files. The model and scores of every method are compared.
COMPARED = 8
FEW = {"epochs": 2, "rounds": 15, "patience": 15, "passes": 1, "starts": 1, "landmarks": 100, "members": 2, "gap": 0.03}
FEW |= {"min_data_in_leaf": 5, "pairs_per_epoch": 2000, "warmest": 0, "coldest": -1}
METRICS = ("ndcg@1", "ndcg@10", "mean_ndcg", "map", "p@10", "err@10")


def sort_for_the_emulator() -> None:
    """With SORT_STABLY=1, sort the scores that select an epoch by NumPy's stable sort from now on.

    NumPy's faster sort gathers under a mask, where qemu 7.2 reads the masked addresses and crashes. The order of equal
    values differs, but no result may depend on it. The native run, which is the reference, sorts as usual.
    """
    if os.environ.get("SORT_STABLY") == "1":
        selection.ascending = partial(np.argsort, kind="stable")


def main(out: Path, names: list[str]) -> None:
    sort_for_the_emulator()
    collection, pairs = _data(out)
    folder = out / "results" / collection.name
    # Models that combine the scores of other models come after them.
    for name in sorted(names, key=lambda name: bool(models()[name].members(models()[name].Params()))):
        train(name, collection, 1, _few(name), SEED, folder / "methods" / name / "fold1", pairs, folder)
    for name in names[:COMPARED]:
        spec = {key: read_json(folder / "methods" / name / "fold1/spec.json")[key] for key in ("model", "params")}
        evaluate_folds(folder / "methods" / name, collection, spec, ["letor4", "standard"], METRICS)
    summary(folder, names[:COMPARED], "letor4")
    write_json(out / "statistics.json", _statistics(folder, names[:COMPARED]))


def _few(name: str) -> dict[str, Any]:
    """Return the parameters of a model with few steps; of each grid, both ends and the middle."""
    defaults = models()[name].Params()
    grids = {
        key: (grid[0], grid[len(grid) // 2], grid[-1])
        for key, grid in defaults
        if isinstance(grid, tuple) and len(grid) > 3 and isinstance(grid[0], float)
    }
    sizes = QUICK_SCORERS.get(getattr(defaults, "scorer", ""), {})
    return {key: value for key, value in FEW.items() if hasattr(defaults, key)} | grids | sizes


def _data(out: Path) -> tuple[Path, Path]:
    """Write a stored collection of one fold and its pairs; return both folders.

    Queries have 17 to 20 documents, so that batches of queries are padded.
    """
    generate("net", QUERIES, DOCUMENTS, SEED, out / "parts")
    text, collection, pairs = out / "text", out / "parquet/small", out / "pairs/small"
    text.mkdir()
    for part, name in {"S1": "train", "S2": "vali", "S3": "test"}.items():
        lines = (out / f"parts/{part}.txt").read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for row, line in enumerate(lines) if row % DOCUMENTS >= row // DOCUMENTS % 4]
        (text / f"{name}.txt").write_text("".join(kept), encoding="utf-8")
    parse(text, collection, SEED, "small")
    write_pairs(collection, pairs)
    return collection, pairs


def _statistics(folder: Path, names: list[str]) -> dict:
    """Return the intervals, differences and ranks that the summary's tables show, with all digits."""
    paths = {name: folder / "methods" / name / "per_query.parquet" for name in names}
    measured = {name: read_test_queries(path, METRICS)["letor4"] for name, path in paths.items()}
    values = {name: queries.values["map"] for name, queries in measured.items()}
    first, *rest = values.values()
    folds = measured[names[0]].folds
    return {
        "intervals": {name: mean_interval(own) for name, own in values.items()},
        "bootstrap": [mean_difference(first, second, folds, SEED) for second in rest],
        "ranks": friedman_nemenyi(values),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
