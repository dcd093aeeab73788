"""The base class of the neural rankers, each of which combines a loss and a scorer.

A neural ranker is a few lines in gradrank/models: parameters with the defaults of its paper, a summary and a search
space. The loss and the scorer are parameters, and all combinations are valid. If `loss` is not the default loss of the
model, the settings of the loss are those of the loss's own paper.
"""

from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any, Self, TypeVar

from gradrank.data.collection import Collection
from gradrank.training.loss import Loss
from gradrank.training.model import Callback, LabelReading, param
from gradrank.training.nets.net_params import NeuralParams
from gradrank.training.nets.net_ranker import NetRanker
from gradrank.training.nets.torch_training import train_net
from gradrank.training.registry import find_loss, loss_names
from gradrank.training.search_space import Choice, Dimension, LogUniform, Uniform
from gradrank.training.training_queries import with_grades_to_order, with_pairs_to_order


def own_loss(name: str) -> str:
    """Return the field for the parameter `loss` of a neural ranker, with the default `name`."""
    others = ", ".join(loss_names())
    return param(name, f"the model's own; other losses have the settings of their papers, not the model's: {others}")


# The search space of the training, for any loss. Models add the parameters of their losses.
TRAINING: dict[str, Dimension] = {
    "learning_rate": LogUniform(1e-4, 1e-2, "a factor of 10 around Adam's default of 1e-3"),
    "weight_decay": LogUniform(1e-3, 10.0, "from below torch's default to above the value chosen on MQ2007"),
    "dropout": Uniform(0.0, 0.5, "Srivastava et al. 2014, section A.4: up to 0.5"),
}
NET: dict[str, Dimension] = TRAINING | {
    "hidden": Choice(((32,), (64,), (128,), (64, 32)), "around the 64 of ranknet_two_layer"),
    "norm": Choice(("none", "batch", "layer"), "all norms"),
    "activation": Choice(("relu", "tanh"), "the common choice today, and that of Burges et al. 2005"),
}
# The defaults of torch's Adam and AdamW. Models whose own defaults were chosen on MQ2007 list them as `published`.
LIBRARY: dict[str, Any] = {"learning_rate": 1e-3, "weight_decay": 0.01}
ATTENTION: dict[str, Dimension] = TRAINING | {
    "width": Choice((32, 64), "allRank: 144 on MSLR-WEB30K, which has three times as many features"),
    "heads": Choice((1, 2, 4), "allRank: 2 to 4"),
    "blocks": Choice((1, 2), "allRank: 2 to 4, with fifty times as many documents as MQ2007"),
}


N = TypeVar("N", bound=NeuralParams)


class NeuralRanker(NetRanker[N]):
    """A model that consists of one trained scorer. `Params` has a field for each setting of its default loss."""

    Params = NeuralParams
    uses_weights = "queries"
    requires = ("torch",)
    extra = "nets"

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: N, seed: int, callback: Callback) -> Self:
        function, loss = find_loss(params.loss), cls.bound_loss(params)
        if function.on_pairs:
            train = with_pairs_to_order(train, cls.name)
            loss = partial(loss, ties=train.ties)
        else:
            train = with_grades_to_order(train, cls.name)
            loss = partial(loss, **function.gain_setting(train))
            train = replace(train, labels=function.labels_of(train))
        outputs = function.outputs(train.labels)
        return cls(train_net(train, vali, loss, params, seed, callback, outputs))

    @classmethod
    def label_reading(cls, params: N) -> LabelReading:
        return find_loss(params.loss).reads_labels

    @classmethod
    def bound_loss(cls, params: N) -> Loss:
        """Return the loss that `params` selects.

        If this loss is the default loss of the model, its settings are taken from `params`. Otherwise, the loss has the
        default settings of its own paper.
        """
        function = find_loss(params.loss)
        if params.loss != cls.Params.model_fields["loss"].default:
            return function
        settings = signature(function).parameters.keys() & cls.Params.model_fields.keys()
        return partial(function, **{name: getattr(params, name) for name in settings})
