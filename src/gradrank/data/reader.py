"""The one reader of ranking data: text, tables and data frames, for training, prediction and evaluation.

Roles, ids, grades, features and missing values mean the same in every form: LETOR and SVMlight text
(data/text/letor.py), tables as Parquet, CSV and TSV (data/tables/table.py), both also packed, and Polars data frames.
"""

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.compressed import PACKED, PlainFile
from gradrank.data.layout import is_table
from gradrank.data.memory import check_memory
from gradrank.data.tables.roles import Columns, Required, check_exist
from gradrank.data.tables.table import DataTable, raw_table, read_tables
from gradrank.data.text.letor import ahead, chunks, text_frame
from gradrank.data.text.rows import Missing, fill, first_row, read_rows
from gradrank.data.text.text_file import TextFile, find_queries_of_files

ARCHIVES = (".bz2", ".zip", ".rar", ".7z", ".tar", ".tgz", ".lz4", ".xlsx", ".xls")
ROWS_A_BATCH = 1 << 16
FRAME = "the data frame"  # how an error names one


@dataclass(frozen=True)
class TrainingSchema:
    """The form of the data that a model was trained on, as its specification records it.

    width: how many features. names: theirs, None for f1 to fd. sparse: whether rows of text could leave features out.
    """

    width: int
    names: Sequence[str] | None = None
    sparse: bool = False
    missing: Missing = "least"
    columns: Columns = Columns()  # noqa: RUF009 - frozen

    @staticmethod
    def of(spec: Mapping[str, Any]) -> "TrainingSchema":
        """Read the form from spec.json. Raises KeyError, TypeError or ValueError for a malformed one."""
        names, width = spec.get("names"), operator.index(spec["features"])
        if width < 1:
            raise ValueError(f"{width} features")
        if names is not None and not (
            isinstance(names, list) and len(names) == width and all(isinstance(name, str) for name in names)
        ):
            raise ValueError(f"names: {names!r}")
        if spec.get("missing") not in (None, *get_args(Missing)):
            raise ValueError(f"missing: {spec['missing']!r}")
        return TrainingSchema(
            width,
            names,
            bool(spec.get("sparse", False)),
            spec.get("missing") or ("keep" if names else "least"),
            Columns.of(spec.get("columns", {})),
        )

    def shown(self, column: int) -> str:
        """The name of a feature, counted from 0, in brackets; nothing where it has none."""
        return f" ({self.names[column]!r})" if self.names and column < self.width else ""

    @property
    def feature_names(self) -> list[str]:
        return list(self.names) if self.names else [f"f{number}" for number in range(1, self.width + 1)]


