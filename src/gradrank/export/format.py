"""The interface of a model format.

A format is one file in gradrank/export/formats/. The file has the name of the format. It defines one subclass of
ModelFormat, which writes a model, and one subclass of Reader, which computes scores from a written file alone. No other
file mentions the format. Format files import the packages of other projects in their functions.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.normalisation import Normaliser
from gradrank.data.preparation import Step
from gradrank.export.engines import MissingRule, Target
from gradrank.training.scoring_form import Combined, KernelForm, NetForm, ScoringForm, Tree


class NotExpressible(GradrankError):
    """Raised by `ModelFormat.write` if the format cannot express the model.

    The message is a clause with the reason, such as "the format has only trees, and the model is a neural net".
    """


@dataclass(frozen=True)
class ExportedModel:
    """A trained model that is written in a format.

    Parameters
    ----------
    form
        The formula of the scores for prepared features.
    names
        The names of the d features.
    normaliser
        The normalisation of the prepared features; None if they are not normalised. `global` depends on one document
        and may become a part of the written model. `query` needs all documents of a query.
    takes_missing
        True if a feature may be missing (NaN).
    folder
        The folder with the files that `Model.save` wrote, for formats that copy a file; None without such files.
    steps
        The columns that the features become before the normalisation, without missing values and categories. None if
        they stay as they are.
    levels
        A dict from the name of a feature with categories to its levels.
    target
        The search engine that reads the file; None for no particular one.
    data_sha256
        The SHA-256 digest of the training data; empty if it is unknown.
    """

    form: ScoringForm
    names: tuple[str, ...]
    normaliser: Normaliser | None = None
    takes_missing: bool = False
    folder: Path | None = None
    steps: tuple[Step, ...] | None = None
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    target: Target | None = None
    data_sha256: str = ""

    def missing_is(self, rule: MissingRule) -> bool:
        """Return True if the search engine may follow this rule for missing features."""
        return self.target is not None and rule in self.target.missing

    def check_missing_as_zero(self, trees: Sequence[Tree]) -> None:
        """Raise NotExpressible if trees have branches for missing values, and the engine puts 0 in place of them."""
        if self.takes_missing and self.missing_is("zero") and has_missing_branches(trees):
            raise NotExpressible(
                f"the trees have branches for missing values, which this engine may not follow: {self.target}"
            )

    def normaliser_of_documents(self) -> Normaliser | None:
        """Return the normaliser for a format whose scores depend on one document.

        Raises NotExpressible if the features are normalised within each query.
        """
        if self.normaliser is not None and self.normaliser.method == "query":
            raise NotExpressible(
                "the features are normalised within each query, and the format scores one document at a time"
            )
        return self.normaliser


def is_computed_in_float32(form: ScoringForm) -> bool:
    """Return True if gradrank computes a part of the scores in float32, as in nets and kernels."""
    if isinstance(form, Combined):
        return any(map(is_computed_in_float32, form.forms))
    return isinstance(form, NetForm | KernelForm)


def has_missing_branches(trees: Sequence[Tree]) -> bool:
    """Return whether a node sends missing values to another child than 0."""
    return any((tree.missing_left != (tree.threshold >= 0.0))[tree.feature >= 0].any() for tree in trees)


class Reader(ABC):
    """A model that was read from an exported file. It shares no code with the writer."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...] | None:
        """The names of the d features, in the order of the columns that `scores` takes; None if the file has none."""

    @abstractmethod
    def scores(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return (n,) float64 scores of (n, d) float32 features, before any normalisation.

        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        """

    def scores_under(self, rule: MissingRule, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the scores of an engine that follows a rule for missing features (NaN)."""
        if rule == "zero":
            features = np.where(np.isnan(features), np.float32(0.0), features)
        return self.scores(features, offsets)


class ModelFormat(ABC):
    """A file format for trained models.

    name: the name for `gradrank export-model --to`, which is the name of the file with hyphens. summary: one line about
    the format. tolerance: the largest allowed difference of a score for any model; see `tolerance_of`. extension: the
    usual suffix of a file, such as ".json". expresses_steps: True if the format expresses `ExportedModel.steps`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    tolerance: ClassVar[float]
    extension: ClassVar[str]
    expresses_steps: ClassVar[bool] = False

    def tolerance_of(self, form: ScoringForm) -> float:
        """Return the largest allowed difference of a score for a form.

        The difference is relative to the larger of 1 and the largest absolute score of the checked data.
        """
        return self.tolerance

    @abstractmethod
    def write(self, model: ExportedModel, out: Path) -> list[Path]:
        """Write the model to `out` and return all written files, in the folder of `out`. `read` takes the first one.

        The folder of `out` is a new one that the caller moves, so `write` need not be atomic. Raises NotExpressible,
        before it writes, if the format cannot express the model.
        """

    @abstractmethod
    def read(self, path: Path) -> Reader:
        """Return an independent reader of a written file. Raises GradrankError if the file is malformed."""
