"""The registry of models, losses and scorers, which finds them by name.

Packages that contain models are entry points of the group `gradrank.models`, so this module needs no import statements
for such packages. Commands and jobs also find the user's models in the folder `models/` of the working folder. Other
programs find the user's models only after a call of `gradrank.base.extensions.use_own_models`.

A loss is a function with the decorator `loss` in a file of losses/. Each scorer is one file in scorers/, with a
function of the same name. Other distributions add losses through entry points of the group `gradrank.losses`. The value
of such an entry point is the name of a package with such files. There is no other list of losses and scorers. Losses
and scorers are imported by name and not by an import statement, so parameters that select a loss or scorer must declare
its module in `ModelParams.modules`.
"""

import importlib
import pkgutil
import re
import traceback
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from gradrank.base.errors import GradrankError, missing, unknown
from gradrank.base.extensions import LOSSES as LOSS_GROUP
from gradrank.base.extensions import MODELS, Extension, extension_of, extensions, own_models
from gradrank.base.files import OWN_MODELS
from gradrank.training.loss import LossFunction
from gradrank.training.model import Model, ModelParams, registered

LOSSES = "gradrank.training.losses"
SCORERS = "gradrank.training.scorers"
DECLARATION = re.compile(r"^@loss\b.*?^def (\w+)\(", re.M | re.S)  # a function with the decorator `loss`


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
    """Return the loss `name`, the function of this name with the decorator `loss`.

    Raises GradrankError if there is no such loss, with the most similar name, or if the function lacks the decorator.
    """
    module = loss_module(name)
    found = _function(module, name)
    if not isinstance(found, LossFunction):
        raise GradrankError(f"{module}: {name!r} has no decorator. Fix: give it @loss of gradrank.training.loss")
    return found


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
        declared = [(file, name) for file in _names(package) for name in _declared_losses(package, file)]
        for file, name in declared:
            module = f"{package.__name__}.{file}"
            if modules.setdefault(name, module) != module:
                raise GradrankError(
                    f"duplicate loss name {name!r} in {modules[name]} and {module}. Fix: rename one, or uninstall one "
                    "of the packages"
                )
    return modules


def _declared_losses(package: ModuleType, file: str) -> list[str]:
    """Return the names of the losses in a file of a package of losses.

    A file without a decorated function is one loss. An error is raised when that loss is used.
    """
    for folder in package.__path__:
        for path in (Path(folder) / f"{file}.py", Path(folder) / file / "__init__.py"):
            if path.is_file():
                return _decorated(path, path.stat().st_mtime_ns) or [file]
    return [file]


@cache
def _decorated(path: Path, changed_ns: int) -> list[str]:
    """Return the names of the functions of a file that have the decorator `loss`, without importing the file."""
    return DECLARATION.findall(path.read_text(encoding="utf-8"))


def _function(module: str, name: str) -> Any:
    """Return the function `name` of a module. Raises GradrankError if the module does not define it."""
    function = getattr(importlib.import_module(module), name, None)
    if function is None:
        raise GradrankError(f"{module}: no function {name!r}. Fix: give the function and its file the same name")
    return function


def _names(package: ModuleType) -> list[str]:
    """Return the names of the modules directly inside a package, without those that begin with an underscore."""
    return [info.name for info in pkgutil.iter_modules(package.__path__) if not info.name.startswith("_")]


OWN_PACKAGE = "gradrank.models"  # the model files of users become modules of this package
REGISTRATION = re.compile(r'@register\("([^"]+)"\)')
INTERFACE = "gradrank.training.model"  # a file of the user is a model file if it contains this name


def model_packages() -> list[Extension]:
    """Return the packages that contain models, `gradrank.models` first.

    Raises GradrankError if the installation lists no such package.
    """
    packages = extensions(MODELS)
    if not packages:
        raise GradrankError(
            f"gradrank: no entry point in the group {MODELS}; the installation is incomplete or outdated. "
            "Fix: pip install --editable . (in a checkout), or pip install --force-reinstall gradrank"
        )
    return sorted(packages, key=lambda extension: extension.package != OWN_PACKAGE)


