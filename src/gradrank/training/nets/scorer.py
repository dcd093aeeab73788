"""Scorers during training with torch, and their inputs.

Each scorer has a module in gradrank.training.scorers. The function with the name of this module creates the scorer; its
arguments are (inputs, params, outputs, seed). The layers of a scorer have the steps of the trained net.

The robust scaling of features is that of RealMLP (Holzmüller et al. 2024, section 3).
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch

from gradrank.training.nets.layers import Chain, Layer, ListPadding, Noise, TrainingNoise
from gradrank.training.nets.net import Net, log1p, standardisation, standardised
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.steps import SmoothClip, Steps, run


def quantiles(features: np.ndarray, levels: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the (d, k) quantiles of (n, d) features at (k,) levels, in the type of the features.

    A quantile is the smallest value whose share of rows that are at most as large reaches the level. So a row with the
    weight 2 counts like two equal rows. weights: (n,) weights of the rows. If None, all rows have the same weight.
    """
    shares = np.ones(len(features)) if weights is None else weights.astype(np.float64)
    out = np.empty((features.shape[1], len(levels)), features.dtype)
    for feature, column in enumerate(features.T):
        order = np.argsort(column, kind="stable")
        sums = np.cumsum(shares[order])
        positions = np.searchsorted(sums, levels * sums[-1] * (1.0 - 1e-12))  # less the rounding errors of the sums
        out[feature] = column[order[np.minimum(positions, len(column) - 1)]]
    return out


