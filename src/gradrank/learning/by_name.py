"""What lies in a folder of the package, a file and its function each: losses, scorers. Nothing else lists them."""

import importlib
import pkgutil
from types import ModuleType
from typing import Any

from gradrank.errors import GradrankError, unknown
from gradrank.learning import losses


def loss_names() -> list[str]:
    """In alphabetical order; none is imported."""
    return _names(losses)


def find_loss(name: str) -> Any:
    """The function `name` of losses/`name`.py. Raises GradrankError with the nearest name if there is none."""
    return find(losses, "loss", name)


def find(package: ModuleType, kind: str, name: str) -> Any:
    """The same of another package; kind: what its functions are, in words."""
    if name not in _names(package):
        raise GradrankError(unknown(kind, name, _names(package)))
    return getattr(importlib.import_module(f"{package.__name__}.{name}"), name)


def _names(package: ModuleType) -> list[str]:
    return sorted(info.name for info in pkgutil.iter_modules(package.__path__))
