"""Models for `gradrank tune` that are derived from a registered model by fixed parameters.

The fixed parameters leave the search space, and every configuration contains them. If `scorer` is fixed, the parameters
that belong to scorers are those of the model whose default is this scorer: its search space, and its first
configuration. The parameters of the loss stay those of the derived model. A model with a scorer and a loss is thus
tuned like the published models of its two parts.

The tuning jobs find a variant by its name, because `add_variant` registers it for the process. It is not a registered
model of the project.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.validation import validate
from gradrank.data.collection import Collection
from gradrank.training.model import Model, register, registered
from gradrank.training.nets.net_params import NeuralParams
from gradrank.training.nets.neural import TRAINING, NeuralRanker
from gradrank.training.registry import get_model, models
from gradrank.training.search_space import Dimension
from gradrank.training.spaces import first_configuration, space_of

SCORER, LOSS = "scorer", "loss"
LINEAR = ("learning_rate", "weight_decay")  # the tuned parameters of a scorer without hidden units


def variant_class(name: str, variant: Mapping[str, Any]) -> type[Model]:
    """Return a model class with the name `name`, which is not registered.

    variant: the registered `model`, and the fixed parameters by name. Raises GradrankError if a parameter is unknown or
    has an invalid value.
    """
    values = dict(variant)
    base, fixed = get_model(values.pop("model")), values
    faults: list[str] = []
    if validate(base.Params, fixed, f"{name}.", faults) is None:
        raise GradrankError(f"{'; '.join(faults)}. Fix: correct the variant {name!r} of {base.name}")
    space, first = dict(base.space), dict(base.published)
    if SCORER in fixed:
        scorer_space, scorer_first = _of_scorer(fixed[SCORER])
        own = {key: value for key, value in space.items() if key not in NeuralParams.model_fields}
        space, first = own | scorer_space, first | scorer_first
    attributes: dict[str, Any] = {
        "__module__": base.__module__,
        "name": name,
        "space": {key: dimension for key, dimension in space.items() if key not in fixed},
        "published": first | fixed,
    }
    return type(name, (base,), attributes)


def add_variant(name: str, text: str) -> None:
    """Register the variant `name` in this process. text: the variant as JSON, as in `variant_class`."""
    if name in registered or name in models():
        raise GradrankError(f"--variant: {name!r} is the name of a model. Fix: give the variant another name")
    register(name)(variant_class(name, json.loads(text)))


def variant_modules(variant: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the modules that define a variant, in addition to those of its registered model.

    They are part of the code digest of its jobs. variant: as in `variant_class`.
    """
    scorer_model = _scorer_model(variant[SCORER]) if SCORER in variant else None
    return (__name__, *([scorer_model.__module__] if scorer_model else []))


def warm_up(name: str) -> None:
    """Train the variant `name` once on two small queries.

    Without this training, the processor time of the first trial would include the imports of libraries and the loading
    of compiled code.
    """
    cls = get_model(name)
    features = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    queries = Collection(features, np.array([0, 1, 2, 2, 1, 0], np.int32), np.array([0, 3, 6]), np.arange(2))
    cls.fit(queries, queries, cls.Params(**first_configuration(cls)), 0, lambda step, **values: None)


def _of_scorer(scorer: str) -> tuple[dict[str, Dimension], dict[str, Any]]:
    """Return the search space and the first configuration of a scorer, without the parameters of losses.

    They are those of the first model, in alphabetical order, whose default is this scorer. A scorer that is the default
    of no model has the search space of the training of nets, and its own defaults.
    """
    shared = sorted(NeuralParams.model_fields.keys() - {LOSS, SCORER})
    scorer_model = _scorer_model(scorer)
    if scorer_model is None:
        keys = LINEAR if scorer == "linear" else TRAINING
        return {key: TRAINING[key] for key in keys}, {}
    defaults = scorer_model.Params(**first_configuration(scorer_model)).model_dump(mode="json")
    plain = NeuralParams(loss=defaults[LOSS]).model_dump(mode="json")
    space = {key: value for key, value in space_of(scorer_model).items() if key in shared}
    return space, {key: defaults[key] for key in shared if key in defaults and defaults[key] != plain[key]}


def _scorer_model(scorer: str) -> type[Model] | None:
    """Return the model that has the search space of a scorer; None if no model has this default."""
    if scorer == "net":  # most models have this default, with changes that belong to their losses
        return get_model("softmax")
    return next((cls for cls in models().values() if _default_scorer(cls) == scorer), None)


def _default_scorer(cls: type[Model]) -> str | None:
    return cls.Params.model_fields[SCORER].default if issubclass(cls, NeuralRanker) else None
