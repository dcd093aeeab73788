"""Losses and scorers found by name: one file each in a folder of the package, with a function of the file's name.

Nothing else lists them. Parameters that name one declare its module (`ModelParams.modules`), because an import of this
file is no dependency on any of them.
"""

import importlib
import pkgutil
from typing import Any

from gradrank.base.errors import GradrankError, unknown

LOSSES = "gradrank.training.losses"
SCORERS = "gradrank.training.scorers"


def loss_names() -> list[str]:
    """Return the names in alphabetical order, without importing a loss."""
    return _names(LOSSES)


def find_loss(name: str) -> Any:
    """Return the function `name` of losses/`name`.py. Raises GradrankError with the nearest name if it is unknown."""
    return _find(LOSSES, "loss", name)


def find_scorer(name: str) -> Any:
    """Return the function `name` of scorers/`name`.py. Raises GradrankError with the nearest name if it is unknown."""
    return _find(SCORERS, "scorer", name)


def _find(package: str, kind: str, name: str) -> Any:
    if name not in _names(package):
        raise GradrankError(unknown(kind, name, _names(package)))
    return getattr(importlib.import_module(f"{package}.{name}"), name)


def _names(package: str) -> list[str]:
    return sorted(info.name for info in pkgutil.iter_modules(importlib.import_module(package).__path__))
