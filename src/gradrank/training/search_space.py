"""Dimensions of the search space from which `gradrank tune` draws a model's parameters.

A model declares one dimension per tuned parameter in its attribute `space`. Each dimension states the source of its
bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic.fields import FieldInfo


@dataclass(frozen=True)
class LogUniform:
    """A number from `low` to `high`, whose logarithm is uniformly distributed. Both bounds are positive."""

    low: float
    high: float
    source: str


@dataclass(frozen=True)
class Uniform:
    """A uniformly distributed number from `low` to `high`."""

    low: float
    high: float
    source: str


@dataclass(frozen=True)
class Integer:
    """An integer from `low` to `high`. All integers are equally likely."""

    low: int
    high: int
    source: str


@dataclass(frozen=True)
class Choice:
    """One of `values`. All values are equally likely."""

    values: Sequence[Any]
    source: str


Dimension = LogUniform | Uniform | Integer | Choice


class SearchedOnValidation:
    """Marks a parameter that is a grid: `fit` trains with each of its values and selects the best on validation."""


T = TypeVar("T")
# The type of a parameter that is a grid, as in `l2: Grid[PositiveFloat]`.
Grid = Annotated[tuple[T, ...], SearchedOnValidation()]


def is_grid(field: FieldInfo) -> bool:
    """Return whether the field of a parameter was declared as a Grid."""
    return any(isinstance(mark, SearchedOnValidation) for mark in field.metadata)
