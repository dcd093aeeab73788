"""Lookup of losses and scorers by name.

Each loss is one file in losses/, and each scorer is one file in scorers/. The file contains a function of the same
name. Other distributions add losses through entry points of the group `gradrank.losses`. The value of such an entry
point is the name of a package with one file per loss. There is no other list of losses and scorers. Losses and scorers
are imported by name and not by an import statement, so parameters that select a loss or scorer must declare its module
in `ModelParams.modules`.
"""

import importlib
import pkgutil
from types import ModuleType
from typing import Any

from gradrank.base.errors import GradrankError, unknown
from gradrank.base.extensions import LOSSES as LOSS_GROUP
from gradrank.base.extensions import Extension, extension_of, extensions
from gradrank.training.loss import LossFunction

LOSSES = "gradrank.training.losses"
SCORERS = "gradrank.training.scorers"


def loss_names() -> list[str]:
    """Return the names of all losses in alphabetical order, without importing them."""
    return sorted(_loss_modules())


def check_loss(name: str) -> str:
    """Return the name of a loss. Raises ValueError, for Pydantic, if there is no such loss."""
    if name not in loss_names():
        raise ValueError(unknown("loss", name, loss_names()))
    return name


def loss_module(name: str) -> str:
    """Return the dotted name of the module of a loss, without importing it.

    Raises GradrankError if there is no such loss. The error suggests the most similar name.
    """
    modules = _loss_modules()
    if name not in modules:
        raise GradrankError(unknown("loss", name, modules))
    return modules[name]


def find_loss(name: str) -> LossFunction:
    """Return the loss `name`, which is the function of this name in the module of this name.

    Raises GradrankError if there is no such loss. The error suggests the most similar name.
    """
    return _function(loss_module(name), name)


def scorer_names() -> list[str]:
    """Return the names of all scorers in alphabetical order, without importing them."""
    return sorted(_names(importlib.import_module(SCORERS)))


def check_scorer(name: str) -> str:
    """Return the name of a scorer. Raises ValueError, for Pydantic, if there is no such scorer."""
    if name not in scorer_names():
        raise ValueError(unknown("scorer", name, scorer_names()))
    return name


def find_scorer(name: str) -> Any:
    """Return the function `name` of scorers/`name`.py.

    Raises GradrankError if there is no such file. The error suggests the most similar name.
    """
    if name not in scorer_names():
        raise GradrankError(unknown("scorer", name, scorer_names()))
    return _function(f"{SCORERS}.{name}", name)


def import_from(extension: Extension, module: str = "") -> ModuleType:
    """Import the package of an extension, or its module `module`.

    Raises GradrankError if an extension of another distribution cannot be imported. The error states the name of that
    distribution.
    """
    name = ".".join(filter(None, [extension.package, module]))
    try:
        imported = importlib.import_module(name)
        if not module and not hasattr(imported, "__path__"):
            raise ImportError(f"{name} is a module, and a package is expected")
        return imported
    except Exception as error:
        if isinstance(error, GradrankError) or extension_of(name) is None:
            raise
        raise GradrankError(
            f"{extension}: {name} cannot be imported ({type(error).__name__}: {error}). "
            f"Fix: pip install --upgrade {extension.distribution}, or pip uninstall {extension.distribution}"
        ) from error


def _loss_modules() -> dict[str, str]:
    """Return a dict from the name of each loss to the dotted name of its module.

    Raises GradrankError if two packages have a loss of the same name.
    """
    packages = [importlib.import_module(LOSSES), *(import_from(each) for each in extensions(LOSS_GROUP))]
    modules: dict[str, str] = {}
    for package in packages:
        for name in _names(package):
            module = f"{package.__name__}.{name}"
            if modules.setdefault(name, module) != module:
                raise GradrankError(
                    f"duplicate loss name {name!r} in {modules[name]} and {module}. Fix: rename one, or uninstall one "
                    "of the packages"
                )
    return modules


def _function(module: str, name: str) -> Any:
    """Return the function `name` of a module. Raises GradrankError if the module does not define it."""
    function = getattr(importlib.import_module(module), name, None)
    if function is None:
        raise GradrankError(f"{module}: no function {name!r}. Fix: give the function and its file the same name")
    return function


def _names(package: ModuleType) -> list[str]:
    """Return the names of the modules directly inside a package, without those that begin with an underscore."""
    return [info.name for info in pkgutil.iter_modules(package.__path__) if not info.name.startswith("_")]
