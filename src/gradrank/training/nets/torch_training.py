"""The training loop of the neural rankers: any loss on any scorer, mini-batches of queries, best epoch kept.

Scorer and optimiser are on the device that `device` names; losses, validation and all that is saved are the
CPU's. Torch is imported inside the functions: every command that lists the models imports this file.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.data.row_ranges import row_ranges
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.lookup import find_scorer
from gradrank.training.loss import Loss
from gradrank.training.model import Callback
from gradrank.training.nets.device import prepare
from gradrank.training.nets.net_params import NeuralParams, ScorerParams

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
    """The exported scorer after the epoch with the best `select_by` on `vali`; of equal epochs the first.

    Each step takes `batch_queries` whole queries in an order shuffled by `seed`, divides the gradient on the
    outputs by their number and passes it backward once. Features are standardised by the training part's mean
    and standard deviation. The loss sees `train.targets`, grades or pairs. outputs: of the scorer, as it wants them.
    Raises GradrankError where the scores stop being finite or there is no GPU.
    """
    epochs = _epochs(train, vali, loss, params, seed, outputs)
    return best_of(epochs, vali, params.select_by, callback).kept


def _epochs(
    train: Collection, vali: Collection, loss: Loss, params: NeuralParams, seed: int, outputs: int
) -> Iterator[Candidate]:
    """The exported scorer after each epoch."""
    scorer, optimiser = untrained(train.features, params, seed, outputs)
    shuffle, draws = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    targets = train.targets
    for epoch in range(1, params.epochs + 1):
        cost = 0.0
        for batch in scorer.batches(shuffle, train.offsets, params.batch_queries):
            rows, offsets = rows_of(batch, train.offsets)
            own = targets[rows] if targets is train.labels else targets.of_queries(batch, train.offsets)
            batch_cost = _step(scorer, optimiser, loss, own, rows, offsets, draws)
            cost += batch_cost
        trained = scorer.export()
        scores = trained.scores(vali.features, vali.offsets)
        if not np.isfinite(scores).all():
            raise GradrankError(
                f"training diverged in epoch {epoch}: scores are not finite; lower learning_rate, now "
                f"{params.learning_rate:g}, or weight_decay, now {params.weight_decay:g}"
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
    """One step along the mean gradient of some queries; returns the sum of their costs before it.

    labels: of these rows, as the loss wants them.
    """
    import torch

    outputs = scorer.outputs(rows, offsets)
    values = outputs.detach().cpu().double().numpy()
    cost, gradient = loss(values[:, 0] if values.shape[1] == 1 else values, labels, offsets, rng=draws)
    optimiser.zero_grad()
    slope = (gradient / (len(offsets) - 1)).astype(np.float32).reshape(values.shape)
    outputs.backward(torch.from_numpy(slope).to(outputs.device))
    optimiser.step()
    return cost


def untrained(
    features: np.ndarray, params: ScorerParams, seed: int, outputs: int = 1
) -> "tuple[Scorer, torch.optim.AdamW]":
    """Where training starts, on the device that `params` names.

    features: (n, d) of the training part. params: with `learning_rate` and `weight_decay` besides the scorer's.
    """
    import torch

    from gradrank.training.nets.scorer import Inputs

    inputs = Inputs.of(features, params, prepare(params.device))
    scorer = find_scorer(params.scorer)(inputs, params, outputs, seed)
    # Not the default form on the CPU, which takes roots from MKL: these differ between processors.
    optimiser = torch.optim.AdamW(
        scorer.layers.parameters(), lr=params.learning_rate, weight_decay=params.weight_decay, fused=True
    )
    return scorer, optimiser


def rows_of(queries: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of the given queries' documents, one query after the other, and their own offsets."""
    return row_ranges(offsets[:-1][queries], offsets[1:][queries])
