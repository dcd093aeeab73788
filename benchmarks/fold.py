"""Functions that the benchmarks of training share: one fold of a collection, CPU seconds and their growth.

Import this module before numpy, because it sets the instruction set and one thread, as in a training job.
"""

from gradrank.data.collection import Collection  # before numpy
from gradrank.data.stored import StoredCollection

# isort: split
import argparse
import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from gradrank.training.registry import get_model

TIMES = (1, 2, 4)


def read_fold(description: str) -> tuple[Collection, Collection]:
    """Return the training and validation part of the fold in the command line, and print its size."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data/parquet/mq2007"))
    parser.add_argument("--fold", type=int, default=1)
    arguments = parser.parse_args()
    stored = StoredCollection.open(arguments.data)
    train, vali = (stored.read(stored.fold(arguments.fold)[split]) for split in ("train", "vali"))
    print(f"{arguments.data.name} fold {arguments.fold}: {train.rows} rows, {train.features.shape[1]} features")
    return train, vali


def seconds(name: str, params: Mapping, train: Collection, vali: Collection) -> tuple[float, int]:
    """Return (CPU seconds of a model's fit, number of calls of its callback)."""
    cls, calls = get_model(name), []
    started = time.process_time()
    cls.fit(train, vali, cls.Params(**params), 0, lambda step, **values: calls.append(step))
    return time.process_time() - started, len(calls)


def more_rows(data: Collection, times: int) -> Collection:
    """Return the collection with every query repeated `times` times."""
    sizes = np.tile(np.diff(data.offsets), times)
    return Collection(
        np.tile(data.features, (times, 1)),
        np.tile(data.labels, times),
        np.r_[0, np.cumsum(sizes)],
        np.arange(len(sizes)),
    )


def more_pairs(data: Collection, times: int) -> Collection:
    """Return the same rows in queries that are `times` times as long."""
    offsets = np.unique(np.r_[data.offsets[::times], data.offsets[-1]])
    return dataclasses.replace(data, offsets=offsets, qids=np.arange(len(offsets) - 1))


def more_features(data: Collection, times: int) -> Collection:
    """Return the collection with every feature repeated `times` times."""
    return dataclasses.replace(data, features=np.tile(data.features, (1, times)))


def first_queries(data: Collection, queries: int) -> Collection:
    """Return the first `queries` queries. As a validation part, one query takes no noticeable time."""
    return data.select_queries(np.arange(data.queries) < queries)


def growth(kinds: Iterable[str], runs: Iterable[tuple[str, Mapping]], train: Collection, vali: Collection) -> None:
    """Print one line per kind (rows, pairs or features) and model: seconds for 1, 2 and 4 times as many."""
    few = first_queries(vali, 1)
    head()
    for kind in kinds:
        grow = {"rows": more_rows, "pairs": more_pairs, "features": more_features}[kind]
        for name, params in runs:
            part = (lambda times: more_features(few, times)) if kind == "features" else (lambda times: few)
            line(f"{kind:10} {name}", lambda n: seconds(name, params, grow(train, n), part(n))[0])  # noqa: B023


def head() -> None:
    """Print the head of the table of growth."""
    print(f"\n{'seconds at':30} {'1x':>7} {'2x':>7} {'4x':>7}   2x/1x  4x/1x")


def line(title: str, run: Callable[[int], float]) -> None:
    """Print the seconds `run(n)` for n = 1, 2 and 4 times the size, and their ratios."""
    took = [run(times) for times in TIMES]
    shown = " ".join(f"{value:7.2f}" for value in took)
    print(f"{title:30} {shown}   {took[1] / took[0]:5.2f}  {took[2] / took[0]:5.2f}")
