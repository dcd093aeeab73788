"""Rank new data with a trained fold, in bounded memory; the same fold as an MLflow pyfunc."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

import numpy as np

from gradrank.base.errors import GradrankError
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

AGAIN = "damaged or edited: train it again, or get it anew"


class Ranker:
    """A trained fold: its model, what it was trained on, and its members if any."""

    def __init__(self, model: Model, trained: TrainingSchema, members: Sequence["Ranker"] = ()) -> None:
        self.model, self.trained, self.members = model, trained, members

    @classmethod
    def load(cls, fold: Path | str) -> "Ranker":
        """results/<dataset>/<model>/fold<k>, or any folder with its spec.json and model/."""
        own = FoldFolder(Path(fold))
        if not own.finished or not own.model_path.is_dir():
            raise GradrankError(
                f"{fold}: not a trained model; expected a folder with {SPEC} and {MODEL}/, such as "
                "results/mq2007/ranksvm/fold1"
            )
        spec = own.spec()
        try:
            name, trained, files = str(spec["model"]), TrainingSchema.of(spec), spec.get("files", {})
            checked_files = [own.folder / path for path in files if path.startswith(f"{MODEL}/")]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise GradrankError(f"{own.spec_path}: not a model's specification ({error!r}); {AGAIN}") from None
        for path in checked_files:
            own.check(path)
        members = [cls.load(member.folder) for member in copied_members(own)]
        return cls(_loaded(name, own), trained, members)

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """(n,) float64 scores of (n, d) features; query q is the rows offsets[q]:offsets[q+1].

        Raises GradrankError for a feature that is not a finite number, or missing where the model takes that, and for
        scores that are none.
        """
        features = np.ascontiguousarray(features, dtype=np.float32)
        if self.members:
            features = member_features([member.score(features, offsets) for member in self.members])
        bad = np.isinf(features) if self.model.takes_missing else ~np.isfinite(features)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            name = "" if self.members else self.trained.shown(column)
            raise GradrankError(
                f"feature {column + 1}{name} is {features[row, column]} in a row; expected finite "
                f"numbers, for {self.model.name} takes no missing values"
            )
        return check_scores(self.model.score(features, offsets), len(features), f"{self.model.name}: scores")

    def predict(self, table: "pandas.DataFrame | polars.DataFrame | pyarrow.Table") -> np.ndarray:
        """Return MLflow's predictions, (n,) scores of a table whose columns are called as the features in training.

        Without a column of query ids the table is one query.
        """
        reading = read_new(_polars(table), self.trained, roles=())
        return np.concatenate([self.score(batch.features, batch.offsets) for batch in batches(reading)])


def _polars(table: "pandas.DataFrame | polars.DataFrame | pyarrow.Table") -> "polars.DataFrame":
    """The same table without its index."""
    import polars as pl
    import pyarrow as pa

    if isinstance(table, pl.DataFrame):
        return table
    table = table.to_pandas() if isinstance(table, pa.Table) else table
    names = [str(name) for name in table.columns]
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise GradrankError(f"{FRAME}: {names.count(twice)} columns are called {twice!r}")
    try:
        return pl.from_pandas(table.set_axis(names, axis="columns"))
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise GradrankError(f"{FRAME}: a column of mixed types: {str(error).splitlines()[0]}") from None


def _loaded(name: str, fold: FoldFolder) -> Model:
    """The model of a fold. Raises GradrankError for what its library cannot read: each has errors of its own."""
    cls = get_model(name)
    try:
        return cls.load(fold.model_path)
    except Exception as error:
        raise GradrankError(f"{fold.model_path}: cannot be read as {name} ({error!r}); {AGAIN}") from error


def _load_pyfunc(path: str) -> Ranker:
    """What `mlflow.pyfunc.load_model` calls; `gradrank.tracking.content` names this module as the loader."""
    return Ranker.load(path)


def predict(
    fold: Path,
    data: Path,
    out: Path | None = None,
    form: Literal["letor", "trec"] = "letor",
    columns: Columns | None = None,
) -> int:
    """Score `data`, in any form that training reads, with the model in `fold`; returns how many documents.

    letor: one score a line, in the input's order. trec: a run, as `gradrank.evaluation.export.trec_run` has it.
    out: a file, written whole or not at all; None: standard output. columns: of a table whose columns have other names
    than those of the training data.
    Raises GradrankError for a folder without a model, features that the model was not trained on or that are missing,
    and malformed input.
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
            f"note: {data}: {unnamed} documents have no id; in the run they are called by their rows' numbers, from "
            "1, as `gradrank evaluate` calls them",
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
    if out is not None:
        with atomic(out) as partial, partial.open("w", encoding="utf-8") as stream:
            yield stream
        return
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough; the exit must not flush again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
