"""Monotone constraints and interaction constraints of trees, in terms of the names or numbers of features.

A parameter class takes the constraints with `monotone: Monotone = MONOTONE` and `interactions: Interactions =
INTERACTIONS`, and derives from ConstrainedParams. `monotone_signs` and `interaction_groups` return the form that
LightGBM, XGBoost and CatBoost expect.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer

from gradrank.base.errors import GradrankError, unknown
from gradrank.data.collection import Collection
from gradrank.training.model import ModelParams, param


def _as_text(feature: Any) -> Any:
    """Return the number of a feature as text, because JSON has only text as keys. Other values stay as they are."""
    return str(feature) if isinstance(feature, int) and not isinstance(feature, bool) else feature


def _with_text_keys(signs: Any) -> Any:
    return {_as_text(feature): sign for feature, sign in signs.items()} if isinstance(signs, Mapping) else signs


Feature = Annotated[str, BeforeValidator(_as_text)]
Monotone = Annotated[dict[str, Literal[-1, 1]], BeforeValidator(_with_text_keys)]
Interactions = tuple[Annotated[tuple[Feature, ...], Field(min_length=1)], ...]
MONOTONE = param(
    {},
    "no constraint; {price: -1} lets scores never increase with the feature price, and {3: 1} lets them never decrease "
    "with the third feature",
)
INTERACTIONS = param(
    (),
    "no constraint; with [[price, stock], [3, 4]], each branch of a tree splits on features of one group. All other "
    "features form one more group",
)


class ConstrainedParams(ModelParams):
    """The base class of parameters with constraints.

    A constraint that is not set is not stored. The stored parameters of a model without constraints, and the digests of
    these parameters, are therefore those of a model that does not have such parameters.
    """

    @model_serializer(mode="wrap")
    def _without_empty_constraints(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        stored = serialize(self)
        return {name: value for name, value in stored.items() if value or name not in ("monotone", "interactions")}


def monotone_signs(constraints: Mapping[str, int], train: Collection) -> list[int]:
    """Return d numbers: 1 if scores never decrease with the feature, -1 if they never increase, 0 without constraint.

    constraints: dict from the name or number of a feature to 1 or -1. Raises GradrankError if a feature is unknown or
    constrained twice.
    """
    signs = [0] * train.features.shape[1]
    for feature, sign in constraints.items():
        column = feature_column(feature, train, "monotone")
        if signs[column]:
            raise GradrankError(f"monotone: two constraints on feature {column + 1}. Fix: remove {feature!r}")
        signs[column] = sign
    return signs


def interaction_groups(groups: Iterable[Sequence[str]], train: Collection, may_overlap: bool = True) -> list[list[int]]:
    """Return the columns, from 0, of each group, and of the group of all other features if there are any.

    groups: the names or numbers of the features of each group. Raises GradrankError if a feature is unknown, or if
    `may_overlap` is False and a feature is in two groups.
    """
    columns = [{feature_column(feature, train, "interactions") for feature in group} for group in groups]
    for column, count in Counter(chain(*columns)).items():
        if count > 1 and not may_overlap:
            raise GradrankError(f"interactions: feature {column + 1} is in {count} groups. Fix: keep it in one group")
    rest = set(range(train.features.shape[1])).difference(*columns)
    return [sorted(group) for group in (*columns, rest) if group]


def feature_column(feature: str, train: Collection, where: str) -> int:
    """Return the column, from 0, of a feature.

    feature: the name of a feature, or its number from 1. Digits are a name if the data have a feature whose name
    consists of digits. where: name of the parameter, for the error message. Raises GradrankError if the data have no
    such feature.
    """
    count = train.features.shape[1]
    names = train.names or ()
    if feature.isdecimal() and not any(map(str.isdecimal, names)):
        if not 1 <= int(feature) <= count:
            raise GradrankError(f"{where}: no feature {feature}. Fix: give a number from 1 to {count}")
        return int(feature) - 1
    if not names:
        raise GradrankError(
            f"{where}: {feature!r} is a name, but the features of these data have no names. "
            f"Fix: give a number from 1 to {count}"
        )
    if feature not in names:
        raise GradrankError(f"{where}: {unknown('feature', feature, names)}. Fix: give the name of a feature")
    return names.index(feature)
