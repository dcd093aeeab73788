"""The net of ARSM-L2R, trained with a loss per document instead of a ranking measure.

A document has a grade y and a level z in 1..C. The loss is the squared difference of y and z, both scaled to [0, 1].
The expected loss of a query is the sum of the expected losses of its documents, and its gradient has a closed form:

    dE[loss]/dphi_c = p_c (l_c - sum_k p_k l_k), where l_c is the loss of level c.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.bench.folds.test_part_guard import guard_test_part
from gradrank.bench.studies.training import fold_result
from gradrank.data.collection import Collection
from gradrank.data.row_ranges import rows_of
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import resolve
from gradrank.measures.metrics import compute
from gradrank.models.arsm import ARSM, ARSMParams
from gradrank.models.arsm.tanh_net import TanhNet
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.nets.net import Net, standardisation, standardised
from gradrank.training.seeds import job_seed
from gradrank.training.solvers.adam import Adam, Average


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
        trained = Net(parameters[::2], parameters[1::2], mean, scale, "tanh")
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
