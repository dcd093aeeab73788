"""RankSVM solved to the end for many C, and stopped before it: is LETOR 3.0's OHSUMED row C's, or the solver's?

That row's program is SVM^light: plain hinge, a working set of a few pairs at a time. Stopped early, dual coordinate
descent stands for it: after so many pairs, visited once each in a random order, from w = 0.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.data.collection import Collection
from gradrank.data.stored import StoredCollection
from gradrank.evaluation.metrics import compute
from gradrank.training.seeds import job_seed
from gradrank.training.solvers.ranksvm.dual import visited
from gradrank.training.solvers.ranksvm.objective import group_by_grade
from gradrank.training.solvers.ranksvm.primal import solve_primal

METRICS = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map", "p@10")
CONVENTION = "letor3"


def run_job(told: Mapping[str, Any], data: Path, seed: int) -> dict[str, Any]:
    """Test values, means over folds: `solved`, a row a C, and `stopped`, a row a C, number of visits and order.

    told: `dataset`, a collection of the folder `data`; `exponents` and `stopped` of 2 in C; `visits`, ascending;
    `orders`, how many.
    """
    stored = StoredCollection.open(data / told["dataset"])
    folds = [_fold(stored, parts, told, seed, number) for number, parts in enumerate(stored.folds, 1)]
    return {name: _over_folds([fold[name] for fold in folds]) for name in ("solved", "stopped")}


def _fold(
    stored: StoredCollection, parts: Mapping[str, Sequence[int]], told: Mapping[str, Any], seed: int, fold: int
) -> dict[str, list[dict[str, float]]]:
    train, test = (stored.read(parts[split]) for split in ("train", "test"))
    rng = np.random.default_rng(job_seed(seed, told["dataset"], "ranksvm", fold))
    return {
        "solved": [about | _values(test, w) for about, w in _solved(train, told["exponents"])],
        "stopped": [about | _values(test, w) for about, w in _stopped(train, told, rng)],
    }


def _solved(train: Collection, exponents: Sequence[int]) -> Iterator[tuple[dict[str, float], np.ndarray]]:
    """The optimum of the squared hinge, where the search for the next one starts."""
    features, grades = train.features.astype(np.float64), group_by_grade(train, "pair")
    w = np.zeros(features.shape[1])
    for exponent in sorted(exponents):
        w = solve_primal(features, grades, 2.0**exponent, w, "l2")
        yield {"exponent": exponent}, w


def _stopped(
    train: Collection, told: Mapping[str, Any], rng: np.random.Generator
) -> Iterator[tuple[dict[str, float], np.ndarray]]:
    features, pairs = train.features.astype(np.float64), train.pairs
    for exponent in told["stopped"]:
        for order in range(told["orders"]):
            weights = visited(features, pairs.better, pairs.worse, 2.0**exponent, told["visits"], rng)
            for visits, w in zip(told["visits"], weights, strict=True):
                yield {"exponent": exponent, "order": order, "visits": visits}, w


def _values(test: Collection, w: np.ndarray) -> dict[str, float]:
    scores = np.einsum("nd,d->n", test.features.astype(np.float64), w)
    found = compute(METRICS, scores, test.labels, test.offsets, CONVENTION)
    return {metric: float(np.mean(found[metric])) for metric in METRICS}


def _over_folds(folds: Sequence[Sequence[Mapping[str, float]]]) -> list[dict[str, float]]:
    """The means of rows that every fold has in the same order."""
    return [
        dict(rows[0]) | {metric: float(np.mean([row[metric] for row in rows])) for metric in METRICS}
        for rows in zip(*folds, strict=True)
    ]
