"""What a parameter may be drawn from when a model is tuned: a model declares one dimension a parameter, its `space`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic.fields import FieldInfo


@dataclass(frozen=True)
class LogUniform:
    """The logarithm is uniform between those of low and high, both positive."""

    low: float
    high: float
    source: str


@dataclass(frozen=True)
class Uniform:
    low: float
    high: float
    source: str


@dataclass(frozen=True)
class Integer:
    """Every whole number from low to high alike."""

    low: int
    high: int
    source: str


@dataclass(frozen=True)
class Choice:
    """Each value alike."""

    values: Sequence[Any]
    source: str


Dimension = LogUniform | Uniform | Integer | Choice


class SearchedOnValidation:
    """The mark of a parameter that is a grid: `fit` tries each of its values and keeps the best on validation."""


T = TypeVar("T")
Grid = Annotated[tuple[T, ...], SearchedOnValidation()]  # the type of such a parameter, as in `l2: Grid[PositiveFloat]`


def is_grid(field: FieldInfo) -> bool:
    """Return whether the field of a parameter was declared as a Grid."""
    return any(isinstance(mark, SearchedOnValidation) for mark in field.metadata)
