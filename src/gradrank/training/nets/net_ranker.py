"""The base class of models that consist of one trained net."""

from pathlib import Path
from typing import ClassVar, Protocol, Self

import numpy as np

from gradrank.training.model import Model, P
from gradrank.training.model_files import check_width
from gradrank.training.scoring_form import AttentionForm, Combined, NetForm, NoScoringForm, ScoringForm, StepsForm


class TrainedNet(Protocol):
    """A trained net that scores without torch: Net, AttentionNet or StepNet.

    scores_whole_queries: True if the output for a document depends on the other documents of its query.
    """

    scores_whole_queries: ClassVar[bool]

    @property
    def mean(self) -> np.ndarray:
        """The (d,) means of the features."""
        ...

    def outputs(self, features: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        """Return the (n, outputs) outputs for (n, d) features.

        offsets: (q+1,) offsets of the queries. If None, all rows belong to one query.
        """
        ...

    def scores(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the (n,) float64 scores for (n, d) features and (q+1,) offsets."""
        ...

    def save(self, path: Path) -> None:
        """Write the net to a safetensors file."""
        ...


class NetRanker(Model[P]):
    """A model that consists of one trained net, stored in net.safetensors."""

    def __init__(self, net: TrainedNet) -> None:
        self.net = net

    @property
    def scores_whole_queries(self) -> bool:
        return self.net.scores_whole_queries

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return self.net.scores(features, offsets)

    def scoring_form(self, features: int) -> ScoringForm:
        form = self.outputs_form()
        if form.outputs == 1:
            return form
        members = form.net.members if isinstance(form, StepsForm) else 1
        rule = "logistic" if form.outputs > members else "sum"  # as in combine_outputs and StepNet.scores
        return Combined((form,), np.full(form.outputs, 1.0 / members), rule)

    def outputs_form(self) -> NetForm | AttentionForm | StepsForm:
        """Return the form of the outputs of the net, before they are combined to one score."""
        from gradrank.training.nets.attention_net import AttentionNet
        from gradrank.training.nets.net import Net
        from gradrank.training.nets.step_net import StepNet

        if isinstance(self.net, AttentionNet):
            return AttentionForm(self.net)
        if isinstance(self.net, StepNet):
            return StepsForm(self.net)
        if isinstance(self.net, Net):
            return NetForm(self.net)
        raise NoScoringForm(f"the class {type(self.net).__name__} is not Net, AttentionNet or StepNet")

    def save(self, folder: Path) -> None:
        self.net.save(folder / "net.safetensors")

    @classmethod
    def load(cls, folder: Path) -> Self:
        from gradrank.training.nets.net_files import load_net

        return cls(load_net(folder / "net.safetensors"))

    def check_width(self, features: int) -> None:
        check_width("net.safetensors", len(self.net.mean), features)
