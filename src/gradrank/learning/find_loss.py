"""The losses by name: a file of gradrank.learning.losses each; nothing else lists them."""

import importlib
import pkgutil

from gradrank.errors import GradrankError, unknown
from gradrank.learning import losses
from gradrank.learning.loss import Loss


def loss_names() -> list[str]:
    """In alphabetical order; none is imported."""
    return sorted(info.name for info in pkgutil.iter_modules(losses.__path__))


def find_loss(name: str) -> Loss:
    """The loss of that name. Raises GradrankError with the nearest name otherwise."""
    if name not in loss_names():
        raise GradrankError(unknown("loss", name, loss_names()))
    return getattr(importlib.import_module(f"{losses.__name__}.{name}"), name)
