"""The search spaces of the methods, and the parameters that a trial of Optuna draws from them."""

from typing import Any

from gradrank.training.registry import get_model
from gradrank.training.search_space import Choice, Dimension, Integer, LogUniform
from gradrank.training.spaces import own_grids, space_of


def search_space(method: str) -> dict[str, Dimension]:
    """Return the search space of a method: a dict from the name of a parameter to its range.

    A range is a LogUniform, Uniform or Integer, with `low` and `high`, or a Choice of `values`. The `source` of a range
    gives the reason for its bounds. `gradrank tune` draws from the same ranges. Raises GradrankError for an unknown
    method.

    Examples
    --------
    >>> import gradrank
    >>> gradrank.search_space("lambdamart")["learning_rate"].high
    0.3
    """
    return dict(sorted(space_of(get_model(method)).items()))


def suggest(trial: Any, method: str) -> dict[str, Any]:
    """Return parameters of a method for `gradrank.Ranker`, drawn by an `optuna.Trial` from `search_space(method)`."""
    drawn: dict[str, Any] = {}
    for name, space in search_space(method).items():
        if isinstance(space, Choice):
            drawn[name] = trial.suggest_categorical(name, list(space.values))
        elif isinstance(space, Integer):
            drawn[name] = trial.suggest_int(name, space.low, space.high)
        else:
            drawn[name] = trial.suggest_float(name, space.low, space.high, log=isinstance(space, LogUniform))
    grids = own_grids(get_model(method))
    return {name: (value,) if name in grids else value for name, value in drawn.items()}
