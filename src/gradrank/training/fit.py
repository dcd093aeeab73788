"""Training of one model on arrays in memory. Training jobs and `gradrank.Ranker` call these functions."""

from collections.abc import Mapping
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.base.extras import require
from gradrank.base.validation import validate
from gradrank.data.collection import Collection
from gradrank.training.model import Callback, Model, ModelParams
from gradrank.training.registry import get_model, parameter_hint
from gradrank.training.score_checks import InvalidScores
from gradrank.training.weights import with_usable_weights


def resolve(model: str, params: Mapping[str, Any]) -> tuple[type[Model], ModelParams]:
    """Return the class of the model `model` and its checked parameters. Missing parameters have their defaults.

    Raises GradrankError if the model is unknown, a package that the model needs is not installed, or a parameter is
    invalid.
    """
    cls = get_model(model)
    require(*cls.requires, extra=cls.extra, needed_by=model)
    faults: list[str] = []
    resolved = validate(cls.Params, params, "params.", faults, parameter_hint)
    if not isinstance(resolved, ModelParams):
        raise GradrankError(f"{model}: {'; '.join(faults)}")
    return cls, resolved


def fit(
    cls: type[Model], train: Collection, vali: Collection, params: ModelParams, seed: int, callback: Callback
) -> Model:
    """Return the model that `cls.fit` trains. Raises GradrankError if the model cannot be trained on the data.

    The validation part is not weighted.
    """
    train = with_usable_weights(cls, train)
    try:
        return cls.fit(train, vali, params, seed, callback)
    except InvalidScores as error:
        raise GradrankError(f"{cls.name}: while it was fitted: {error}") from None
