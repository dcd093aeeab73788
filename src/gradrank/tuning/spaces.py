"""Configurations of a model: number 0 is its paper's or library's, the others are drawn from its space.

A draw depends on the run's seed, data set, model, tuner and number alone: it is the same on every fold, at any number
of trials, and whatever was found before.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import log
from typing import Any

import numpy as np

from gradrank.training.model import Model
from gradrank.training.registry import training_modules
from gradrank.training.search_space import Choice, Dimension, Integer, LogUniform, Uniform, is_grid
from gradrank.training.seeds import job_seed

DIGITS = 4  # of a drawn number, which readers see
MOST_MEMBERS = 6


def configuration(
    cls: type[Model], seed: int, dataset: str, tuner: int, number: int, among: Sequence[str] = ()
) -> dict[str, Any]:
    """The parameters that configuration `number` sets; the others keep their defaults.

    among: the methods that one made of others' scores may be made of; its configuration 0 is made of all.
    """
    named = members_parameter(cls)
    first = first_configuration(cls) | ({named: list(among)} if named else {})
    if number == 0:
        return first
    rng = np.random.default_rng(job_seed(seed, dataset, f"{cls.name}/tuner{tuner}", number))
    drawn = {name: _draw(dimension, rng) for name, dimension in sorted(space_of(cls).items())}
    if named:
        drawn[named] = _subset(among, rng)
    return first | {name: _as_list(cls, name, value) for name, value in drawn.items()}


def _of_grid(grid: Sequence[float]) -> Dimension:
    """What lies between the ends of a model's own grid; of one that holds zero, its values."""
    if min(grid) <= 0:
        return Choice(tuple(grid), "the model's own grid")
    return LogUniform(min(grid), max(grid), "the ends of the model's own grid")


@cache
def space_of(cls: type[Model]) -> Mapping[str, Dimension]:
    """The declared space, and the grids that the model would search by itself: one value of them is one trial's."""
    grids = {name: _of_grid(grid) for name, grid in own_grids(cls).items() if len(grid) > 1}
    return grids | dict(cls.space)


def first_configuration(cls: type[Model]) -> dict[str, Any]:
    """What configuration 0 sets: `published`, where defaults were chosen here; of the model's own grids one value."""
    published = dict(cls.published)
    middles = {name: sorted(grid)[len(grid) // 2] for name, grid in own_grids(cls).items() if name not in published}
    return {name: _as_list(cls, name, value) for name, value in (middles | published).items()}


def own_grids(cls: type[Model]) -> dict[str, tuple[float, ...]]:
    """The parameters that list numbers of which the model itself takes the best on validation, and their defaults.

    Not of a model that learns there: it divides the validation part as a trial would not.
    """
    if cls.learns_on_validation:
        return {}
    return {name: field.default for name, field in cls.Params.model_fields.items() if is_grid(field)}


def members_parameter(cls: type[Model]) -> str | None:
    """The parameter that names the models of whose scores this one is made; None: it is made of the data's features."""
    params = cls.Params()
    named = cls.members(params)
    return next((key for key, value in params if value == named), None) if named else None


def configurations(cls: type[Model], trials: int) -> int:
    """How many there are: a model that has nothing to choose, or learns from what would be judged by, has the one."""
    tuned = not cls.learns_on_validation and (space_of(cls) or members_parameter(cls))
    return trials if tuned else 1


def tuning_modules(cls: type[Model]) -> tuple[str, ...]:
    """Return the modules that training depends on with any configuration: of its space, every choice counts."""
    first = cls.Params(**first_configuration(cls))
    tried = [first, *(first.model_copy(update={name: value}) for name, value in _choices(cls))]
    return tuple(sorted({module for params in tried for module in training_modules(cls, params)}))


def _choices(cls: type[Model]) -> Iterator[tuple[str, Any]]:
    for name, dimension in space_of(cls).items():
        if isinstance(dimension, Choice):
            yield from ((name, value) for value in dimension.values)


def _as_list(cls: type[Model], name: str, value: Any) -> Any:
    """A drawn value as JSON has it; a grid's becomes the grid of that value alone."""
    single = not isinstance(value, Sequence) or isinstance(value, str)
    if not single:
        return list(value)
    return [value] if name in own_grids(cls) else value


def _draw(dimension: Dimension, rng: np.random.Generator) -> Any:
    match dimension:
        case LogUniform(low, high):
            return _rounded(np.exp(rng.uniform(log(low), log(high))))
        case Uniform(low, high):
            return _rounded(rng.uniform(low, high))
        case Integer(low, high):
            return int(rng.integers(low, high, endpoint=True))
        case Choice(values):
            return values[int(rng.integers(len(values)))]


def in_words(dimension: Dimension) -> str:
    """`0.01 to 0.3, logarithmic`; `one of 7, 15, 31`."""
    match dimension:
        case LogUniform(low, high):
            return f"{low:g} to {high:g}, logarithmic"
        case Uniform(low, high) | Integer(low, high):
            return f"{low:g} to {high:g}"
        case Choice(values):
            return f"one of {', '.join(map(str, values))}"


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _subset(among: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Two or more of them, in their order; every number of them alike."""
    size = int(rng.integers(min(2, len(among)), min(MOST_MEMBERS, len(among)), endpoint=True))
    return [among[place] for place in sorted(rng.choice(len(among), size, replace=False).tolist())]
