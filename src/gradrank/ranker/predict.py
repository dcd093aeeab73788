"""Ranking of new data with a trained fold, in bounded memory. MLflow loads a fold as a pyfunc with this module."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

import numpy as np
from rich.console import Console
from rich.progress import track

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.data.file_forms import readable_path
from gradrank.data.order import order
from gradrank.data.reader import Batch, TrainingSchema, batches, read_new
from gradrank.data.tables.files import parquet_schema
from gradrank.data.tables.roles import Columns
from gradrank.data.tables.table import DataTable
from gradrank.export.rankings import trec_run
from gradrank.measures.judgements import document_ids
from gradrank.ranker.table_slices import PARQUET, table_slices
from gradrank.training.score_checks import has_order
from gradrank.training.trained_fold import TrainedFold

if TYPE_CHECKING:
    import polars as pl


def _load_pyfunc(path: str) -> TrainedFold:
    """Load a fold for `mlflow.pyfunc.load_model`.

    `gradrank.bench.tracking.runs` records this module as the loader.
    """
    return TrainedFold.load(path)


FORMS = ("letor", "csv", "parquet", "jsonl", "trec")


def predict(
    fold: Path, data: Path, out: Path | None = None, form: str = "letor", columns: Columns | None = None
) -> int:
    """Score `data` with the model in `fold`, write the scores and return the number of documents.

    Parameters
    ----------
    fold
        The folder of the trained model.
    data
        A file in any form that training reads. Text, Parquet, CSV and TSV are read in batches of whole queries. JSON
        lines and Feather are in memory as a whole.
    out
        The file to write; an existing file is replaced only when the new one is complete. If None, scores are printed,
        which the form `parquet` does not allow.
    form
        `letor` writes one score per line in row order. `trec` writes a run as returned by
        `gradrank.export.rankings.trec_run`. `csv`, `parquet` and `jsonl` write one row per document with the columns of
        query ids and document ids, by their names in `data` (`qid` and `docid` for text), `score` and `rank`, from 1.
        Queries keep their order, and the documents of a query are sorted by rank. Equal scores keep their row order.
    columns
        The names of the columns of a table, if they differ from those of the training data.

    Raises GradrankError if the folder has no model, if the data lack a feature of the model, if the data have a feature
    that the model was not trained on, or if the input is malformed.
    """
    if form not in FORMS:
        raise GradrankError(f"form {form!r}: expected {', '.join(map(repr, FORMS))}. Fix: give one of them")
    if form == "parquet" and out is None:
        raise GradrankError("form 'parquet': cannot be printed. Fix: give an output file (--out)")
    trained, rows, unnamed = TrainedFold.load(fold), 0, 0
    several, is_ordered = False, False
    names, found = _read(Path(data), trained.schema, columns)
    reading = track(
        found,
        f"scoring {data}",
        console=Console(stderr=True),
        transient=True,
        disable=out is None or not sys.stderr.isatty(),  # printed scores would mix with the bar
    )
    with _writer(out, form, trained.model.name) as write:
        for batch in reading:
            scores = trained.score(batch.features, batch.offsets)
            write(_Scored(batch, scores, rows, names))
            unnamed += 0 if form == "letor" else batch.docids.null_count()
            rows += len(scores)
            several |= bool(np.any(np.diff(batch.offsets) > 1))
            is_ordered = is_ordered or has_order(scores, batch.offsets)
    if several and not is_ordered:
        print(
            f"warning: {data}: the model gives all documents of each query the same score, so it orders nothing",
            file=sys.stderr,
        )
    if unnamed:
        print(
            f"note: {data}: {unnamed} documents have no id; their row numbers, from 1, are used as ids, as by "
            "`gradrank evaluate`",
            file=sys.stderr,
        )
    return rows


class _Names(NamedTuple):
    """The names of the columns of ids in the output, and whether query ids stay text although all are numbers."""

    query: str
    docid: str
    is_text: bool


def _read(data: Path, schema: TrainingSchema, columns: Columns | None) -> tuple[_Names, Iterator[Batch]]:
    """Return the names of the columns of ids, and the rows in batches of whole queries."""
    data = readable_path(data)
    if slices := table_slices(data, schema, columns):
        return _Names(slices.query, slices.docid or "docid", slices.is_text), slices.batches
    import polars as pl

    reading = read_new(data, schema, columns)
    (source,) = reading.sources
    if not isinstance(source, DataTable):
        return _Names("qid", "docid", False), batches(reading)
    query = source.roles.query
    is_text = data.suffix.lower() == PARQUET and query is not None and parquet_schema(data)[query] == pl.String
    return _Names(query or "qid", source.roles.docid or "docid", is_text), batches(reading)


class _Scored(NamedTuple):
    """A batch with its (n,) scores. before: the number of rows before the batch. names: those of the output."""

    batch: Batch
    scores: np.ndarray
    before: int
    names: _Names

    def docids(self) -> "pl.Series":
        return document_ids(self.batch.docids, len(self.scores), self.before)

    def table(self) -> "pl.DataFrame":
        """Return one row per document, with the best document of each query first."""
        import polars as pl

        names, offsets = self.names, self.batch.offsets
        if repeated := {names.query, names.docid} & {"score", "rank"}:
            raise GradrankError(
                f"column {repeated.pop()!r}: the output has a column of this name. Fix: rename the column of ids"
            )
        qids = self.batch.qids.astype(str).astype(object) if names.is_text else self.batch.qids
        sizes = np.diff(offsets)
        rows = order(np.ascontiguousarray(self.scores, dtype=np.float64), offsets)
        kind = pl.String if qids.dtype == object else pl.Int64
        return pl.DataFrame(
            {
                names.query: pl.Series(np.repeat(qids, sizes), dtype=kind),
                names.docid: self.docids()[rows],
                "score": self.scores[rows],
                "rank": np.arange(1, len(rows) + 1) - np.repeat(offsets[:-1], sizes),
            }
        )


@contextmanager
def _writer(out: Path | None, form: str, tag: str) -> Iterator[Callable[[_Scored], None]]:
    """Yield a function that writes a batch to `out` in a form. The file is in its place when all are written."""
    if form == "parquet":
        assert out is not None
        with atomic(out) as partial, _parquet_parts(partial) as write_table:
            yield lambda scored: write_table(scored.table())
        return
    with _opened(out) as stream:
        is_first = True

        def write(scored: _Scored) -> None:
            nonlocal is_first
            if form == "letor":
                stream.write("\n".join([*map(repr, scored.scores.tolist()), ""]))
            elif form == "trec":
                batch = scored.batch
                try:
                    stream.write(trec_run(scored.scores, batch.offsets, batch.qids, scored.docids(), tag))
                except GradrankError as error:  # ids that a TREC file does not allow
                    raise GradrankError(f"{error}, or the form csv, parquet or jsonl") from None
            elif form == "csv":
                stream.write(scored.table().write_csv(include_header=is_first))
            else:
                stream.write(scored.table().write_ndjson())
            is_first = False

        yield write


@contextmanager
def _parquet_parts(path: Path) -> Iterator[Callable[["pl.DataFrame"], None]]:
    """Yield a function that appends rows to a Parquet file, which is written from temporary parts at the end."""
    import polars as pl

    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".gradrank-parts-") as folder:
        parts: list[Path] = []

        def write(table: "pl.DataFrame") -> None:
            parts.append(Path(folder) / f"part{len(parts):08}.parquet")
            table.write_parquet(parts[-1])

        yield write
        pl.scan_parquet(parts, glob=False).sink_parquet(path)


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
