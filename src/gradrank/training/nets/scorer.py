"""A scorer while torch trains it: features on the device, outputs of whole queries, arrays when it is exported.

gradrank.training.scorers has a function a scorer, `name(inputs, params, outputs, seed)`, which makes one.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import torch

from gradrank.training.nets.net import log1p, standardisation, standardised
from gradrank.training.nets.net_params import ScorerParams

LOG_LIMIT = 30.0  # Qin et al. 2021


class Inputs(NamedTuple):
    """The training part's features as scorers take them, and how new ones become alike.

    features: (n, d) float32, standardised, on the device. mean, scale: (d,). log_limit: as of nets.Net.
    """

    features: torch.Tensor
    mean: np.ndarray
    scale: np.ndarray
    log_limit: float | None

    @classmethod
    def of(cls, features: np.ndarray, params: ScorerParams, device: torch.device) -> "Inputs":
        limit = LOG_LIMIT if params.inputs == "log1p" else None
        features = log1p(features, limit)
        mean, scale = standardisation(features)
        prepared = torch.from_numpy(standardised(features, mean, scale)).to(device)
        return cls(prepared, mean, scale, limit)


class Chance(torch.nn.Module):
    """Dropout and noise while training, from a stream of their own: torch's generator stays untouched."""

    def __init__(self, dropout: float, noise: float, seed: int) -> None:
        super().__init__()
        self.dropout, self.noise = dropout, noise
        self.generator = torch.Generator().manual_seed(seed + 1)  # weights are drawn with `seed`

    def drop(self, x: torch.Tensor) -> torch.Tensor:
        """`x` with a share `dropout` of its numbers 0, and the others raised to make up for them."""
        if not (self.training and self.dropout):
            return x
        kept = torch.empty(x.shape).bernoulli_(1.0 - self.dropout, generator=self.generator)
        return x * (kept / (1.0 - self.dropout)).to(x.device)

    def disturb(self, x: torch.Tensor) -> torch.Tensor:
        """`x` plus normal noise."""
        if not (self.training and self.noise):
            return x
        return x + self.noise * torch.randn(x.shape, generator=self.generator).to(x.device)


class Scorer(ABC):
    """What `train_net` trains. `layers` holds every parameter."""

    inputs: Inputs
    layers: torch.nn.Module

    @abstractmethod
    def outputs(self, rows: np.ndarray, offsets: np.ndarray | None = None) -> torch.Tensor:
        """(n, outputs) of the training part's rows (n,).

        offsets: (q+1,), into the rows, of the whole queries that they are; a scorer of single documents needs none.
        """

    @abstractmethod
    def export(self) -> Any:
        """A copy that scores without torch: an object with `scores(features, offsets)`, `save` and `load`."""

    def batches(self, shuffle: np.random.Generator, offsets: np.ndarray, batch_queries: int) -> list[np.ndarray]:
        """An epoch's queries, in shares of at most `batch_queries`."""
        queries = len(offsets) - 1
        return np.array_split(shuffle.permutation(queries), -(-queries // batch_queries))
