"""The jobs of the ARSM study: trainings with further seeds, a loss per document, and RankSVM with many values of C.

The job of RankSVM asks whether C or an early stop of the solver can give the RankSVM row of LETOR 3.0 on OHSUMED. That
row was computed with SVM^light, which minimises the plain hinge loss on a few pairs at a time. Here, dual coordinate
descent on the plain hinge loss starts from w = 0, visits each pair once in random order, and stops after a given number
of pairs.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.bench.studies.training import train_folds
from gradrank.data.collection import Collection
from gradrank.data.stored import StoredCollection
from gradrank.measures.metrics import compute
from gradrank.training.seeds import job_seed
from gradrank.training.solvers.ranksvm.dual import weights_after_visits
from gradrank.training.solvers.ranksvm.objective import group_by_grade
from gradrank.training.solvers.ranksvm.primal import solve_primal
from studies.arsm.pointwise_training import train_pointwise

METRICS = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map", "p@10")
CONVENTION = "letor3"
ABOUT = ("kind", "dataset", "method", "seed")  # keys of the settings that a training's result also has


def convention_of(dataset: str) -> str:
    """Return the convention of the evaluation program that was published with the collection."""
    return "letor3" if dataset == "ohsumed" else "letor4"


def run_job(settings: Mapping[str, Any], data: Path, seed: int) -> dict[str, Any]:
    """Run one job. settings: one of the values of `training_jobs`. seed: the seed of the run."""
    kind = settings["kind"]
    if kind == "ranksvm":
        return {"kind": kind} | sweep(settings, data, seed)
    convention = convention_of(settings["dataset"])
    measure_folds = train_folds if kind == "repeat" else train_pointwise
    about = {key: settings[key] for key in ABOUT}
    return about | {"folds": measure_folds(settings, data, METRICS, convention)}


def sweep(settings: Mapping[str, Any], data: Path, seed: int) -> dict[str, Any]:
    """Return the means of RankSVM's test values over folds.

    `solved` has one row per C. `stopped` has one row per C, number of visited pairs and order of the pairs.

    settings: `dataset` is the name of a collection in the folder `data`. `exponents` and `stopped` are exponents of 2
    that give C. `visits` are numbers of pairs in ascending order. `orders` is the number of random orders.
    """
    stored = StoredCollection.open(data / settings["dataset"])
    folds = [_fold(stored, parts, settings, seed, number) for number, parts in enumerate(stored.folds, 1)]
    return {name: _over_folds([fold[name] for fold in folds]) for name in ("solved", "stopped")}


def _fold(
    stored: StoredCollection, parts: Mapping[str, Sequence[int]], settings: Mapping[str, Any], seed: int, fold: int
) -> dict[str, list[dict[str, float]]]:
    train, test = (stored.read(parts[split]) for split in ("train", "test"))
    rng = np.random.default_rng(job_seed(seed, settings["dataset"], "ranksvm", fold))
    return {
        "solved": [about | _values(test, w) for about, w in _solved(train, settings["exponents"])],
        "stopped": [about | _values(test, w) for about, w in _stopped(train, settings, rng)],
    }


def _solved(train: Collection, exponents: Sequence[int]) -> Iterator[tuple[dict[str, float], np.ndarray]]:
    """Yield the exponent of C and the optimal weights for the squared hinge loss, in ascending order of C.

    The solver starts from the optimum for the previous C.
    """
    features, grades = train.features.astype(np.float64), group_by_grade(train, "pair")
    w = np.zeros(features.shape[1])
    for exponent in sorted(exponents):
        w = solve_primal(features, grades, 2.0**exponent, w, "l2")
        yield {"exponent": exponent}, w


def _stopped(
    train: Collection, settings: Mapping[str, Any], rng: np.random.Generator
) -> Iterator[tuple[dict[str, float], np.ndarray]]:
    """Yield a description of the run and the weights, for each C, random order and number of visited pairs."""
    features, pairs = train.features.astype(np.float64), train.pairs
    for exponent in settings["stopped"]:
        for order in range(settings["orders"]):
            weights = weights_after_visits(features, pairs.better, pairs.worse, 2.0**exponent, settings["visits"], rng)
            for visits, w in zip(settings["visits"], weights, strict=True):
                yield {"exponent": exponent, "order": order, "visits": visits}, w


def _values(test: Collection, w: np.ndarray) -> dict[str, float]:
    """Return the mean test values of the linear scorer with the weights w."""
    scores = np.einsum("nd,d->n", test.features.astype(np.float64), w)
    values = compute(METRICS, scores, test.labels, test.offsets, CONVENTION)
    return {metric: float(np.mean(values[metric])) for metric in METRICS}


def _over_folds(folds: Sequence[Sequence[Mapping[str, float]]]) -> list[dict[str, float]]:
    """Return each row averaged over the folds. All folds must have the same rows in the same order."""
    return [
        dict(rows[0]) | {metric: float(np.mean([row[metric] for row in rows])) for metric in METRICS}
        for rows in zip(*folds, strict=True)
    ]