def robust_standardisation(features: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the (d,) float64 medians and the (d,) float64 interquartile ranges of (n, d) features.

    If the range is 0, half of the difference between the largest and the smallest value is returned instead. If it is
    0, too, 1 is returned. weights: (n,) weights of the rows. If None, all rows have the same weight.
    """
    found = quantiles(features, np.array([0.0, 0.25, 0.5, 0.75, 1.0]), weights)
    lowest, first, median, third, highest = np.ascontiguousarray(found.T, np.float64)
    scale = np.where(third > first, third - first, 0.5 * (highest - lowest))
    return median, np.where(scale > 0.0, scale, 1.0)


LOG_LIMIT = 30.0  # Qin et al. 2021
CLIP = SmoothClip(3.0)  # Holzmüller et al. 2024


class Inputs(NamedTuple):
    """The features of the training part, and the parameters of their preprocessing.

    features: (n, d) float32, not standardised. If there is a `log_limit`, these are the logarithms. mean, scale,
    log_limit: as in nets.net.Net. device: device of the scorer. steps: steps after the standardisation. edges:
    (d, bins+1) float32 quantiles of the preprocessed features for the embedding `piecewise_linear`, or None for other
    embeddings.
    """

    features: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    log_limit: float | None
    device: torch.device
    steps: Steps = ()
    edges: np.ndarray | None = None

    def of_rows(self, rows: np.ndarray) -> torch.Tensor:
        """Return the (n, d) preprocessed features of the documents with the (n,) row numbers `rows`, on the device.

        Each batch is preprocessed when it is needed, because a preprocessed copy of the training part would double the
        memory.
        """
        batch = standardised(self.features[rows], self.mean, self.scale)
        return torch.tensor(run(self.steps, batch[:, :, None])[:, :, 0], device=self.device)

    @classmethod
    def of(
        cls, features: np.ndarray, params: ScorerParams, device: torch.device, weights: np.ndarray | None = None
    ) -> "Inputs":
        """Create the inputs from the (n, d) features of the training part, preprocessed as `params.inputs` states.

        weights: (n,) weights of the documents, or None.
        """
        limit = LOG_LIMIT if params.inputs == "log1p" else None
        features = log1p(features, limit)
        is_robust = params.inputs == "robust"
        mean, scale = (robust_standardisation if is_robust else standardisation)(features, weights)
        steps: Steps = (CLIP,) if is_robust else ()
        edges = None
        if params.embedding == "piecewise_linear":
            prepared = run(steps, standardised(features, mean, scale)[:, :, None])[:, :, 0]
            edges = quantiles(prepared, np.linspace(0.0, 1.0, params.embedding_bins + 1), weights)
        return cls(features, mean, scale, limit, device, steps, edges)


class Scorer:
    """A scorer that `train_net` trains."""

    def __init__(self, inputs: Inputs, layers: Layer, noise: TrainingNoise) -> None:
        """Create a scorer of layers on the preprocessed features. `noise` has the dropout of the layers."""
        self.inputs, self.noise = inputs, noise
        self.layers = Chain(Noise(noise), layers).to(inputs.device)

    def outputs(self, rows: np.ndarray, offsets: np.ndarray | None = None) -> torch.Tensor:
        """Return the (n, outputs) outputs for the documents of the training part with the (n,) row numbers `rows`.

        A scorer with several members returns (n, members, outputs). Each member is then trained on its own loss.

        offsets: (q+1,) offsets of whole queries within `rows`. If None, all rows belong to one query. Scorers that
        process documents independently ignore the offsets.
        """
        outputs = self.layers(self.inputs.of_rows(rows), self.lists(rows, offsets))
        return outputs[:, 0] if outputs.ndim == 3 and outputs.shape[1] == 1 else outputs

    def lists(self, rows: np.ndarray, offsets: np.ndarray | None) -> ListPadding | None:
        """Return the layout of the queries, which only a ListScorer needs."""
        return None

    def export(self) -> Net:
        """Return a copy that scores without torch."""
        inputs = self.inputs
        return Net((*inputs.steps, *self.layers.steps()), inputs.mean, inputs.scale, inputs.log_limit)

    def optimiser(self, params: ScorerParams) -> torch.optim.AdamW:
        """Return the optimiser of the scorer: by default AdamW with equal settings for all layers."""
        return adamw(self.layers.parameters(), params)

    def start_step(self, optimiser: torch.optim.AdamW, progress: float) -> None:
        """Set the values of schedules before an optimiser step. The default has no schedules.

        progress: number of earlier steps divided by the number of all steps.
        """
        del optimiser, progress

    def batches(self, shuffle: np.random.Generator, offsets: np.ndarray, batch_queries: int) -> list[np.ndarray]:
        """Return the query numbers of one epoch in random order, split into batches of at most `batch_queries`."""
        queries = len(offsets) - 1
        return np.array_split(shuffle.permutation(queries), -(-queries // batch_queries))


CELLS = 1 << 20  # maximum of queries x longest x longest per batch, to limit the memory of a step


class ListScorer(Scorer):
    """A scorer whose outputs depend on all documents of a query. Its batches contain queries of similar length."""

    def lists(self, rows: np.ndarray, offsets: np.ndarray | None) -> ListPadding:
        return ListPadding.of(np.array([0, len(rows)]) if offsets is None else offsets, self.inputs.device)

    def batches(self, shuffle: np.random.Generator, offsets: np.ndarray, batch_queries: int) -> list[np.ndarray]:
        """Return the batches of an epoch in random order. Each batch is an array of query numbers.

        The queries of a batch have similar lengths, and queries of equal length are in random order. A batch has at
        most `batch_queries` queries. Unless a batch is a single query, queries x longest x longest is at most CELLS,
        where `longest` is the length of the longest query of the batch.
        """
        sizes = np.diff(offsets)
        queries = shuffle.permutation(len(sizes))
        queries = queries[np.argsort(sizes[queries], kind="stable")]
        starts = [0]
        for at, query in enumerate(queries):
            count = at - starts[-1] + 1
            if count > batch_queries or (count > 1 and count * int(sizes[query]) ** 2 > CELLS):
                starts.append(at)
        shares = [queries[a:b] for a, b in pairwise([*starts, len(queries)])]
        return [shares[i] for i in shuffle.permutation(len(shares))]


def adamw(parameters: Iterable[Any], params: ScorerParams, beta2: float = 0.999) -> torch.optim.AdamW:
    """Return AdamW with the learning rate and the weight decay of `params`.

    parameters: parameters, or dicts with parameters and their own settings. beta2: decay of the squared gradients.
    """
    # fused=True, because the default on the CPU uses the square roots of MKL, which differ between processors.
    return torch.optim.AdamW(
        parameters, lr=params.learning_rate, betas=(0.9, beta2), weight_decay=params.weight_decay, fused=True
    )
