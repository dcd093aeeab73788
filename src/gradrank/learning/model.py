"""What a model is, and the registry that finds them.

A model is one file in `gradrank/models/`, or in `models/` of the working folder: parameters with their sources, `fit`,
`score`, `save`, `load`, and the decorator `@register("name")`. Nothing else in the project names it. Model files import
at their top only what is cheap (numpy, this module); torch, numba, LightGBM, scikit-learn and everything built on them
are imported inside `fit`, `score` and `load`, because every command that validates params.yaml imports all of them.
"""

import importlib
import pkgutil
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from gradrank.data.collection import Collection
from gradrank.errors import GradrankError, unknown
from gradrank.files import OWN_MODELS
from gradrank.learning.space import Dimension

MARK = "gradrank.learning.model"  # what every model file imports, and other files in a folder of that name do not


class ModelParams(BaseModel):
    """Base of every model's parameters: unknown keys, wrong types and non-finite numbers are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=False)

    def modules(self) -> tuple[str, ...]:
        """Return the modules of the package that a value names, such as a loss's, and that no file imports.

        A model is trained again when one of them changes. Each parameter adds its own, whatever the others' values.
        """
        return ()


def param(default: Any, source: str, **constraints: Any) -> Any:
    """A parameter's default with its source (paper, section; or how it was measured) and pydantic constraints."""
    return Field(default, description=source, **constraints)


class Callback(Protocol):
    """Called once an epoch or boosting round (or grid point); keeps the history and shows progress."""

    def __call__(self, step: int, **values: float) -> None: ...


class Model(ABC):
    """A trained ranker. `fit` sees the training and validation parts only; the test part never reaches it."""

    name: ClassVar[str]
    Params: ClassVar[type[ModelParams]]
    summary: ClassVar[str]  # one line for `gradrank models`: what it is and the paper it is from
    needs_pairs: ClassVar[bool] = False  # True: its jobs wait for the stored pairs: `train.targets`, `train.pairs`
    takes_missing: ClassVar[bool] = False  # True: a feature may be NaN, for which the model has a way of its own
    requires: ClassVar[tuple[str, ...]] = ()  # importable packages that a plain install lacks
    extra: ClassVar[str | None] = None  # the optional extra of the package that installs them
    # True: `fit` learns from `vali`, so that values there judge nothing, and `gradrank tune` has no choice to make.
    learns_on_validation: ClassVar[bool] = False
    # What `gradrank tune` draws from, by parameter. Lists of numbers that the model itself searches are in it anyway.
    space: ClassVar[Mapping[str, Dimension]] = MappingProxyType({})
    # The first configuration tried, where a default of Params was chosen here: the paper's values, or the library's.
    published: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    @classmethod
    def members(cls, params: ModelParams) -> tuple[str, ...]:
        """Models whose scores, one column each in this order, are this one's features; none: the data's."""
        return ()

    @classmethod
    def uses_seed(cls, params: ModelParams) -> bool:
        """Whether chance plays a part in `fit`. What says no is trained once, however many seeds there are."""
        return True

    @classmethod
    @abstractmethod
    def fit(cls, train: Collection, vali: Collection, params: ModelParams, seed: int, callback: Callback) -> Self:
        """Train on `train`, select on `vali`. Equal arguments give equal bytes in `save`."""

    @abstractmethod
    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """(n,) float64 scores of (n, d) float32 features; higher ranks first.

        `offsets` (q+1,) marks the queries, for the few rankers whose score depends on the whole list.
        """

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the model into an existing empty folder: safetensors, LightGBM text or JSON; never pickle."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote; scores are bit-identical to the saved model's."""


_registered: dict[str, type[Model]] = {}


def register(name: str) -> Callable[[type[Model]], type[Model]]:
    """Class decorator: make a Model known to the command line, the workflow and the contract tests as `name`."""

    def decorate(cls: type[Model]) -> type[Model]:
        if name in _registered:
            raise ValueError(f"two models are called {name!r}: {_registered[name].__module__}, {cls.__module__}")
        cls.name = name
        _registered[name] = cls
        return cls

    return decorate


@cache
def models() -> dict[str, type[Model]]:
    """Every registered model by name, in alphabetical order.

    Raises GradrankError for a file of one's own that cannot be imported.
    """
    package = importlib.import_module("gradrank.models")
    shipped = sorted(info.name for info in pkgutil.iter_modules(package.__path__[:1]))
    for module in shipped:
        importlib.import_module(f"gradrank.models.{module}")
    if OWN_MODELS.is_dir() and not OWN_MODELS.samefile(package.__path__[0]):
        package.__path__[1:] = [str(OWN_MODELS.resolve())]
        for path in sorted(OWN_MODELS.glob("[!._]*.py")):
            _import_own(path, shipped)
    return dict(sorted(_registered.items()))


def _import_own(path: Path, shipped: list[str]) -> None:
    """Import a user's file as a module of `gradrank.models`, if it is a model's."""
    if MARK not in path.read_text(encoding="utf-8", errors="replace"):
        return
    if path.stem in shipped:
        raise GradrankError(f"{path}: gradrank has a file of this name; rename yours")
    try:
        importlib.import_module(f"gradrank.models.{path.stem}")
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path.resolve())]
        where = f"{path}, line {lines[-1]}" if lines else str(path)
        raise GradrankError(
            f"{where}: {type(error).__name__}: {error}; mend it, or take the file out of {OWN_MODELS}/"
        ) from error


def get_model(name: str) -> type[Model]:
    """The class registered as `name`. Raises GradrankError with the nearest name otherwise."""
    _import_declaring(name)
    known = _registered if name in _registered else models()
    if name not in known:
        raise GradrankError(
            f"{unknown('model', name, known)}; one of your own is a file in {OWN_MODELS}/ of this folder"
        )
    return known[name]


def _import_declaring(name: str) -> None:
    """Import the files in which `name` is registered as usual: a job has no use for the others."""
    for path in importlib.import_module("gradrank.models").__path__:
        for file in sorted(Path(path).glob("*.py")):
            if f'@register("{name}")' in file.read_text(encoding="utf-8"):
                importlib.import_module(f"gradrank.models.{file.stem}")


def training_modules(cls: type[Model], params: ModelParams) -> tuple[str, ...]:
    """Return the modules whose code, with all they import, decides what `cls` learns with `params`."""
    return cls.__module__, *params.modules()


def missing_packages(cls: type[Model]) -> list[str]:
    """The packages of `cls.requires` that are not installed here."""
    return [package for package in cls.requires if find_spec(package) is None]
