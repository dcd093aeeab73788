"""The base class of models that consist of one trained net."""

from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from gradrank.training.model import Model, P
from gradrank.training.model_files import check_width
from gradrank.training.scoring_form import Combined, NetForm, ScoringForm

if TYPE_CHECKING:
    from gradrank.training.nets.net import Net


class NetRanker(Model[P]):
    """A model that consists of one trained net, stored in net.safetensors."""

    def __init__(self, net: "Net") -> None:
        self.net = net

    @property
    def scores_whole_queries(self) -> bool:
        return self.net.scores_whole_queries

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return self.net.scores(features, offsets)

    def scoring_form(self, features: int) -> ScoringForm:
        form, (members, outputs) = NetForm(self.net), self.net.shape
        if members == outputs == 1:
            return form
        rule = "logistic" if outputs > 1 else "sum"  # as in Net.scores
        return Combined((form,), np.full(form.outputs, 1.0 / members), rule)

    def save(self, folder: Path) -> None:
        self.net.save(folder / "net.safetensors")

    @classmethod
    def load(cls, folder: Path) -> Self:
        from gradrank.training.nets.net_files import load_net

        return cls(load_net(folder / "net.safetensors"))

    def check_width(self, features: int) -> None:
        check_width("net.safetensors", len(self.net.mean), features)
