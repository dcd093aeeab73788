"""The registry of models, which finds model classes by name.

Packages that contain models are entry points of the group `gradrank.models`, so this module needs no import statements
for such packages. Commands and jobs also find the user's models in the folder `models/` of the working folder. Other
programs find the user's models only after a call of `gradrank.base.extensions.use_own_models`.
"""

import importlib
import pkgutil
import traceback
from functools import cache
from pathlib import Path

from gradrank.base.errors import GradrankError, unknown
from gradrank.base.extensions import MODELS, Extension, extensions, own_models
from gradrank.base.extras import missing
from gradrank.base.files import OWN_MODELS
from gradrank.training.lookup import import_from
from gradrank.training.model import Model, ModelParams, registered

OWN_PACKAGE = "gradrank.models"  # the model files of users become modules of this package
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
    _import_declaring(name)
    known = registered if name in registered else models()
    if name not in known:
        raise GradrankError(
            f"{unknown('model', name, known)}. Fix: correct the name, or add your own model: commands read the files "
            f"in {OWN_MODELS}/, and a program imports such a file itself"
        )
    return known[name]


def _import_declaring(name: str) -> None:
    """Import only the modules that contain `@register("name")`, because importing all models takes longer."""
    for extension in model_packages():
        for folder in import_from(extension).__path__:
            for file in sorted([*Path(folder).glob("*.py"), *Path(folder).glob("*/__init__.py")]):
                if f'@register("{name}")' in file.read_text(encoding="utf-8"):
                    module = file.parent.name if file.name == "__init__.py" else file.stem
                    import_from(extension, module)


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
