"""The interface of a model.

A model is one file or one folder in `gradrank/models/`, one file in `models/` of the working folder, or one file or
folder in a package of another distribution. An entry point of the group `gradrank.models` declares such a package. A
model file defines the parameters with their sources, and the class of the model. The class has the decorator
`@register("name")` and the methods `fit`, `score`, `save` and `load`. No other file in the project needs to mention the
model. Every command that checks params.yaml imports all model files. Therefore model files import only cheap modules at
the top (NumPy and this module). They import torch, Numba, LightGBM and scikit-learn in `fit`, `score` and `load`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.training.scoring_form import NoScoringForm, ScoringForm
from gradrank.training.search_space import Dimension

# The part of the labels (grades or gains) that a method reads:
# "order": only which of two labels is higher;
# "numbers": the labels as numbers, for example as targets of a regression;
# "gains": the gains of NDCG, which are 2^grade - 1 unless the user gives others;
# "grades": few ordered grades, for example because it learns one threshold per grade;
# "exponential": the gains 2^grade - 1 and no others.
LabelReading = Literal["order", "numbers", "gains", "grades", "exponential"]


class ModelParams(BaseModel):
    """The base class of all model parameters. Unknown keys, wrong types and non-finite numbers are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=False)

    def modules(self) -> tuple[str, ...]:
        """Return the names of modules that the parameters select by name, such as the module of a loss.

        The model is retrained if one of these modules changes. These modules must be listed, because no import
        statement leads to them. A subclass adds its own modules to those of `super().modules()`.
        """
        return ()


def param(default: Any, source: str, **constraints: Any) -> Any:
    """Return the pydantic field of a parameter with the value `default`.

    source: the origin of the default, which is a paper and section, a library, or a measurement. constraints: keyword
    arguments of `pydantic.Field`.
    """
    return Field(default, description=source, **constraints)


P = TypeVar("P", bound=ModelParams)


class Callback(Protocol):
    """A function that `fit` calls once per epoch, boosting round or grid point, to record the history.

    step: number of the step, from 1. values: measurements of the step; the keys are their names.
    """

    def __call__(self, step: int, **values: float) -> None: ...


