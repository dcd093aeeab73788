"""The neural rankers: one family, of which a member names a loss and a scorer.

A member is a few lines in gradrank/models: parameters with its paper's defaults, a summary, a space. Loss and scorer
are parameters themselves and combine freely: another loss than a member's own comes with its paper's settings.
"""

from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, Self, TypeVar

from gradrank.data.collection import Collection
from gradrank.training.lookup import find_loss, loss_names
from gradrank.training.loss import Loss
from gradrank.training.model import Callback, param
from gradrank.training.nets.net_params import NeuralParams
from gradrank.training.nets.net_ranker import NetRanker
from gradrank.training.nets.torch_training import train_net
from gradrank.training.search_space import Choice, Dimension, LogUniform, Uniform
from gradrank.training.training_queries import with_grades_to_order, with_pairs_to_order


def own_loss(name: str) -> str:
    """The `loss` of a member's parameters."""
    others = ", ".join(loss_names())
    return param(name, f"its own; another one has the settings of its paper, not the model's: {others}")


# What training may vary whatever the loss; a member adds its loss's own.
TRAINING: dict[str, Dimension] = {
    "learning_rate": LogUniform(1e-4, 1e-2, "a decade about Adam's default on either side"),
    "weight_decay": LogUniform(1e-3, 10.0, "from below torch's default to what validation chose on MQ2007"),
    "dropout": Uniform(0.0, 0.5, "Srivastava et al. 2014, section A.4: up to one half"),
}
NET: dict[str, Dimension] = TRAINING | {
    "hidden": Choice(((32,), (64,), (128,), (64, 32)), "around the 64 of the other nets here"),
    "norm": Choice(("none", "batch", "layer"), "all there are"),
    "activation": Choice(("relu", "tanh"), "today's, and the 2005 paper's"),
}
# Of Adam and AdamW (torch): for the members whose defaults were chosen on MQ2007.
LIBRARY: dict[str, Any] = {"learning_rate": 1e-3, "weight_decay": 0.01}
ATTENTION: dict[str, Dimension] = TRAINING | {
    "width": Choice((32, 64), "allRank on MSLR-WEB30K, three times as many features as LETOR's: 144"),
    "heads": Choice((1, 2, 4), "allRank: 2 to 4"),
    "blocks": Choice((1, 2), "allRank: 2 to 4, on fifty times as many documents as MQ2007 has"),
}


N = TypeVar("N", bound=NeuralParams)


class NeuralRanker(NetRanker[N]):
    """A trained scorer. `Params.loss` by default is the member's own, whose settings are fields of `Params`."""

    Params = NeuralParams

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: N, seed: int, callback: Callback) -> Self:
        function, loss = find_loss(params.loss), cls.bound_loss(params)
        if function.on_pairs:
            train = with_pairs_to_order(train, cls.name)
            loss = partial(loss, ties=train.ties)
        else:
            train = with_grades_to_order(train, cls.name)
        outputs = function.outputs(train.labels)
        return cls(train_net(train, vali, loss, params, seed, callback, outputs))

    @classmethod
    def bound_loss(cls, params: N) -> Loss:
        """The loss that `params` names, with its settings where it is the member's own."""
        function = find_loss(params.loss)
        if params.loss != cls.Params.model_fields["loss"].default:
            return function
        own = signature(function).parameters.keys() & cls.Params.model_fields.keys()
        return partial(function, **{name: getattr(params, name) for name in own})

    @classmethod
    def load(cls, folder: Path) -> Self:
        from gradrank.training.nets.attention_net import load_net

        return cls(load_net(folder / "net.safetensors"))
