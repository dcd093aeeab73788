"""Models that are one trained net."""

from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from gradrank.training.model import Model, P

if TYPE_CHECKING:
    from gradrank.training.nets.net import Net


class NetRanker(Model[P]):
    """A model that is one trained net."""

    def __init__(self, net: "Net") -> None:
        self.net = net

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return self.net.scores(features, offsets)

    def save(self, folder: Path) -> None:
        self.net.save(folder / "net.safetensors")

    @classmethod
    def load(cls, folder: Path) -> Self:
        from gradrank.training.nets.net import Net

        return cls(Net.load(folder / "net.safetensors"))
