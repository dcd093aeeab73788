"""Seconds of RankBoost, AdaRank and coordinate ascent on one fold, and how they grow, measured in this run.

python benchmarks/boosting.py [--data data/parquet/mq2007.parquet] [--fold 1]

CPU seconds of one thread, which a busy machine does not lengthen. Validation after every round is included,
compilation is not. "definition" is RankBoost's round as printed, over explicit pairs and all thresholds, in
NumPy. For scale, RankLib (Java) on MQ2007 fold 1 and a similar core took 40 s for RankBoost, 10 s for AdaRank
and 108 s for coordinate ascent.
"""

import argparse
import dataclasses
import os
import time
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # one core, as a job of the study

import numpy as np

from gradrank.collection import Collection
from gradrank.data.pairs import crucial_pairs
from gradrank.files import read_json
from gradrank.model import get_model
from gradrank.models.rankboost import RankBoostParams, stump_thresholds

RUNS = [
    ("rankboost", {"rounds": 300}, 5.0),
    ("rankboost_ndcg", {"rounds": 300}, 5.0),
    ("adarank_map", {"rounds": 500}, 2.0),
    ("adarank_ndcg", {"rounds": 500}, 2.0),
    ("coordinate_ascent", {}, None),
]
GROWN = [
    ("rankboost", {"rounds": 50}),
    ("adarank_map", {"rounds": 100}),
    ("coordinate_ascent", {"starts": 1, "passes": 1}),
]
WHY = """
rows: linear, as a round is one pass over documents (and, for RankBoost, over their bins).
pairs (the same rows in queries 2 and 4 times as long): none is formed. RankBoost sums over grades; the others
sort, n log n in a query's length. Fewer queries are without a pair and left out.
features: RankBoost fills a histogram each, coordinate ascent searches a line each; AdaRank sorts once by
each, after which a round costs one product of the feature x query table."""


def seconds(name: str, params: dict, train: Collection, vali: Collection) -> tuple[float, int]:
    """(CPU seconds of fit, calls of the callback)."""
    cls, calls = get_model(name), []
    started = time.process_time()
    cls.fit(train, vali, cls.Params(**params), 0, lambda step, **values: calls.append(step))
    return time.process_time() - started, len(calls)


def definition_seconds(train: Collection) -> tuple[float, int]:
    """(CPU seconds of one round of RankBoost by its definition, pairs)."""
    pairs = crucial_pairs(train.labels, train.offsets)
    d = np.full(len(pairs), 1 / len(pairs))
    started = time.process_time()
    for column in train.features.T:
        better, worse = column[pairs.better], column[pairs.worse]
        for threshold in stump_thresholds(column, RankBoostParams().thresholds):
            d @ ((better > threshold).astype(np.float64) - (worse > threshold))
    return time.process_time() - started, len(pairs)


def more_rows(data: Collection, times: int) -> Collection:
    """Every query `times` times."""
    sizes = np.tile(np.diff(data.offsets), times)
    return Collection(
        np.tile(data.features, (times, 1)),
        np.tile(data.labels, times),
        np.r_[0, np.cumsum(sizes)],
        np.arange(len(sizes)),
    )


def more_pairs(data: Collection, times: int) -> Collection:
    """The same rows in queries `times` as long."""
    offsets = np.unique(np.r_[data.offsets[::times], data.offsets[-1]])
    return dataclasses.replace(data, offsets=offsets, qids=np.arange(len(offsets) - 1))


def more_features(data: Collection, times: int) -> Collection:
    """Every feature `times` times."""
    return dataclasses.replace(data, features=np.tile(data.features, (1, times)))


def first_query(data: Collection) -> Collection:
    """A validation part so small that what grows is training."""
    rows = slice(0, data.offsets[1])
    return Collection(data.features[rows], data.labels[rows], data.offsets[:2], data.qids[:1])


def fold_seconds(train: Collection, vali: Collection) -> None:
    for name, params, bar in RUNS:
        took, calls = seconds(name, params, train, vali)
        limit = f"  (at most {bar:.0f} s)" if bar else ""
        print(f"  {name:18} {took:6.2f} s{limit}  {params or ''}, {calls} validated")
    plain, pairs = definition_seconds(train)
    ours = seconds("rankboost", {"rounds": 100}, train, vali)[0] / 100
    print(
        f"  RankBoost round {1000 * ours:.1f} ms; by definition, over {pairs} pairs, {1000 * plain:.0f} ms "
        f"({plain / ours:.0f}x)"
    )


def growth(train: Collection, vali: Collection) -> None:
    print(f"\n{'seconds at':10} {'':18} {'1x':>7} {'2x':>7} {'4x':>7}   2x/1x  4x/1x")
    for title, grow in (("rows", more_rows), ("pairs", more_pairs), ("features", more_features)):
        for name, params in GROWN:
            part = (lambda times: more_features(vali, times)) if title == "features" else (lambda times: vali)
            took = [seconds(name, params, grow(train, times), part(times))[0] for times in (1, 2, 4)]
            shown = " ".join(f"{value:7.2f}" for value in took)
            print(f"{title:10} {name:18} {shown}   {took[1] / took[0]:5.2f}  {took[2] / took[0]:5.2f}")
    print(WHY)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data/parquet/mq2007.parquet"))
    parser.add_argument("--fold", type=int, default=1)
    given = parser.parse_args()
    fold = read_json(given.data.with_suffix(".json"))["folds"][given.fold - 1]
    train, vali = (Collection.read(given.data, fold[split]) for split in ("train", "vali"))
    for name, params in GROWN:  # compilation
        seconds(name, params, first_query(train), first_query(vali))

    print(f"{given.data.stem} fold {given.fold}: {train.rows} rows, {train.features.shape[1]} features")
    fold_seconds(train, vali)
    growth(train, first_query(vali))


if __name__ == "__main__":
    main()