def models() -> dict[str, type[Model]]:
    """Return a dict from name to class of all models, in alphabetical order.

    Raises GradrankError if two models have the same name, or if a package of another distribution or a model file of
    the user cannot be imported.
    """
    return _models(own_models())


@cache
def _models(own: Path | None) -> dict[str, type[Model]]:
    """Import all models, including those in the folder `own`, and return them as `models` does."""
    for extension in model_packages():
        for module in _module_names(extension):
            import_from(extension, module)
    if own is not None and _is_added(own):
        for path in sorted(own.glob("[!._]*.py")):
            _import_own(path)
    return dict(sorted(registered.items()))


def _module_names(extension: Extension) -> list[str]:
    """Return the names of the modules and packages directly inside a package, without the files of the user."""
    folders = import_from(extension).__path__[:1]
    return sorted(info.name for info in pkgutil.iter_modules(folders))


def _is_added(own: Path) -> bool:
    """Add the folder `own` to the package of models. Return False if `own` already is the folder of this package."""
    package = importlib.import_module(OWN_PACKAGE)
    if own.samefile(package.__path__[0]):
        return False
    package.__path__[1:] = [str(own.resolve())]
    return True


def _import_own(path: Path) -> None:
    """Import a model file of the user as a module of the package of models. Other files are ignored."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if INTERFACE not in text:
        return
    if path.stem in _module_names(model_packages()[0]):
        raise GradrankError(f"{path}: gradrank already has a model file of this name. Fix: rename your file")
    try:
        importlib.import_module(f"{OWN_PACKAGE}.{path.stem}")
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path.resolve())]
        location = f"{path}, line {lines[-1]}" if lines else str(path)
        if isinstance(error, GradrankError):
            raise GradrankError(f"{location}: {error}") from error
        raise GradrankError(
            f"{location}: {type(error).__name__}: {error}. Fix: correct the file, or move it out of {OWN_MODELS}/"
        ) from error


def get_model(name: str) -> type[Model]:
    """Return the model class registered as `name`.

    Raises GradrankError if no model has this name. The error suggests the most similar name.
    """
    _import_declaring(name, tuple(model_packages()))
    known = registered if name in registered else models()
    if name not in known:
        raise GradrankError(
            f"{unknown('model', name, known)}. Fix: correct the name, or add your own model: commands read the files "
            f"in {OWN_MODELS}/, and a program imports such a file itself"
        )
    return known[name]


@cache
def _import_declaring(name: str, packages: tuple[Extension, ...]) -> None:
    """Import only the modules that contain `@register("name")`, because importing all models takes longer."""
    for extension, module in _declaring_modules(packages).get(name, ()):
        import_from(extension, module)


@cache
def _declaring_modules(packages: tuple[Extension, ...]) -> dict[str, list[tuple[Extension, str]]]:
    """Return a dict from the name of each model to the packages and modules that contain `@register("name")`.

    The files are read once per process, because a plan of 10,000 jobs looks up a model several times per job.
    """
    found: dict[str, list[tuple[Extension, str]]] = {}
    for extension in packages:
        for folder in import_from(extension).__path__:
            for file in sorted([*Path(folder).glob("*.py"), *Path(folder).glob("*/__init__.py")]):
                module = file.parent.name if file.name == "__init__.py" else file.stem
                for name in dict.fromkeys(REGISTRATION.findall(file.read_text(encoding="utf-8"))):
                    found.setdefault(name, []).append((extension, module))
    return found


def parameter_hint(parameter: str) -> str:
    """Return " (a parameter of dart, mart)" with the names of all models that have a parameter; empty if none has."""
    names = [name for name, cls in models().items() if parameter in cls.Params.model_fields]
    return f" (a parameter of {', '.join(names)})" if names else ""


def training_modules(cls: type[Model], params: ModelParams) -> tuple[str, ...]:
    """Return the names of the modules that determine the training of `cls`.

    Modules that these modules import also determine the training, but are not listed.
    """
    return cls.__module__, *params.modules()


def missing_packages(cls: type[Model]) -> list[str]:
    """Return the packages of `cls.requires` that are not installed."""
    return missing(cls.requires)
