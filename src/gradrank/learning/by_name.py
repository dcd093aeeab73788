"""Losses and scorers by name: a file each of gradrank.learning.losses and .scorers; nothing else lists them."""

import importlib
import pkgutil
from types import ModuleType
from typing import Any

from gradrank.errors import GradrankError, unknown
from gradrank.learning import losses, scorers


def loss_names() -> list[str]:
    """In alphabetical order; none is imported."""
    return _names(losses)


def find_loss(name: str) -> Any:
    """The function `name` of losses/`name`.py. Raises GradrankError with the nearest name if there is none."""
    return _find(losses, "loss", name)


def find_scorer(name: str) -> Any:
    """The function `name` of scorers/`name`.py, which makes one to be trained; see gradrank.learning.scorer."""
    return _find(scorers, "scorer", name)


def _names(package: ModuleType) -> list[str]:
    return sorted(info.name for info in pkgutil.iter_modules(package.__path__))


def _find(package: ModuleType, kind: str, name: str) -> Any:
    if name not in _names(package):
        raise GradrankError(unknown(kind, name, _names(package)))
    return getattr(importlib.import_module(f"{package.__name__}.{name}"), name)
