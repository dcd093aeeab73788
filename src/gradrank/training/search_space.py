"""What a parameter may be drawn from when a model is tuned: a model declares one dimension a parameter, its `space`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


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
