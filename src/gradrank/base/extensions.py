"""Extensions of gradrank: other packages, found through entry points, and the user's own model files.

A package declares the entry point group `gradrank.models`, `gradrank.losses` or `gradrank.datasets` in its
pyproject.toml. The value of the entry point is the name of an importable package. Model files of the user are in a
folder that the command line enables; a program that imports gradrank does not read them.
"""

from functools import cache
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from gradrank.base.files import OWN_MODELS

MODELS, LOSSES, DATASETS = "gradrank.models", "gradrank.losses", "gradrank.datasets"  # the groups of entry points
CODE = (MODELS, LOSSES)  # groups of packages with code that a training job runs

_own_models: Path | None = None


class Extension(NamedTuple):
    """A package to which an entry point refers: the dotted name, and the name and version of the distribution."""

    package: str
    distribution: str
    version: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} ({self.package})"


def extensions(group: str) -> tuple[Extension, ...]:
    """Return the packages to which the entry points of a group refer, sorted by name. No package is imported.

    If several distributions contain an entry point for the same package, the first distribution on `sys.path` counts,
    because Python imports the package from there.
    """
    return installed_extensions()[group]


@cache
def installed_extensions() -> dict[str, tuple[Extension, ...]]:
    """Return a dict with the result of `extensions` for each group. The search through `sys.path` takes 20 ms."""
    found: dict[str, dict[str, Extension]] = {group: {} for group in (MODELS, LOSSES, DATASETS)}
    for distribution in distributions():
        for entry in distribution.entry_points:
            if entry.group in found:
                named = Extension(entry.value, distribution.metadata["Name"], distribution.version)
                found[entry.group].setdefault(entry.value, named)
    return {group: tuple(packages[name] for name in sorted(packages)) for group, packages in found.items()}


def extension_of(module: str) -> Extension | None:
    """Return the extension that contains the code of a module, or None if gradrank itself contains it.

    module: the dotted name of a module with a model or a loss, or of a module that it imports.
    """
    root = module.partition(".")[0]
    return next((each for each in code_extensions() if each.package.partition(".")[0] == root), None)


def code_extensions() -> list[Extension]:
    """Return the packages of other distributions that contain models or losses."""
    found = (each for group in CODE for each in extensions(group))
    return [each for each in found if each.package.partition(".")[0] != "gradrank"]


@cache
def code_folders() -> dict[str, Path]:
    """Return a dict from the name of each top-level package of `code_extensions` to its folder.

    A top-level package that is not installed as a folder is left out.
    """
    folders: dict[str, Path] = {}
    for extension in code_extensions():
        root, *rest = extension.package.split(".")
        spec = find_spec(root)
        for place in map(Path, (spec and spec.submodule_search_locations) or ()):
            if place.joinpath(*rest).is_dir():
                folders.setdefault(root, place)
    return folders


def use_own_models(folder: Path | None = OWN_MODELS) -> None:
    """Let this process find models in the files of a folder. Without this call, no such folder is read.

    folder: by default, `models` in the working folder. It need not exist. With None, no folder is read any more.
    """
    global _own_models
    _own_models = folder


def own_models() -> Path | None:
    """Return the folder that `use_own_models` enabled if it exists, otherwise None."""
    return _own_models if _own_models is not None and _own_models.is_dir() else None
