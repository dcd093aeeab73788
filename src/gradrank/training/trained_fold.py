"""A trained fold in memory, with the description of its training data, and the members of a model that combines scores.

A member is one of the models whose scores are combined.
"""

from collections.abc import Mapping, Sequence
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ConfigDict, Field

from gradrank.base.conventions import LETOR4
from gradrank.base.errors import GradrankError, require
from gradrank.base.stamps import CHECKSUM, MARKER, write_stamp
from gradrank.data.reader import FRAME, TrainingSchema, batches, read_new
from gradrank.training.fold_folder import MODEL, SPEC, FoldFolder
from gradrank.training.model import Model
from gradrank.training.model_files import RESTORE, Content, checked, damaged
from gradrank.training.registry import get_model
from gradrank.training.score_checks import check_scores

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


def member_features(scores: Sequence[np.ndarray]) -> np.ndarray:
    """Return (n, m) float32 features, whose columns are the (n,) scores of m members."""
    return np.stack(scores, axis=1).astype(np.float32)


def copied_members(fold: FoldFolder) -> list[FoldFolder]:
    """Return the members that `copy_members` copied into `fold`, in the same order."""
    return list(takewhile(lambda member: member.finished, map(fold.member, count(1))))


MOST_FEATURES = 10_000_000  # more than any data set has
STAMP_KEYS = (MARKER, "schema", "files", CHECKSUM)  # the entries of spec.json that `write_stamp` adds


class SpecContent(Content):
    """The entries of spec.json that a trained model needs. `TrainingSchema` checks the entries about the features."""

    model_config = ConfigDict(extra="ignore")  # the other entries describe the training

    model: str
    params: dict[str, Any] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    features: int = Field(ge=1, le=MOST_FEATURES)
    sparse: bool = False
    names: list[str] | None = None
    convention: str = LETOR4.name
    job_seed: int | None = Field(None, ge=0, lt=2**31)


