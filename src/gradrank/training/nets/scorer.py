"""The interface of scorers during training with torch, and the inputs, the dropout and the noise of scorers.

Each scorer has a module in gradrank.training.scorers. The function with the name of this module creates the scorer; its
arguments are (inputs, params, outputs, seed). A trained scorer is exported as NumPy arrays.

The robust scaling of features is that of RealMLP (Holzmüller et al. 2024, section 3).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import torch

from gradrank.training.nets.net import log1p, standardisation, standardised
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.steps import SmoothClip, Steps, run_on_features


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
        return torch.tensor(run_on_features(self.steps, batch), device=self.device)

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
            prepared = run_on_features(steps, standardised(features, mean, scale))
            edges = quantiles(prepared, np.linspace(0.0, 1.0, params.embedding_bins + 1), weights)
        return cls(features, mean, scale, limit, device, steps, edges)


class TrainingNoise(torch.nn.Module):
    """Dropout and Gaussian noise during training. The random numbers come from a NumPy generator."""

    def __init__(self, dropout: float, noise: float, seed: int) -> None:
        super().__init__()
        self.dropout, self.noise = dropout, noise
        self.generator = np.random.default_rng([seed, 2])  # torch_training uses `seed` and [seed, 1]

    def drop(self, x: torch.Tensor) -> torch.Tensor:
        """Return `x` after dropout.

        Each number becomes 0 with probability `dropout`, and is otherwise divided by 1 - dropout. Outside training, `x`
        is returned unchanged.
        """
        if not (self.training and self.dropout):
            return x
        kept = self.generator.random(x.shape, np.float32) >= self.dropout  # 5 times as fast as torch's bernoulli_
        return x * torch.from_numpy(kept * np.float32(1.0 / (1.0 - self.dropout))).to(x.device)

    def add_noise(self, x: torch.Tensor) -> torch.Tensor:
        """Return `x` plus normal noise with standard deviation `noise`. Outside training, no noise is added."""
        if not (self.training and self.noise):
            return x
        draws = self.generator.standard_normal(x.shape, np.float32)
        return x + self.noise * torch.from_numpy(draws).to(x.device)


class Scorer(ABC):
    """A scorer that `train_net` trains. `layers` contains all parameters."""

    inputs: Inputs
    layers: torch.nn.Module

    @abstractmethod
    def outputs(self, rows: np.ndarray, offsets: np.ndarray | None = None) -> torch.Tensor:
        """Return the (n, outputs) outputs for the documents of the training part with the (n,) row numbers `rows`.

        A scorer with several members returns (n, members, outputs). Each member is then trained on its own loss.

        offsets: (q+1,) offsets of whole queries within `rows`. If None, all rows belong to one query. Scorers that
        process documents independently ignore the offsets.
        """

    @abstractmethod
    def export(self) -> Any:
        """Return a copy that scores without torch: a Net, an AttentionNet or a StepNet."""

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


def adamw(parameters: Iterable[Any], params: ScorerParams, beta2: float = 0.999) -> torch.optim.AdamW:
    """Return AdamW with the learning rate and the weight decay of `params`.

    parameters: parameters, or dicts with parameters and their own settings. beta2: decay of the squared gradients.
    """
    # fused=True, because the default on the CPU uses the square roots of MKL, which differ between processors.
    return torch.optim.AdamW(
        parameters, lr=params.learning_rate, betas=(0.9, beta2), weight_decay=params.weight_decay, fused=True
    )
