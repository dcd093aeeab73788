"""Ranking of new data with a trained fold, in bounded memory. MLflow loads a fold as a pyfunc with this module."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.extras import require
from gradrank.base.files import atomic
from gradrank.base.results import MODEL, SPEC, FoldFolder
from gradrank.data.reader import FRAME, Batch, TrainingSchema, batches, read_new
from gradrank.data.tables.roles import Columns
from gradrank.training.members import copied_members, member_features
from gradrank.training.model import Model
from gradrank.training.registry import get_model
from gradrank.training.score_checks import check_scores

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

RETRAIN = "Fix: train the fold again or restore the folder; it is damaged or was edited"


class Ranker:
    """A trained fold that scores documents.

    model: the model. trained: the number, names and form of the features in its training data. members: the rankers of
    the member models if the model combines the scores of other models, else empty.
    """

    def __init__(self, model: Model, trained: TrainingSchema, members: Sequence["Ranker"] = ()) -> None:
        self.model, self.trained, self.members = model, trained, members

    @classmethod
    def load(cls, fold: Path | str) -> "Ranker":
        """Load a fold: results/<dataset>/<model>/fold<k>, or any folder with its spec.json and model/.

        Raises GradrankError if the folder is not a trained fold, is damaged or was edited.
        """
        folder = FoldFolder(Path(fold))
        if not folder.finished or not folder.model_path.is_dir():
            raise GradrankError(
                f"{fold}: not a trained model; expected a folder with {SPEC} and {MODEL}/, such as "
                "results/mq2007/ranksvm/fold1"
            )
        spec = folder.spec()
        try:
            name, trained, files = str(spec["model"]), TrainingSchema.of(spec), spec.get("files", {})
            model_files = [folder.folder / path for path in files if path.startswith(f"{MODEL}/")]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise GradrankError(f"{folder.spec_path}: not a model's specification ({error!r}). {RETRAIN}") from None
        for path in model_files:
            folder.check(path)
        members = [cls.load(member.folder) for member in copied_members(folder)]
        return cls(_load_model(name, folder), trained, members)

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return (n,) float64 scores of (n, d) features; query q has the rows offsets[q]:offsets[q+1].

        Raises GradrankError for a feature that is not finite, and if the model returns invalid scores. A missing value
        (nan) is allowed if the model accepts missing values.
        """
        features = np.ascontiguousarray(features, dtype=np.float32)
        if self.members:
            features = member_features([member.score(features, offsets) for member in self.members])
        bad = np.isinf(features) if self.model.takes_missing else ~np.isfinite(features)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            name = "" if self.members else self.trained.shown(column)
            allowed = "finite numbers or missing values" if self.model.takes_missing else "finite numbers"
            value = f"feature {column + 1}{name} is {features[row, column]} in a row"
            raise GradrankError(f"{value}; {self.model.name} takes only {allowed}")
        return check_scores(self.model.score(features, offsets), len(features), f"{self.model.name}: scores")

    def predict(self, table: "pandas.DataFrame | polars.DataFrame | pyarrow.Table") -> np.ndarray:
        """Return (n,) scores of a table whose columns have the names of the training features; called by MLflow.

        A table without a column of query ids counts as one query. Raises GradrankError for missing or malformed
        columns.
        """
        reading = read_new(_polars(table), self.trained, roles=())
        return np.concatenate([self.score(batch.features, batch.offsets) for batch in batches(reading)])


def _polars(table: "pandas.DataFrame | polars.DataFrame | pyarrow.Table") -> "polars.DataFrame":
    """Return the table as a Polars table without its index."""
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


def _load_model(name: str, fold: FoldFolder) -> Model:
    cls = get_model(name)
    try:
        return cls.load(fold.model_path)
    except Exception as error:  # each library raises its own types of error
        raise GradrankError(f"{fold.model_path}: cannot be read as {name} ({error!r}). {RETRAIN}") from error


def _load_pyfunc(path: str) -> Ranker:
    """Load a fold for `mlflow.pyfunc.load_model`; `gradrank.tracking.content` records this module as the loader."""
    return Ranker.load(path)


def predict(
    fold: Path,
    data: Path,
    out: Path | None = None,
    form: Literal["letor", "trec"] = "letor",
    columns: Columns | None = None,
) -> int:
    """Score `data` with the model in `fold`, write the scores and return the number of documents.

    data: a file in any form that training reads. out: file to write, which is replaced only when complete; if None,
    scores are printed. form: `letor` writes one score per line in row order, `trec` writes a run as returned by
    `gradrank.evaluation.export.trec_run`. columns: names of the columns of a table, if they differ from
    those of the training data.

    Raises GradrankError if the folder has no model, if features are missing or the model was trained without them, and
    for malformed input.
    """
    if form not in ("letor", "trec"):
        raise GradrankError(f"form {form!r}: expected 'letor' or 'trec'")
    ranker, rows, unnamed = Ranker.load(fold), 0, 0
    reading = read_new(Path(data), ranker.trained, columns)
    with _opened(out) as stream:
        for batch in batches(reading):
            scores = ranker.score(batch.features, batch.offsets)
            if form == "letor":
                stream.writelines(f"{score!r}\n" for score in scores.tolist())
            else:
                stream.write(_trec_run(batch, scores, rows, ranker.model.name))
                unnamed += batch.docids.count(None)
            rows += len(scores)
    if unnamed:
        print(
            f"note: {data}: {unnamed} documents have no id; the run uses their row numbers, from 1, as ids, as "
            "`gradrank evaluate` does",
            file=sys.stderr,
        )
    return rows


def _trec_run(batch: Batch, scores: np.ndarray, before: int, tag: str) -> str:
    import polars as pl

    from gradrank.evaluation.document_ids import document_ids
    from gradrank.evaluation.export import trec_run

    names = document_ids(pl.Series(batch.docids, dtype=pl.String), len(scores), before)
    return trec_run(scores, batch.offsets, batch.qids, names, tag)


@contextmanager
def _opened(out: Path | None) -> Iterator[TextIO]:
    """Open `out` for writing. Without a path, yield standard output."""
    if out is not None:
        with atomic(out) as partial, partial.open("w", encoding="utf-8") as stream:
            yield stream
        return
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:  # a reader such as `head` closed the pipe; prevent another flush at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
