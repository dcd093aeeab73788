"""Measure the seconds of PRank, OAP-BPM and RankProp on one fold, and their growth.

python benchmarks/prank.py [--data data/parquet/mq2007] [--fold 1]

CPU seconds of one thread, which a busy machine does not lengthen. Validation after every epoch is included,
compilation is not. "support documents" is kernel PRank in its dual form, in NumPy: each document is scored against
all documents with an earlier error.
"""

from fold import first_queries, growth, read_fold, seconds  # before numpy

# isort: split
import time

import numpy as np

from gradrank.data.collection import Collection
from gradrank.models.prank import PRankKernel, feature_unit
from gradrank.training.solvers.perceptron import move_thresholds, prank_epoch

FULL = {"epochs": 100, "patience": 100}
RUNS = [
    ("prank", FULL, 3.0),
    ("prank_quadratic", FULL, None),
    ("prank_kernel", FULL, None),
    ("oap_bpm", FULL | {"tau": [0.3]}, 60.0),
    ("rankprop", FULL, None),
    ("prank", {}, None),
    ("prank_quadratic", {}, None),
    ("prank_kernel", {}, None),
    ("oap_bpm", {}, None),
    ("rankprop", {}, None),
]
TEN = {"epochs": 10, "patience": 10}
GROWN = [("prank", TEN), ("prank_quadratic", TEN), ("oap_bpm", TEN | {"tau": [0.3]}), ("rankprop", TEN)]
WHY = """
rows: linear, because documents are processed one by one. Linear PRank is so fast that more time goes into reading rows,
which come in random order, if they do not fit the processor's cache.
pairs: no pairs are formed, and the length of a query has no effect.
features: PRank and OAP-BPM take d operations per document. Drawing the order and the N coins does not grow. The
quadratic models take d^2/2 operations, and RankProp d x hidden. RankProp also sorts all outputs once per epoch."""


def dual_epoch(x: np.ndarray, grades: np.ndarray, coef0: float) -> int:
    """Run one epoch of kernel PRank over (n, d) documents in file order; return the number of support documents."""
    kept, moves, thresholds = np.empty_like(x), np.empty(len(x)), np.zeros(grades.max())
    support = 0
    for document, grade in zip(x, grades, strict=True):
        score = ((kept[:support] @ document + coef0) ** 2) @ moves[:support]
        move, _ = move_thresholds(score, grade, thresholds)
        if move:
            kept[support], moves[support] = document, move
            support += 1
    return support


def kernel_seconds(train: Collection) -> None:
    """Print the seconds of both forms of kernel PRank over the first n documents in file order, for growing n."""
    unit = feature_unit(train.features)
    squared_scale = PRankKernel.squared_scale(len(unit), PRankKernel.Params())
    print("\nkernel PRank, one epoch     as a matrix   as support documents")
    for n in (2500, 5000, 10000, 20000):
        weights, thresholds = np.zeros_like(squared_scale), np.zeros(train.labels[:n].max())
        started = time.process_time()
        prank_epoch(train.features, unit, train.labels, np.arange(n), squared_scale, weights, thresholds)
        matrix = time.process_time()
        support = dual_epoch(train.features[:n] * unit, train.labels[:n], 1.0)
        dual = time.process_time() - matrix
        print(f"  {n:6} documents       {matrix - started:9.3f} s {dual:12.3f} s   {support} kept")


def main() -> None:
    train, vali = read_fold(__doc__)
    for name, params in GROWN:  # compilation
        seconds(name, params, first_queries(train, 1), first_queries(vali, 1))
    for name, params, bar in RUNS:
        took, epochs = seconds(name, params, train, vali)
        limit = f"  (at most {bar:.0f} s)" if bar else ""
        print(f"  {name:16} {took:6.2f} s{limit}  {params or 'as shipped'}, {epochs} epochs")
    kernel_seconds(train)
    growth(("rows", "features"), GROWN, train, vali)
    print(WHY)


if __name__ == "__main__":
    main()
