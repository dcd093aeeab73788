"""Training of models that learn the position bias from the lists of sessions.

Each function trains a registered class of models, so the results are saved, exported and explained as its others are.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradrank.base.errors import GradrankError, require
from gradrank.base.processor import thread_count
from gradrank.clicks.dual_learning import DualSoftmax
from gradrank.clicks.pairwise_debiasing import PairwiseDebiasing
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, Model


@dataclass(frozen=True, eq=False)
class SessionPart:
    """The training part of `train_on_sessions`.

    collection: the documents of the lists, in the order of their positions. The labels are 0 without a click, and the
    weights are those of the lists. places: (n,) positions, from 0. regularization: see `train_on_sessions`.
    """

    collection: Collection
    places: np.ndarray
    regularization: float | None = None

    @property
    def clicks(self) -> np.ndarray:
        """The (n,) clicks, 0 or 1."""
        return (self.collection.labels > 0).astype(np.int64)


Trainer = Callable[[Any, SessionPart, Collection, Any, int, Callback], tuple[Model, np.ndarray | None]]


def train_on_sessions(
    correction: str, cls: type[Model], part: SessionPart, vali: Collection, params: Any, seed: int, callback: Callback
) -> tuple[Model, np.ndarray | None]:
    """Return the trained model, and the (k,) learned propensities relative to position 1, if the method has them.

    correction: a key of TRAINERS. part: the training part, whose `regularization` is
    lambdarank_position_bias_regularization of LightGBM (default 0), or p of Hu et al. 2019 (default 1). The other
    arguments are those of `Model.fit`. Raises GradrankError if the method has no such correction.
    """
    trainers = TRAINERS[correction]
    if cls.name not in trainers:
        raise GradrankError(
            f"correction: {correction!r} does not exist for {cls.name}. Fix: choose {', '.join(trainers)}, or the "
            "correction 'ips'"
        )
    return trainers[cls.name](cls, part, vali, params, seed, callback)


def _lightgbm_position(
    cls: Any, part: SessionPart, vali: Collection, params: Any, seed: int, callback: Callback
) -> tuple[Model, np.ndarray | None]:
    """Train LightGBM's lambdarank with one bias per position, which is added to the scores in training only."""
    import lightgbm

    from gradrank.training.solvers.boosting import boost, lightgbm_settings

    train = part.collection
    cls.check(train, params)
    ((target, objective),) = cls.objectives(train, params)
    settings = lightgbm_settings(params, train, seed % 2**31) | objective
    settings["lambdarank_position_bias_regularization"] = part.regularization or 0.0
    data = lightgbm.Dataset(
        train.features,
        target,
        weight=train.weights,
        group=np.diff(train.offsets),
        position=part.places,
        params=settings,
        categorical_feature=[*train.categorical] or "auto",
    )
    booster = lightgbm.Booster(settings, data)
    booster.add_valid(data.create_valid(vali.features, np.zeros(vali.rows), params=settings), "vali")
    return cls(boost([booster], cls.combine, vali, params, callback)), None


def _pairwise_lightgbm(
    cls: Any, part: SessionPart, vali: Collection, params: Any, seed: int, callback: Callback
) -> tuple[Model, np.ndarray | None]:
    """Train trees of LightGBM on the derivatives of `PairwiseDebiasing`."""
    from gradrank.training.solvers.boosting import CustomObjectiveBooster, boost, create_booster, lightgbm_settings

    train = part.collection
    cls.check(train, params)
    weights = np.ones(train.queries) if train.query_weights is None else train.query_weights
    derivatives = PairwiseDebiasing(
        part.clicks,
        part.places,
        train.offsets,
        weights,
        sigma=params.sigma,
        truncation=params.truncation,
        normalize=params.normalize,
        regularization=1.0 if part.regularization is None else part.regularization,
    )
    settings = lightgbm_settings(params, train, seed % 2**31) | {"objective": "none"}
    booster = create_booster(train, vali, train.labels, settings)
    wrapped = CustomObjectiveBooster(booster, derivatives, train.weights)
    return cls(boost([wrapped], cls.combine, vali, params, callback)), derivatives.plus


def _pairwise_xgboost(
    cls: Any, part: SessionPart, vali: Collection, params: Any, seed: int, callback: Callback
) -> tuple[Model, np.ndarray | None]:
    """Train XGBoost's rank:ndcg with lambdarank_unbiased. XGBoost takes the order of the rows as the positions."""
    require("xgboost", extra="xgboost", needed_by=cls.name)
    import xgboost  # pyright: ignore[reportMissingImports]

    from gradrank.training.solvers.feature_constraints import interaction_groups, monotone_signs

    train = part.collection
    settings = params.model_dump(exclude={"rounds", "patience", "select_by", "monotone", "interactions"})
    if params.monotone:
        settings["monotone_constraints"] = tuple(monotone_signs(params.monotone, train))
    if params.interactions:
        settings["interaction_constraints"] = json.dumps(
            interaction_groups(params.interactions, train, may_overlap=False)
        )
    settings |= {"objective": "rank:ndcg", "seed": seed, "nthread": thread_count(), "tree_method": "hist"}
    settings |= {"ndcg_exp_gain": False, "lambdarank_unbiased": True}
    settings |= {} if part.regularization is None else {"lambdarank_bias_norm": part.regularization}
    data = xgboost.DMatrix(train.features, part.clicks, nthread=thread_count())
    data.set_group(np.diff(train.offsets))
    if train.query_weights is not None:
        data.set_weight(train.query_weights)
    held_out = xgboost.DMatrix(vali.features, nthread=thread_count())
    booster = xgboost.Booster(settings, [data, held_out])

    def rounds() -> Iterator[Candidate]:
        for number in range(1, params.rounds + 1):
            booster.update(data, number - 1)
            yield Candidate(number, scores=booster.predict(held_out))

    return cls(booster[: best_of(rounds(), vali, params.select_by, callback, params.patience).kept]), None


def _dual_net(
    cls: Any, part: SessionPart, vali: Collection, params: Any, seed: int, callback: Callback
) -> tuple[Model, np.ndarray | None]:
    """Train a net on the relevance loss of `DualSoftmax`."""
    from gradrank.training.nets.torch_training import train_net

    loss = DualSoftmax(int(part.places.max()) + 1)
    train = replace(part.collection, labels=loss.codes(part.clicks, part.places), pair_source=None)
    return cls(train_net(train, vali, loss, params, seed, callback)), loss.propensities


# The corrections that learn the position bias, and the trainer of each method that has them.
TRAINERS: Mapping[str, Mapping[str, Trainer]] = {
    "position": {"lambdamart": _lightgbm_position, "lambdamart_faithful": _lightgbm_position},
    "pairwise": {
        "lambdamart": _pairwise_lightgbm,
        "lambdamart_faithful": _pairwise_lightgbm,
        "xgboost_ndcg": _pairwise_xgboost,
    },
    "dual": {"softmax": _dual_net},
}
