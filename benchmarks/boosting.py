"""Measure the seconds of RankBoost, AdaRank and coordinate ascent on one fold, and their growth.

python benchmarks/boosting.py [--data data/parquet/mq2007] [--fold 1]

CPU seconds of one thread, which a busy machine does not lengthen. Validation after every round is included,
compilation is not. "By definition" is RankBoost's round as published, over explicit pairs and all thresholds, in
NumPy. For comparison, RankLib (Java) on MQ2007 fold 1 and a similar core took 40 s for RankBoost, 10 s for AdaRank
and 108 s for coordinate ascent.
"""

from fold import first_queries, growth, read_fold, seconds  # before numpy

# isort: split
import time

import numpy as np

from gradrank.data.collection import Collection
from gradrank.data.pairs import crucial_pairs
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
rows: linear, because a round is one pass over documents (and, for RankBoost, over their bins).
pairs (the same rows in queries 2 and 4 times as long): no list of pairs is formed. RankBoost sums over grades; the
others sort, n log n in the length of a query. Longer queries more often have a pair, so that fewer are left out.
features: RankBoost fills one histogram per feature, and coordinate ascent makes one line search per feature. AdaRank
sorts once by each feature; after that, a round costs one product of the feature x query table."""


def definition_seconds(train: Collection) -> tuple[float, int]:
    """Return (CPU seconds of one round of RankBoost by its definition, number of pairs)."""
    pairs = crucial_pairs(train.labels, train.offsets)
    d = np.full(len(pairs), 1 / len(pairs))
    started = time.process_time()
    for column in train.features.T:
        better, worse = column[pairs.better], column[pairs.worse]
        for threshold in stump_thresholds(column, RankBoostParams().thresholds):
            d @ ((better > threshold).astype(np.float64) - (worse > threshold))
    return time.process_time() - started, len(pairs)


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


def main() -> None:
    train, vali = read_fold(__doc__)
    for name, params in GROWN:  # compilation
        seconds(name, params, first_queries(train, 1), first_queries(vali, 1))
    fold_seconds(train, vali)
    growth(("rows", "pairs", "features"), GROWN, train, vali)
    print(WHY)


if __name__ == "__main__":
    main()