class Model(ABC, Generic[P]):
    """A trained ranker. `fit` receives the training and validation parts, but never the test part.

    P is the class of the parameters, as in `class Regression(Model[RegressionParams])`. The attribute `Params` must be
    the same class.
    """

    name: ClassVar[str]
    Params: ClassVar[type[ModelParams]]
    summary: ClassVar[str]  # one line for `gradrank models`: the method and its paper
    needs_pairs: ClassVar[bool] = False  # if True, `fit` reads `train.targets` or `train.pairs`, so pairs are stored
    # Properties of the data that the model accepts. All checks and tables read them in gradrank.training.accepted_data.
    takes_missing: ClassVar[bool] = False  # if True, the model accepts features that are NaN
    takes_categories: ClassVar[bool] = False  # if True, the model accepts categorical features without an encoding
    takes_sparse: ClassVar[bool] = False  # if True, the model accepts features as a SciPy CSR matrix
    # If True, `fit` and `score` pass `thread_count()` to a library, and their results do not depend on it.
    uses_threads: ClassVar[bool] = False
    # The weights that `fit` uses: any `train.weights` ("documents"), only weights that are equal within each query
    # ("queries"), or none. Weights that a model cannot use are refused. `fit` may assume that they are positive and not
    # all 1.
    uses_weights: ClassVar[Literal["documents", "queries"] | None] = None
    # The part of the labels that `fit` reads. Methods that read grades or exponential gains refuse other labels.
    reads_labels: ClassVar[LabelReading] = "exponential"
    requires: ClassVar[tuple[str, ...]] = ()  # importable packages that a plain install lacks
    extra: ClassVar[str | None] = None  # the optional extra of gradrank that installs `requires`
    # If True, `fit` learns from `vali`. The validation values are then biased, so `gradrank tune` rejects the model.
    learns_on_validation: ClassVar[bool] = False
    # The search space of `gradrank tune`; key: name of a parameter. Parameters of type Grid are added automatically.
    space: ClassVar[Mapping[str, Dimension]] = MappingProxyType({})
    # The values of the paper or library, for parameters whose default in Params was chosen on the data of this project.
    # key: name of a parameter. `gradrank tune` tries these values first.
    published: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    @classmethod
    def members(cls, params: P) -> tuple[str, ...]:
        """Return the names of the member models whose scores are this model's features. Each member is one column.

        The tuple is empty if the model uses the features of the data set.
        """
        return ()

    @classmethod
    def uses_seed(cls, params: P) -> bool:
        """Return whether `fit` uses random numbers. If False, the model is trained with one seed only."""
        return True

    @classmethod
    def label_reading(cls, params: P) -> LabelReading:
        """Return what `fit` reads of the labels with these parameters."""
        return cls.reads_labels

    @classmethod
    @abstractmethod
    def fit(cls, train: Collection, vali: Collection, params: P, seed: int, callback: Callback) -> Self:
        """Train on `train`, select on `vali`, and return the model. With equal arguments, `save` writes equal bytes."""

    @property
    def scores_whole_queries(self) -> bool:
        """True if the score of a document depends on the other documents of its query."""
        return False

    @abstractmethod
    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return (n,) float64 scores of (n, d) float32 features. Higher scores rank first.

        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1]. Only models for which
        `scores_whole_queries` is True use the offsets.
        """

    def check_width(self, features: int) -> None:
        """Raise GradrankError if a loaded model is not for documents with this number of features.

        It is called after `load`. A model that does not override this method must check the features in `score`.
        """
        return

    def scoring_form(self, features: int) -> ScoringForm:
        """Return the formula of the scores, for export to other programs and for explanations.

        features: the number of features d. Raises NoScoringForm, a GradrankError, if the scores cannot be written as
        one of the forms in gradrank.training.scoring_form. A model that does not override this method has no form.
        """
        raise NoScoringForm(f"the class {type(self).__name__} does not define scoring_form")

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the model into an existing, empty folder as safetensors, LightGBM text or JSON, never as pickle."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that `save` wrote to `folder`. Its scores are bit-identical to those of the saved model.

        The files may be damaged or edited: see gradrank.training.model_files. Raises GradrankError in this case.
        """


registered: dict[str, type[Model]] = {}  # the models of all files imported so far, by name

M = TypeVar("M", bound=Model)


def register(name: str) -> Callable[[type[M]], type[M]]:
    """Return a class decorator that registers a Model as `name` for the CLI, the workflow and the contract tests.

    The decorator raises GradrankError if the class does not define everything that a model needs, or if another model
    has this name.
    """

    def decorate(cls: type[M]) -> type[M]:
        check_model_class(cls, name)
        if name in registered:
            raise GradrankError(
                f"duplicate model name {name!r} in {registered[name].__module__} and {cls.__module__}. "
                "Fix: rename one, or uninstall one of the packages"
            )
        cls.name = name
        registered[name] = cls
        return cls

    return decorate


def check_model_class(cls: type, name: str) -> None:
    """Check that the class of the model `name` derives from Model and defines everything that a model needs.

    Raises GradrankError if `fit`, `score`, `save` or `load` is missing, `Params` is not a subclass of ModelParams,
    `summary` is not a non-empty string, or `uses_weights` is not one of its three values. The error names the class and
    everything that is missing.
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
    if getattr(cls, "uses_weights", None) not in (None, "queries", "documents"):
        missing.append("uses_weights ('queries', 'documents' or None)")
    if missing:
        raise GradrankError(
            f"{cls.__module__}.{cls.__qualname__}: the class of model {name!r} does not define {', '.join(missing)}. "
            "Fix: define them in the class, as gradrank/models/regression.py does"
        )
