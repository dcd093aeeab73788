"""The jobs of the ARSM study: trainings with further seeds, a loss per document, and RankSVM with many values of C.

The job of RankSVM asks whether C or an early stop of the solver can give the RankSVM row of LETOR 3.0 on OHSUMED. That
row was computed with SVM^light, which minimises the plain hinge loss on a few pairs at a time. Here, dual coordinate
descent on the plain hinge loss starts from w = 0, visits each pair once in random order, and stops after a given number
of pairs.

The net of ARSM-L2R is also trained with a loss per document. A document has a grade y and a level z in 1..C. The loss
is the squared difference of y and z, both scaled to [0, 1]. The expected loss of a query is the sum of the expected
losses of its documents, and its gradient has a closed form:

    dE[loss]/dphi_c = p_c (l_c - sum_k p_k l_k), where l_c is the loss of level c.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.bench.folds.test_part_guard import guard_test_part
from gradrank.bench.studies.training import fold_result, train_folds
from gradrank.data.collection import Collection
from gradrank.data.order import rows_of
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import resolve
from gradrank.measures.metrics import compute
from gradrank.models.arsm import ARSM, ARSMParams, TanhNet
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.fit import job_seed
from gradrank.training.nets.net import Net, standardisation, standardised
from gradrank.training.solvers.adam import Adam, Average
from gradrank.training.solvers.ranksvm import group_by_grade, solve_primal, weights_after_visits


def train_pointwise(
    settings: Mapping[str, Any], data: Path, metrics: Sequence[str], convention: str
) -> list[dict[str, Any]]:
    """Train the net on each fold, and return the values of the test queries, as `train_folds` does.

    settings: the settings of a training of ARSM. Everything but the loss is as in that training.
    """
    from threadpoolctl import threadpool_limits

    stored, params = StoredCollection.open(data / settings["dataset"]), ARSMParams(**settings["params"])
    selection, folds = resolve(settings["convention"]), []
    for number, parts in enumerate(stored.folds, start=1):
        train, vali = (replace(stored.read(parts[split]), convention=selection) for split in ("train", "vali"))
        seed = job_seed(settings["seed"], settings["dataset"], "pointwise", number)
        test_files = [stored.part_file(part) for part in parts["test"]]
        # With more threads in BLAS, sums would be computed in a different order.
        with threadpool_limits(1, "blas"), guard_test_part(test_files, "pointwise"):
            candidates = epochs(train, params, seed)
            model = best_of(candidates, vali, params.select_by, lambda *_, **__: None, params.patience).kept
        test = stored.read(parts["test"])
        values = compute(metrics, model.score(test.features, test.offsets), test.labels, test.offsets, convention)
        folds.append(fold_result(test.qids, values))
    return folds


def epochs(train: Collection, params: ARSMParams, seed: int) -> Iterator[Candidate]:
    """Yield one candidate per epoch, with the mean expected loss per document."""
    mean, scale = standardisation(train.features, train.weights)
    features, losses = standardised(train.features, mean, scale), level_losses(train.labels, params.levels)
    rng = np.random.default_rng(seed)
    net = TanhNet(features.shape[1], params.hidden, params.levels, rng)
    adam = Adam(net.parameters, params.learning_rate)
    steps = -(-train.queries // params.batch_queries)
    passes = -(-params.least_steps // steps)
    average = Average(net.parameters, max(1.0, params.averaged * passes * steps))
    for _ in range(params.epochs):
        total = 0.0
        for _ in range(passes):
            for batch in np.array_split(rng.permutation(train.queries), steps):
                rows, _ = rows_of(batch, train.offsets)
                value, gradient = expected_loss(net.forward(features[rows]), losses[rows])
                adam.step(net.backward((gradient / len(batch)).astype(np.float32)))
                average.step()
                total += value
        parameters = [p.copy() for p in average.means]
        trained = Net.of_layers(parameters[::2], parameters[1::2], mean, scale, "tanh")
        yield Candidate(ARSM(trained), total / (passes * train.rows))


def level_losses(labels: np.ndarray, levels: int) -> np.ndarray:
    """Return the (n, C) loss of each level of each document. labels: (n,) grades."""
    return (np.linspace(0.0, 1.0, levels) - (labels / max(labels.max(), 1))[:, None]) ** 2


def expected_loss(phi: np.ndarray, losses: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the expected loss, summed over documents, and its (n, C) gradient with respect to phi.

    phi: (n, C) outputs. losses: (n, C), from `level_losses`.
    """
    p = np.exp(phi - phi.max(axis=1, keepdims=True).astype(np.float64))
    p /= p.sum(axis=1, keepdims=True)
    expected = (p * losses).sum(axis=1, keepdims=True)
    return float(expected.sum()), p * (losses - expected)


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
