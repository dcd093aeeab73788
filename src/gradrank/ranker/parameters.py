"""The parameters of `gradrank.Ranker`: those of the estimator, and those of the method that it trains."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from gradrank.base.conventions import Convention
from gradrank.base.errors import GradrankError, InputError, nearest
from gradrank.measures.conventions import resolve as resolve_convention
from gradrank.ranker.inputs import input_errors
from gradrank.training.fit import resolve
from gradrank.training.model import Model, ModelParams
from gradrank.training.registry import get_model, parameter_hint

# The parameters of the estimator that are not parameters of the method, with their defaults.
ESTIMATOR_DEFAULTS: dict[str, Any] = {
    "method": "lambdamart",
    "random_state": None,
    "n_jobs": None,
    "convention": "standard",
}


def check_names(method: Any, params: Mapping[str, Any]) -> None:
    """Raise InputError if there is no such method, or if the method lacks one of the parameters."""
    if not isinstance(method, str):
        raise InputError(
            f"method: expected the name of a method, found {method!r}. Fix: give a name of gradrank.models()"
        )
    with input_errors():
        valid = get_model(method).Params.model_fields
    for name in params:
        if name not in valid:
            hint = parameter_hint(name) or nearest(name, [*valid, *ESTIMATOR_DEFAULTS])
            raise InputError(
                f"{name}: {method} has no such parameter{hint}. Fix: correct the name; gradrank.models({method!r}) "
                "lists the parameters"
            )


def resolve_method(method: str, params: Mapping[str, Any]) -> tuple[type[Model], ModelParams]:
    """Return the class of the method and its checked parameters.

    Raises GradrankError if a parameter is invalid, or if the method combines the scores of other methods.
    """
    cls, resolved = resolve(method, {name: _plain(value) for name, value in params.items()})
    if members := cls.members(resolved):
        raise GradrankError(
            f"method: {method} combines the scores of {', '.join(members)}, which must be trained first. Fix: train it "
            "in a workflow, and load the fold with gradrank.load"
        )
    return cls, resolved


def named_convention(name: Any) -> Convention:
    """Return the convention called `name`. Raises GradrankError for an unknown name and for anything but a name."""
    if not isinstance(name, str):
        raise InputError(f"convention: {name!r} is not a name. Fix: use a name in gradrank.conventions()")
    return resolve_convention(name)


def resolve_seed(random_state: Any) -> int:
    """Return the seed that `random_state` stands for. Raises GradrankError if it stands for none."""
    if isinstance(random_state, int | np.integer):
        if not 0 <= random_state < 2**31:
            raise GradrankError(
                f"random_state: {random_state} is out of range. Fix: give an integer from 0 to {2**31 - 1}"
            )
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError as error:
        raise GradrankError(f"random_state: {error}. Fix: give an integer, or None") from None


def resolve_threads(n_jobs: Any) -> int:
    """Return the number of threads that `n_jobs` stands for. Raises GradrankError if it stands for none."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, int | np.integer) or n_jobs == 0 or n_jobs < -1:
        raise GradrankError(
            f"n_jobs: {n_jobs!r} is not a number of threads. Fix: give a positive integer, -1 for all processors, or "
            "None for one thread"
        )
    return (os.cpu_count() or 1) if n_jobs == -1 else int(n_jobs)


def _plain(value: Any) -> Any:
    """Return a parameter with NumPy types converted to Python types. Parameter grids often contain NumPy types."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return value
