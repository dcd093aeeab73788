"""Lookup of losses and scorers by name.

Each loss is one file in losses/, and each scorer is one file in scorers/. The file contains a function of the same
name. There is no other list of losses and scorers. They are imported by name and not by an import statement, so
parameters that select a loss or scorer must declare its module in `ModelParams.modules`.
"""

import importlib
import pkgutil
from typing import Any

from gradrank.base.errors import GradrankError, unknown
from gradrank.training.loss import LossFunction

LOSSES = "gradrank.training.losses"
SCORERS = "gradrank.training.scorers"


def loss_names() -> list[str]:
    """Return the names of all losses in alphabetical order, without importing them."""
    return _names(LOSSES)


def find_loss(name: str) -> LossFunction:
    """Return the function `name` of losses/`name`.py.

    Raises GradrankError, with the most similar name, if there is no such file.
    """
    return _find(LOSSES, "loss", name)


def find_scorer(name: str) -> Any:
    """Return the function `name` of scorers/`name`.py.

    Raises GradrankError, with the most similar name, if there is no such file.
    """
    return _find(SCORERS, "scorer", name)


def _find(package: str, kind: str, name: str) -> Any:
    if name not in _names(package):
        raise GradrankError(unknown(kind, name, _names(package)))
    return getattr(importlib.import_module(f"{package}.{name}"), name)


def _names(package: str) -> list[str]:
    return sorted(info.name for info in pkgutil.iter_modules(importlib.import_module(package).__path__))
