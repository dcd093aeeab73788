"""Monotone constraints and interaction constraints of trees, in terms of the names or numbers of features.

A parameter class takes the constraints with `monotone: Monotone = MONOTONE` and `interactions: Interactions =
INTERACTIONS`, and derives from ConstrainedParams. `monotone_signs` and `interaction_groups` return the form that
LightGBM, XGBoost and CatBoost expect.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection, feature_column, feature_columns
from gradrank.data.sources.file_form import ColumnName
from gradrank.training.model import ModelParams, param

Monotone = dict[ColumnName, Literal[-1, 1]]
Interactions = tuple[Annotated[tuple[ColumnName, ...], Field(min_length=1)], ...]
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
        column = feature_column(feature, len(signs), train.names, "monotone")
        if signs[column]:
            raise GradrankError(f"monotone: two constraints on feature {column + 1}. Fix: remove {feature!r}")
        signs[column] = sign
    return signs


def interaction_groups(groups: Iterable[Sequence[str]], train: Collection, may_overlap: bool = True) -> list[list[int]]:
    """Return the columns, from 0, of each group, and of the group of all other features if there are any.

    groups: the features of each group, as in `feature_columns`. Raises GradrankError if a feature is unknown, or if
    `may_overlap` is False and a feature is in two groups.
    """
    count = train.features.shape[1]
    columns = [feature_columns(group, count, train.names, "interactions") for group in groups]
    for column, count in Counter(chain(*columns)).items():
        if count > 1 and not may_overlap:
            raise GradrankError(f"interactions: feature {column + 1} is in {count} groups. Fix: keep it in one group")
    rest = sorted(set(range(count)).difference(*columns))
    return [*columns, rest] if rest else columns