class TrainedFold:
    """A trained fold that scores documents.

    model: the model. spec: the entries of spec.json, without checksums. schema: the number, names and form of the
    features in the training data. members: the folds of the member models if the model combines the scores of other
    models, else empty.
    """

    def __init__(self, model: Model, spec: Mapping[str, Any], members: Sequence["TrainedFold"] = ()) -> None:
        self.model, self.members = model, members
        self.spec = {key: value for key, value in spec.items() if key not in STAMP_KEYS}
        self.schema = TrainingSchema.of(spec)

    @classmethod
    def load(cls, fold: Path | str) -> "TrainedFold":
        """Load a fold: results/<dataset>/methods/<model>/fold<k>, or any folder with the files of a fold.

        Raises GradrankError if the folder is not a trained fold, is damaged or was edited.
        """
        folder = FoldFolder(Path(fold))
        example = f"a folder with {SPEC} and {MODEL}/, such as results/mq2007/methods/ranksvm/fold1"
        try:
            is_trained = folder.finished and folder.model_path.is_dir()
        except OSError as error:  # for example a name that is too long
            raise GradrankError(f"{fold}: cannot be opened ({error.strerror}). Fix: give {example}") from None
        if not is_trained:
            raise GradrankError(f"{fold}: not a trained model. Fix: give {example}")
        spec = folder.spec()
        checked(folder.spec_path, spec, SpecContent)
        try:
            schema = TrainingSchema.of(spec)
        except (GradrankError, KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise damaged(folder.spec_path, f"not a model's specification ({error!r})") from None
        _check_files(folder, spec.get("files", {}))
        members = [cls.load(member.folder) for member in copied_members(folder)]
        return cls(_load_model(folder, spec, len(schema.sources), len(members)), spec, members)

    def save(self, folder: FoldFolder) -> None:
        """Write model/ and spec.json into an existing folder without these files. `load` reads them."""
        folder.model_path.mkdir(exist_ok=True)
        self.model.save(folder.model_path)
        for number, member in enumerate(self.members, start=1):
            folder.member(number).folder.mkdir(parents=True)
            member.save(folder.member(number))
        files = (path for path in folder.folder.rglob("*") if path.is_file())
        write_stamp(folder.spec_path, self.spec, files)

    @property
    def scores_whole_queries(self) -> bool:
        """True if the score of a document depends on the other documents of its query."""
        normaliser = self.schema.normaliser
        by_query = normaliser is not None and normaliser.method == "query"
        return by_query or self.model.scores_whole_queries or any(fold.scores_whole_queries for fold in self.members)

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return (n,) float64 scores of (n, d) features; query q has the rows offsets[q]:offsets[q+1].

        The features are normalised as those of the training data were. Raises GradrankError if a feature is not finite,
        or if the model returns invalid scores. A missing value (nan) is allowed if the model accepts missing values.
        """
        features = np.ascontiguousarray(features, dtype=np.float32)
        if self.members:
            features = member_features([member.score(features, offsets) for member in self.members])
        bad = np.isinf(features) if self.model.takes_missing else ~np.isfinite(features)
        if not self.members and self.schema.preparation.steps is not None:
            bad &= ~(np.isnan(features) & self.schema.replaces_missing)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            name = "" if self.members else self.schema.shown(column)
            allowed = "finite numbers or missing values" if self.model.takes_missing else "finite numbers"
            value = f"feature {column + 1}{name} is {features[row, column]} in one of the rows"
            raise GradrankError(f"{value}; {self.model.name} takes only {allowed}")
        if not self.members:
            features = self.schema.preparation(features, offsets)
        return check_scores(self.model.score(features, offsets), len(features), f"{self.model.name}: scores")

    def predict(self, table: "pandas.DataFrame | polars.DataFrame | pyarrow.Table") -> np.ndarray:
        """Return the (n,) scores of a table whose columns have the names of the training features. MLflow calls it.

        A table without a column of query ids counts as one query. Raises GradrankError for missing or malformed
        columns.
        """
        reading = read_new(_polars(table), self.schema, roles=())
        return np.concatenate([self.score(batch.features, batch.offsets) for batch in batches(reading)])


def _polars(table: "pandas.DataFrame | polars.DataFrame | pyarrow.Table") -> "polars.DataFrame":
    """Return the table as a Polars table. The index of a pandas table is dropped."""
    import polars as pl

    if isinstance(table, pl.DataFrame):
        return table
    require("pandas", "pyarrow", extra="pandas", needed_by=FRAME)
    import pyarrow as pa

    frame = table.to_pandas() if isinstance(table, pa.Table) else table
    names = [str(name) for name in frame.columns]
    if len({*names}) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise GradrankError(f"{FRAME}: {names.count(repeated)} columns are called {repeated!r}")
    try:
        return pl.from_pandas(frame.set_axis(names, axis="columns"))
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise GradrankError(f"{FRAME}: a column has mixed types: {str(error).splitlines()[0]}") from None


def _check_files(fold: FoldFolder, files: Mapping[str, str]) -> None:
    """Check the files of the model against the stamp of the fold, which has all of them, or none if it has no files."""
    listed = {fold.folder / path for path in files if path.startswith(f"{MODEL}/")}
    found = {path for path in fold.model_path.rglob("[!.]*") if not path.is_dir()}
    if special := [path for path in found if not path.is_file()]:
        raise damaged(special[0], "not a regular file")
    for path in sorted(listed):
        fold.check(path)
    if listed and found - listed:
        raise damaged(fold.spec_path, f"does not list the file {min(found - listed)} of the model")


def _load_model(fold: FoldFolder, spec: Mapping[str, Any], features: int, members: int) -> Model:
    """Return the checked model of a fold. members: the number of its members."""
    name = spec["model"]
    try:
        cls = get_model(name)
    except GradrankError as error:
        raise GradrankError(f"{fold.spec_path}: {error}") from None
    expected = cls.members(cls.Params.model_construct(**spec.get("params", {})))
    if len(expected) != members:
        raise damaged(fold.model_path, f"{members} members, but {name} combines the scores of {len(expected)} models")
    try:
        model = cls.load(fold.model_path)
        model.check_width(members or features)
        return model
    except GradrankError as error:
        where = str(fold.model_path)
        raise error if where in str(error) else GradrankError(f"{where}: {error}") from None
    except Exception as error:  # each library raises its own types of error
        raise GradrankError(f"{fold.model_path}: cannot be read as {name} ({error!r}). {RESTORE}") from error
