"""Helpers of the training benchmarks: one fold of a collection, CPU seconds of a fit, and their growth.

Import this module before numpy. It sets the instruction set and one thread, as in a job of the workflow.
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
    """Return the training and validation part of the fold chosen on the command line, and print their size."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data/parquet/mq2007"))
    parser.add_argument("--fold", type=int, default=1)
    options = parser.parse_args()
    stored = StoredCollection.open(options.data)
    train, vali = (stored.read(stored.fold(options.fold)[split]) for split in ("train", "vali"))
    print(f"{options.data.name} fold {options.fold}: {train.rows} rows, {train.features.shape[1]} features")
    return train, vali


def seconds(name: str, params: Mapping, train: Collection, vali: Collection) -> tuple[float, int]:
    """Return the CPU seconds of a model's fit and the number of calls of its callback."""
    cls, calls = get_model(name), []
    started = time.process_time()
    cls.fit(train, vali, cls.Params(**params), 0, lambda step, **values: calls.append(step))
    return time.process_time() - started, len(calls)


def more_rows(data: Collection, times: int) -> Collection:
    """Return a collection with every query repeated `times` times."""
    sizes = np.tile(np.diff(data.offsets), times)
    return Collection(
        np.tile(data.features, (times, 1)),
        np.tile(data.labels, times),
        np.r_[0, np.cumsum(sizes)],
        np.arange(len(sizes)),
    )


def more_pairs(data: Collection, times: int) -> Collection:
    """Return the same rows, with every `times` consecutive queries merged into one."""
    offsets = np.unique(np.r_[data.offsets[::times], data.offsets[-1]])
    return dataclasses.replace(data, offsets=offsets, qids=np.arange(len(offsets) - 1))


def more_features(data: Collection, times: int) -> Collection:
    """Return the collection with its features repeated `times` times."""
    return dataclasses.replace(data, features=np.tile(data.features, (1, times)))


def first_queries(data: Collection, queries: int) -> Collection:
    """Return the first queries; as a validation part, they are few enough that only the training time grows."""
    return data.select_queries(np.arange(data.queries) < queries)


def growth(kinds: Iterable[str], runs: Iterable[tuple[str, Mapping]], train: Collection, vali: Collection) -> None:
    """Print a line per kind (rows, pairs or features) and model: CPU seconds at 1, 2 and 4 times the size."""
    few = first_queries(vali, 1)
    head()
    for kind in kinds:
        grow = {"rows": more_rows, "pairs": more_pairs, "features": more_features}[kind]
        for name, params in runs:
            part = (lambda times: more_features(few, times)) if kind == "features" else (lambda times: few)
            line(f"{kind:10} {name}", lambda n: seconds(name, params, grow(train, n), part(n))[0])  # noqa: B023


def head() -> None:
    """Print the heading for the lines that `line` prints."""
    print(f"\n{'seconds at':30} {'1x':>7} {'2x':>7} {'4x':>7}   2x/1x  4x/1x")


def line(title: str, run: Callable[[int], float]) -> None:
    """Print the seconds at each of TIMES and their ratios. run: returns the seconds at n times the size."""
    durations = [run(times) for times in TIMES]
    columns = " ".join(f"{duration:7.2f}" for duration in durations)
    print(f"{title:30} {columns}   {durations[1] / durations[0]:5.2f}  {durations[2] / durations[0]:5.2f}")
