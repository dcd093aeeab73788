"""The interface of a model.

A model is one file or one folder in `gradrank/models/`, or one file in `models/` of the working folder. It has
parameters with their sources, `fit`, `score`, `save`, `load` and the decorator `@register("name")`. Nothing else in the
project names it. Every command that checks params.yaml imports all model files, so these import only cheap modules at
the top (NumPy and this one). They import torch, Numba, LightGBM and scikit-learn in `fit`, `score` and `load`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.training.search_space import Dimension


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


P = TypeVar("P", bound=ModelParams)


class Callback(Protocol):
    """Called once an epoch or boosting round (or grid point); keeps the history and shows progress."""

    def __call__(self, step: int, **values: float) -> None: ...


class Model(ABC, Generic[P]):
    """A trained ranker. `fit` sees the training and validation parts only; the test part never reaches it.

    P: the class of its parameters, as in `class Regression(Model[RegressionParams])`; `Params` names the same class.
    """

    name: ClassVar[str]
    Params: ClassVar[type[ModelParams]]
    summary: ClassVar[str]  # one line for `gradrank models`: what it is and the paper it is from
    needs_pairs: ClassVar[bool] = False  # True: its jobs wait for the stored pairs: `train.targets`, `train.pairs`
    takes_missing: ClassVar[bool] = False  # True: a feature may be NaN, for which the model has a way of its own
    requires: ClassVar[tuple[str, ...]] = ()  # importable packages that a plain install lacks
    extra: ClassVar[str | None] = None  # the optional extra of the package that installs them
    # True: `fit` learns from `vali`, so that values there judge nothing, and `gradrank tune` has no choice to make.
    learns_on_validation: ClassVar[bool] = False
    # The search space of `gradrank tune`, by parameter. Parameters declared as Grid are added automatically.
    space: ClassVar[Mapping[str, Dimension]] = MappingProxyType({})
    # The first configuration tried, where a default of Params was chosen here: the paper's values, or the library's.
    published: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    @classmethod
    def members(cls, params: P) -> tuple[str, ...]:
        """Models whose scores, one column each in this order, are this one's features; none: the data's."""
        return ()

    @classmethod
    def uses_seed(cls, params: P) -> bool:
        """Whether chance plays a part in `fit`. What says no is trained once, however many seeds there are."""
        return True

    @classmethod
    @abstractmethod
    def fit(cls, train: Collection, vali: Collection, params: P, seed: int, callback: Callback) -> Self:
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


registered: dict[str, type[Model]] = {}  # by name, of the model files that this process has imported


M = TypeVar("M", bound=Model)


def register(name: str) -> Callable[[type[M]], type[M]]:
    """Class decorator: make a Model known to the command line, the workflow and the contract tests as `name`."""

    def decorate(cls: type[M]) -> type[M]:
        check_model_class(cls, name)
        if name in registered:
            raise ValueError(f"two models are called {name!r}: {registered[name].__module__}, {cls.__module__}")
        cls.name = name
        registered[name] = cls
        return cls

    return decorate


def check_model_class(cls: type, name: str) -> None:
    """Check that `cls`, which is to be registered as `name`, defines everything that a model needs.

    Raises GradrankError, naming the class and all that it lacks, unless `cls` derives from Model and defines `fit`,
    `score`, `save`, `load`, `Params` (a subclass of ModelParams) and `summary` (a non-empty string).
    """
    missing: list[str] = sorted(getattr(cls, "__abstractmethods__", ()))
    if not issubclass(cls, Model):
        missing.append("the base class gradrank.training.model.Model")
    params = getattr(cls, "Params", None)
    if not (isinstance(params, type) and issubclass(params, ModelParams)):
        missing.append("Params (a subclass of ModelParams)")
    summary = getattr(cls, "summary", None)
    if not (isinstance(summary, str) and summary.strip()):
        missing.append("summary (a non-empty string)")
    if missing:
        raise GradrankError(
            f"{cls.__module__}.{cls.__qualname__}: the class of model {name!r} does not define {', '.join(missing)}. "
            "Fix: define them in the class, as gradrank/models/regression.py does"
        )
