"""Dimensions of the search space from which `gradrank tune` draws a model's parameters.

A model declares one dimension per tuned parameter in its attribute `space`. Each dimension states the source of its
bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LogUniform:
    """A number from `low` to `high` whose logarithm is uniformly distributed; both bounds are positive."""

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
    """An integer from `low` to `high`, all equally likely."""

    low: int
    high: int
    source: str


@dataclass(frozen=True)
class Choice:
    """One of `values`, all equally likely."""

    values: Sequence[Any]
    source: str


Dimension = LogUniform | Uniform | Integer | Choice
