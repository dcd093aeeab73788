"""The configurations of a model that `gradrank tune` tries.

Configuration 0 has the parameters of the paper or library. The other configurations are drawn from the search space of
the model. A draw depends only on the seed of the run, the data set, the model, the tuner (one of several independent
random searches) and the number of the configuration. The draw is therefore the same on every fold and for every number
of trials, and does not depend on the results of other trials.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import log
from typing import Any

import numpy as np

from gradrank.training.fit import job_seed
from gradrank.training.model import Model
from gradrank.training.registry import training_modules
from gradrank.training.search_space import Choice, Dimension, Integer, LogUniform, Uniform, is_grid

DIGITS = 4  # significant digits of a drawn number, so that configurations are easy to read


def configuration(
    cls: type[Model], seed: int, dataset: str, tuner: int, number: int, among: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the parameters that configuration `number` sets. The other parameters have their default values.

    among: names of the methods that the model combines, if it combines the scores of other models.
    """
    members_key = members_parameter(cls)
    first = first_configuration(cls) | ({members_key: list(among)} if members_key else {})
    if number == 0:
        return first
    rng = np.random.default_rng(job_seed(seed, dataset, f"{cls.name}/tuner{tuner}", number))
    drawn = {name: _draw(dimension, rng) for name, dimension in sorted(space_of(cls).items())}
    return first | {name: _as_list(cls, name, value) for name, value in drawn.items()}


def _grid_dimension(grid: Sequence[float]) -> Dimension:
    """Return the interval from the lowest to the highest value of a grid.

    If one of the values is not positive, return a choice among the values.
    """
    if min(grid) <= 0:
        return Choice(tuple(grid), "the model's own grid")
    return LogUniform(min(grid), max(grid), "the ends of the model's own grid")


@cache
def space_of(cls: type[Model]) -> Mapping[str, Dimension]:
    """Return the search space of a model: its declared `space`, and one dimension per grid.

    A grid is a parameter with several values, of which `fit` selects the best on validation. A trial sets each grid to
    a single value instead.
    """
    grids = {name: _grid_dimension(grid) for name, grid in own_grids(cls).items() if len(grid) > 1}
    return grids | dict(cls.space)


def first_configuration(cls: type[Model]) -> dict[str, Any]:
    """Return the parameters of configuration 0: those in `published`, and the middle value of each remaining grid."""
    published = dict(cls.published)
    middles = {name: sorted(grid)[len(grid) // 2] for name, grid in own_grids(cls).items() if name not in published}
    return {name: _as_list(cls, name, value) for name, value in (middles | published).items()}


def own_grids(cls: type[Model]) -> dict[str, tuple[float, ...]]:
    """Return the default values of each parameter that the model declares as a Grid and searches on validation.

    The keys are the names of the parameters. The dict is empty if the model learns on the validation part, because its
    validation values would then be biased.
    """
    if cls.learns_on_validation:
        return {}
    return {name: field.default for name, field in cls.Params.model_fields.items() if is_grid(field)}


def members_parameter(cls: type[Model]) -> str | None:
    """Return the name of the parameter that lists the members of a model.

    Return None if the model does not combine members but uses the features of the data set.
    """
    params = cls.Params()
    members = cls.members(params)
    return next((name for name, value in params if value == members), None) if members else None


def count_configurations(cls: type[Model], trials: int) -> int:
    """Return the number of configurations of a model: `trials`, or 1 if the model is not tuned."""
    return trials if is_tuned(cls) else 1


def is_tuned(cls: type[Model]) -> bool:
    """Return whether configurations of a model are compared on the validation part.

    A model without a search space is not tuned. Models that learn on the validation part are not tuned either, because
    configurations cannot be compared on that part. Models that combine the scores of others combine those of all tuned
    methods in their default configuration.
    """
    return bool(space_of(cls)) and not cls.learns_on_validation and not members_parameter(cls)


def tuning_modules(cls: type[Model]) -> tuple[str, ...]:
    """Return the names of all modules on which the training of any configuration of the search space depends."""
    first = cls.Params(**first_configuration(cls))
    tried = [first, *(first.model_copy(update={name: value}) for name, value in _choices(cls))]
    return tuple(sorted({module for params in tried for module in training_modules(cls, params)}))


def _choices(cls: type[Model]) -> Iterator[tuple[str, Any]]:
    for name, dimension in space_of(cls).items():
        if isinstance(dimension, Choice):
            yield from ((name, value) for value in dimension.values)


def _as_list(cls: type[Model], name: str, value: Any) -> Any:
    """Return a parameter value as in JSON.

    A sequence becomes a list. A single value of a grid becomes a list with one element.
    """
    is_single = not isinstance(value, Sequence) or isinstance(value, str)
    if not is_single:
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
    """Return a dimension as text, such as `0.01 to 0.3, logarithmic` or `one of 7, 15, 31`."""
    match dimension:
        case LogUniform(low, high):
            return f"{low:g} to {high:g}, logarithmic"
        case Uniform(low, high) | Integer(low, high):
            return f"{low:g} to {high:g}"
        case Choice(values):
            return f"one of {', '.join(map(str, values))}"


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
