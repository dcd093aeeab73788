"""The training loop of the neural rankers, for any loss and any scorer.

The scorer and the optimiser run on the device that the parameter `device` selects. Losses and validation run on the
CPU.
Torch is imported inside the functions, because every command that lists the models imports this file.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.data.order import rows_of
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.loss import Loss
from gradrank.training.model import Callback
from gradrank.training.nets.net_params import NeuralParams, ScorerParams, prepare
from gradrank.training.registry import find_scorer
from gradrank.training.training_queries import relative_weights

if TYPE_CHECKING:
    import torch

    from gradrank.data.pairs import Pairs
    from gradrank.training.nets.scorer import Scorer


def train_net(
    train: Collection,
    vali: Collection,
    loss: Loss,
    params: NeuralParams,
    seed: int,
    callback: Callback,
    outputs: int = 1,
) -> Any:
    """Return the exported scorer after the first epoch with the highest `select_by` on `vali`.

    Each step computes the loss of a batch of at most `batch_queries` queries. The gradient of the loss with respect to
    the outputs is divided by the number of queries in the batch, and then propagated backward once. The loss of a query
    is multiplied by the weight of the query, relative to the mean weight. The labels of the loss are `train.targets`,
    which are grades or pairs. Features are standardised by the mean and standard deviation of the training part.

    seed: seed of the initial weights, the order of the queries, and the random numbers of the loss and the scorer.
    outputs: number of outputs per document that the loss requires. Raises GradrankError if scores are not finite or the
    GPU is missing.
    """
    from threadpoolctl import threadpool_limits

    epochs = _epochs(train, vali, loss, params, seed, outputs)
    with threadpool_limits(1, "blas"):  # more threads may change the order of sums
        return best_of(epochs, vali, params.select_by, callback).kept


def _epochs(
    train: Collection, vali: Collection, loss: Loss, params: NeuralParams, seed: int, outputs: int
) -> Iterator[Candidate]:
    """Yield the exported scorer after each epoch."""
    scorer, optimiser = create_scorer(train.features, params, seed, outputs, train.weights)
    weights = relative_weights(train)
    shuffle, draws = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    targets = train.targets
    for epoch in range(1, params.epochs + 1):
        cost = 0.0
        batches = scorer.batches(shuffle, train.offsets, params.batch_queries)
        for number, batch in enumerate(batches):
            scorer.start_step(optimiser, (epoch - 1 + number / len(batches)) / params.epochs)
            rows, offsets = rows_of(batch, train.offsets)
            labels = targets[rows] if isinstance(targets, np.ndarray) else targets.of_queries(batch, train.offsets)
            loss_of_batch = loss if weights is None else partial(loss, weights=weights[batch])
            cost += _step(scorer, optimiser, loss_of_batch, labels, rows, offsets, draws)
        trained = scorer.export()
        scores = trained.scores(vali.features, vali.offsets)
        if not np.isfinite(scores).all():
            raise GradrankError(
                f"training diverged in epoch {epoch}: scores are not finite. Fix: lower learning_rate (now "
                f"{params.learning_rate:g}) or weight_decay (now {params.weight_decay:g})"
            )
        yield Candidate(trained, cost / train.queries, scores)


def _step(
    scorer: "Scorer",
    optimiser: "torch.optim.AdamW",
    loss: Loss,
    labels: "np.ndarray | Pairs",
    rows: np.ndarray,
    offsets: np.ndarray,
    draws: np.random.Generator,
) -> float:
    """Take one optimiser step on a batch of queries, and return the cost of the batch before the step.

    The step uses the mean gradient over the queries. labels: grades of the rows, or the pairs of the batch. rows: row
    numbers of the documents of the queries. offsets: (q+1,) offsets of the queries within `rows`. draws: generator for
    the loss.
    """
    import torch

    outputs = scorer.outputs(rows, offsets)
    values = outputs.detach().cpu().double().numpy()
    cost, gradient = mean_loss(loss, values, labels, offsets, draws)
    optimiser.zero_grad()
    slope = (gradient / (len(offsets) - 1)).astype(np.float32)
    outputs.backward(torch.from_numpy(slope).to(outputs.device))
    optimiser.step()
    return cost


def mean_loss(
    loss: Loss, values: np.ndarray, labels: "np.ndarray | Pairs", offsets: np.ndarray, draws: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Return the cost of the outputs of a batch, or the mean cost of the members, and its gradient.

    values: (n, outputs), or (n, members, outputs). The gradient has the shape of `values`.
    """
    members = values[:, None, :] if values.ndim == 2 else values
    cost, gradient = 0.0, np.empty(members.shape)
    for member in range(members.shape[1]):
        own = members[:, member]
        own_cost, own_gradient = loss(own[:, 0] if own.shape[1] == 1 else own, labels, offsets, rng=draws)
        cost += own_cost / members.shape[1]
        gradient[:, member] = own_gradient.reshape(own.shape) / members.shape[1]
    return cost, gradient.reshape(values.shape)


def create_scorer(
    features: np.ndarray, params: ScorerParams, seed: int, outputs: int = 1, weights: np.ndarray | None = None
) -> "tuple[Scorer, torch.optim.AdamW]":
    """Return a scorer with random weights, and its optimiser, both on the device that `params.device` selects.

    features: (n, d) features of the training part. outputs: number of outputs per document. weights: (n,) weights of
    the documents, or None. Raises GradrankError if the GPU is missing.
    """
    from gradrank.training.nets.scorer import Inputs

    inputs = Inputs.of(features, params, prepare(params.device), weights)
    scorer = find_scorer(params.scorer)(inputs, params, outputs, seed)
    return scorer, scorer.optimiser(params)