@dataclass(frozen=True)
class Reading:
    """The files of one collection, and how their rows are read.

    sources: one per file, in the order given. width: the number of features. sparse: whether rows of text may leave
    features out. missing: what missing values become. names: a table's own names of its features.
    """

    sources: Sequence[TextFile | DataTable]
    width: int
    sparse: bool
    missing: Missing
    names: list[str] | None = None

    def frame(self, source: TextFile | DataTable, queries: np.ndarray) -> pl.DataFrame:
        """The rows of the queries at these ascending positions, in the columns of `letor.schema`; missing values are
        NaN.
        """
        if isinstance(source, DataTable):
            return source.taken(queries)
        return text_frame(source, queries, self.width, self.sparse, "keep")

    def frames(self, source: TextFile | DataTable) -> Iterator[pl.DataFrame]:
        """All rows of a file in order, some whole queries at a time."""
        return ahead(partial(self.frame, source), chunks(source, np.arange(len(source.qids)), self.width))

    def filled(self, features: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """(n, d) features of whole queries, with `counts` rows each, where missing values are what they become."""
        if self.missing == "keep" or not np.isnan(features).any():
            return features
        columns = np.array(features.T, order="C")  # its own: it is written to
        fill(columns, counts, self.missing)
        return columns.T


class Batch(NamedTuple):
    """Whole queries: features (n, d) float32, offsets (q+1,), qids (q,), numbers or text, docids n strings or None."""

    features: np.ndarray
    offsets: np.ndarray
    qids: np.ndarray
    docids: list[str | None]


def read_collection(
    files: Sequence[Path],
    columns: Columns = Columns(),  # noqa: B008 - frozen
    features: int | None = None,
    missing: Missing | None = None,
    folder: Path | None = None,
    roles: Sequence[str] = ("query", "label"),
) -> Reading:
    """The files of a collection to train on.

    columns: of tables. features: the width of sparse text. missing: what missing values become; None: `least` in text,
    where they are NULL, `keep` in tables. folder: where packed text is unpacked. roles: those that must be there.
    Raises GradrankError for text beside tables, and with file and line for what is wrong in one.
    """
    files = [_existing(file) for file in files]
    if any(map(is_table, files)):
        if text := [str(file) for file in files if not is_table(file)]:
            raise GradrankError(
                f"{', '.join(text)}: text beside tables. Fix: give all parts of a collection in one form"
            )
        if features is not None:
            raise GradrankError(
                f"{files[0]}: `features` is declared, which is the width of sparse text; this is a table"
            )
        tables = read_tables([raw_table(file, file) for file in files], columns, Required(roles))
        names = tables[0].roles.features
        return Reading(tables, len(names), False, missing or "keep", names)
    _check_no_columns(files[0], columns)
    width, sparse = (features, True) if features else first_row(files[0])[:2]
    sources = find_queries_of_files([PlainFile(file, folder) for file in files], numbers=sparse and not features)
    if sparse and not features:
        width = max(source.highest_number for source in sources)
        _check_some(files[0], width)
    reading = Reading(sources, width, sparse, missing or "least")
    check_memory(files[0], int(max(source.rows.max() for source in sources)), width)
    for source in sources:  # a fault of every row is reported for the first one
        read_rows(source, np.array([0]), width, sparse, reading.missing)
    return reading


def read_judged(path: Path, columns: Columns = Columns()) -> Reading:  # noqa: B008 - frozen
    """One file of which the grades and ids are wanted: features of text are checked, columns without a role ignored."""
    if is_table(_existing(path)):
        return Reading(read_tables([raw_table(path, path)], columns, Required(features=())), 0, False, "keep")
    _check_no_columns(path, columns)
    sources = find_queries_of_files([PlainFile(path)], numbers=True)
    width = max(1, sources[0].highest_number)
    check_memory(path, int(sources[0].rows.max()), width)
    return Reading(sources, width, True, "zero")


def read_new(
    given: Path | pl.DataFrame,
    trained: TrainingSchema,
    columns: Columns | None = None,
    roles: Sequence[str] = ("query",),
) -> Reading:
    """Data for a trained model: a table's features are matched by name, those of text by number.

    columns: of a table, where it has others than the training data. Raises GradrankError for a feature that is missing
    and for one that the model does not know.
    """
    is_frame = isinstance(given, pl.DataFrame)
    if is_frame or is_table(_existing(given)):
        where = FRAME if is_frame else given
        raw = raw_table(given, where)
        if trained.width > len(raw.names):
            raise _other_width(where, len(raw.names), trained)
        check_exist({where: raw.names}, columns or Columns())
        required = Required(roles, trained.feature_names)
        tables = read_tables([raw], _joined(trained.columns, columns), required)
        return Reading(tables, trained.width, False, trained.missing)
    _check_no_columns(given, columns or Columns())
    first = first_row(given)
    sparse = first.sparse or trained.sparse
    source = find_queries_of_files([PlainFile(given)], numbers=sparse)[0]
    if not sparse and first.features != trained.width:
        raise _other_width(given, first.features, trained)
    if source.highest_number > trained.width:
        raise _other_width(given, source.highest_number, trained)
    check_memory(given, int(source.rows.max()), trained.width)
    return Reading([source], trained.width, sparse, trained.missing)


def batches(reading: Reading) -> Iterator[Batch]:
    """The rows of a reading of one file, in order, some whole queries at a time."""
    (source,) = reading.sources
    for queries in _pieces(source.rows):
        frame = reading.frame(source, queries)
        features = reading.filled(feature_matrix(frame), source.rows[queries])
        offsets = np.r_[0, np.cumsum(source.rows[queries])]
        yield Batch(features, offsets, source.ids[queries], frame["docid"].to_list())


def feature_matrix(frame: pl.DataFrame) -> np.ndarray:
    """(n, d) float32 of the columns f1 to fd."""
    return frame.select(name for name in frame.columns if name[:1] == "f").to_numpy()


def _pieces(rows: np.ndarray) -> list[np.ndarray]:
    """Neighbouring queries by position, about ROWS_A_BATCH rows together; rows (q,) is how many each has."""
    return np.split(np.arange(len(rows)), np.flatnonzero(np.diff(np.cumsum(rows) // ROWS_A_BATCH)) + 1)


def _joined(trained: Columns, own: Columns | None) -> Columns:
    """Combine what is declared for new data with what was declared for the training data; the former wins."""
    if own is None:
        return trained
    named = own.named()
    roles = {role: getattr(own, role) or getattr(trained, role) for role in ("query", "label", "docid")}
    roles = {role: name if name == getattr(own, role) or name not in named else None for role, name in roles.items()}
    ignore = tuple(dict.fromkeys([*own.ignore, *(name for name in trained.ignore if name not in named)]))
    return Columns(**roles, ignore=ignore, keep=tuple(name for name in trained.keep if name not in named))


def _other_width(where: Path | str, found: int, trained: TrainingSchema) -> GradrankError:
    if found > trained.width:
        return GradrankError(
            f"{where}: has feature {found}, but the model was trained on {trained.width} features. Fix: give the "
            f"features "
            "that it was trained on, in the same numbers"
        )
    return GradrankError(
        f"{where}: has {found} features or columns, but the model was trained on {trained.width} features: feature "
        f"{found + 1}{trained.shown(found)} is missing"
    )


def _check_no_columns(path: Path, columns: Columns) -> None:
    if named := columns.named():
        raise GradrankError(
            f"{path}: is text, which has no columns, but {named[0]!r} is declared. Fix: remove the declaration"
        )


def _check_some(path: Path, width: int) -> None:
    if width < 1:
        raise GradrankError(f"{path}: no row has a feature; expected lines such as `2 qid:10 1:0.031 2:0.667`")


def _existing(path: Path) -> Path:
    """The path. Raises GradrankError where no file is."""
    if not path.is_file():
        raise GradrankError(f"{path}: no such file; expected LETOR or SVMlight text, Parquet, CSV or TSV")
    if path.suffix.lower() in ARCHIVES:
        raise GradrankError(
            f"{path}: packed in a form that is not read. Fix: unpack it, or pack it as {', '.join(PACKED)}"
        )
    return path
