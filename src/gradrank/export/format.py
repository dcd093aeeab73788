"""The interface of a model format.

A format is one file in gradrank/export/formats/. The file has the name of the format. It defines one subclass of
ModelFormat, which writes a model, and one subclass of Reader, which computes scores from a written file alone. No other
file mentions the format. Format files import the packages of other projects in their functions.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.normalisation import Normaliser
from gradrank.training.scoring_form import AttentionForm, Combined, KernelForm, NetForm, ScoringForm, StepsForm


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
        The formula of the scores for normalised features.
    names
        The names of the d features.
    normaliser
        The normalisation of the features of the data set; None if the features are not normalised. `global` depends on
        one document and may become a part of the written model. `query` needs all documents of a query.
    takes_missing
        True if a feature may be missing (NaN).
    folder
        The folder with the files that `Model.save` wrote, for formats that copy a file; None without such files.
    """

    form: ScoringForm
    names: tuple[str, ...]
    normaliser: Normaliser | None = None
    takes_missing: bool = False
    folder: Path | None = None

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
    return isinstance(form, NetForm | AttentionForm | StepsForm | KernelForm)


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


class ModelFormat(ABC):
    """A file format for trained models.

    name: the name for `gradrank export-model --to`, which is the name of the file with hyphens. summary: one line about
    the format. tolerance: the largest allowed difference of a score for any model; see `tolerance_of`. extension: the
    usual suffix of a file, such as ".json".
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    tolerance: ClassVar[float]
    extension: ClassVar[str]

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
