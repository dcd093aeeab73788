"""The registry of models: find model classes by name.

The entry points of the group `gradrank.models` name the packages that hold models, so this module imports no room above
its own. A user's own models are files in `models/` of the working folder.
"""

import importlib
import pkgutil
import re
import traceback
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from gradrank.base.errors import GradrankError, unknown
from gradrank.base.files import OWN_MODELS
from gradrank.training.model import Model, ModelParams, registered

GROUP = "gradrank.models"
OWN_PACKAGE = "gradrank.models"  # a user's own files become modules of this package
INTERFACE = "gradrank.training.model"  # imported by every model file, and by no other file of a folder called models/
FORMER_INTERFACE = re.compile(r"\bgradrank\.learning\b")  # of version 0.1


@cache
def model_packages() -> list[str]:
    """Return the names of the packages that hold models, the package's own first."""
    named = {entry.value for entry in entry_points(group=GROUP)}
    if not named:
        raise GradrankError(
            "gradrank: no entry point names a package of models, so the installation is incomplete or of an older "
            "version. Fix: pip install --editable . (in a checkout), or pip install --force-reinstall gradrank"
        )
    return sorted(named, key=lambda package: (package != OWN_PACKAGE, package))


@cache
def models() -> dict[str, type[Model]]:
    """Return every registered model by name, in alphabetical order.

    Raises GradrankError if one of the user's own files cannot be imported.
    """
    for package in model_packages():
        for module in _module_names(package):
            importlib.import_module(f"{package}.{module}")
    if _has_own_models():
        for path in sorted(OWN_MODELS.glob("[!._]*.py")):
            _import_own(path)
    return dict(sorted(registered.items()))


def _module_names(package: str) -> list[str]:
    """Return the modules and packages directly inside a package; a user's own files are not among them."""
    folders = importlib.import_module(package).__path__[:1]
    return sorted(info.name for info in pkgutil.iter_modules(folders))


def _has_own_models() -> bool:
    """Return whether `models/` of the working folder holds a user's own files, and make it part of the package."""
    package = importlib.import_module(OWN_PACKAGE)
    if not OWN_MODELS.is_dir() or OWN_MODELS.samefile(package.__path__[0]):
        return False
    package.__path__[1:] = [str(OWN_MODELS.resolve())]
    return True


def _import_own(path: Path) -> None:
    """Import a user's file as a module of the package of models, if the file defines a model."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if FORMER_INTERFACE.search(text):
        raise GradrankError(f"{path}: gradrank.learning is now called gradrank.training. Fix: change the imports")
    if INTERFACE not in text:
        return
    if path.stem in _module_names(OWN_PACKAGE):
        raise GradrankError(f"{path}: gradrank has a file of this name. Fix: rename yours")
    try:
        importlib.import_module(f"{OWN_PACKAGE}.{path.stem}")
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path.resolve())]
        where = f"{path}, line {lines[-1]}" if lines else str(path)
        if isinstance(error, GradrankError):
            raise GradrankError(f"{where}: {error}") from error
        raise GradrankError(
            f"{where}: {type(error).__name__}: {error}. Fix: correct the file, or move it out of {OWN_MODELS}/"
        ) from error


def get_model(name: str) -> type[Model]:
    """Return the class registered as `name`. Raises GradrankError with the nearest name if it is unknown."""
    _import_declaring(name)
    known = registered if name in registered else models()
    if name not in known:
        raise GradrankError(
            f"{unknown('model', name, known)}; a model of your own is a file in {OWN_MODELS}/ of this folder"
        )
    return known[name]


def _import_declaring(name: str) -> None:
    """Import only the modules whose text registers `name`: a job does not need the other models."""
    for package in model_packages():
        for folder in importlib.import_module(package).__path__:
            for file in sorted([*Path(folder).glob("*.py"), *Path(folder).glob("*/__init__.py")]):
                if f'@register("{name}")' in file.read_text(encoding="utf-8"):
                    module = file.parent.name if file.name == "__init__.py" else file.stem
                    importlib.import_module(f"{package}.{module}")


def training_modules(cls: type[Model], params: ModelParams) -> tuple[str, ...]:
    """Return the modules whose code, with all that they import, decides what `cls` learns with `params`."""
    return cls.__module__, *params.modules()


def missing_packages(cls: type[Model]) -> list[str]:
    """Return the packages in `cls.requires` that are not installed."""
    return [package for package in cls.requires if find_spec(package) is None]
