"""Reading of ranking data in all input forms, for training, prediction and evaluation.

The forms are LETOR and SVMlight text (data/text/letor.py), tables as Parquet, Feather, JSON lines, CSV and TSV files
(data/tables/table.py), and Polars data frames. Files may be compressed. Roles, ids, grades, features and missing values
have the same meaning in all forms.
"""

import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.exact_values import merges
from gradrank.data.file_forms import PACKED, check_form, check_memory, lines, readable_path
from gradrank.data.layout import is_table
from gradrank.data.normalisation import Normaliser
from gradrank.data.preparation import Preparation
from gradrank.data.tables.roles import Columns, Required, check_exist
from gradrank.data.tables.table import DataTable, raw_table, read_tables
from gradrank.data.text.copied import TextForm, readable_text
from gradrank.data.text.letor import Missing, chunks, fill, first_row, map_ahead, read_rows, schema, text_frame
from gradrank.data.text.text_file import TextFile, find_queries_of_files

ARCHIVES = (".bz2", ".zip", ".rar", ".7z", ".tar", ".tgz", ".lz4", ".xlsx", ".xls")
BATCH_ROWS = 1 << 16
FRAME = "the data frame"  # the name of a data frame in error messages


@dataclass(frozen=True)
class TrainingSchema:
    """The form of the training data of a model, as recorded in the specification of the model (spec.json).

    Parameters
    ----------
    width
        The number of features.
    names
        The names of the features. None if the features have no names. They are then called f1 to fd.
    sparse
        True if rows of text were allowed to leave features out.
    missing
        The replacement of missing values.
    columns
        The declared columns of a table.
    preparation
        The preparation of the features for the method: missing values, categories and normalisation.
    levels
        A dict from the name of a feature with categories to its levels. The place of a level is its code.
    """

    width: int
    names: Sequence[str] | None = None
    sparse: bool = False
    missing: Missing = "least"
    columns: Columns = Columns()  # noqa: RUF009 - frozen
    preparation: Preparation = Preparation()  # noqa: RUF009 - frozen
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @staticmethod
    def of(spec: Mapping[str, Any]) -> "TrainingSchema":
        """Build from the content of spec.json. Raises KeyError, TypeError or ValueError if it is malformed."""
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
            Preparation.of(spec, width),
            _levels_of(spec.get("levels", {}), names or ()),
        )

    @property
    def normaliser(self) -> Normaliser | None:
        """The normalisation of the features; None if they are not normalised."""
        return self.preparation.normaliser

    @property
    def sources(self) -> np.ndarray:
        """For each column that the model takes, the column of its feature."""
        return self.preparation.sources(self.width)

    @property
    def replaces_missing(self) -> np.ndarray:
        """A (d,) mask of the features whose missing values are replaced before the model takes them."""
        kinds = {step.column: step.kind for step in self.preparation.steps or ()}
        return np.array([kinds.get(column, "number") != "number" for column in range(self.width)])

    def shown(self, column: int) -> str:
        """Return the name of a feature in brackets for a message, or "" if it has no name.

        Features are counted from 0.
        """
        return f" ({self.names[column]!r})" if self.names and column < self.width else ""

    @property
    def feature_names(self) -> list[str]:
        """The names of the features: the columns of a table, or f1 to fd."""
        return list(self.names) if self.names else [f"f{number}" for number in range(1, self.width + 1)]


def _levels_of(levels: Any, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the levels of spec.json. Raises TypeError or ValueError if they are malformed."""
    for name, values in dict(levels).items():
        if name not in names or not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise ValueError(f"levels: {name!r}")
    return dict(levels)


@dataclass(frozen=True)
class Reading:
    """The files of one collection, and how their rows are read.

    Parameters
    ----------
    sources
        One source per file, in the order of the files.
    width
        The number of features.
    sparse
        True if rows of text may leave features out.
    missing
        The replacement of missing values.
    names
        The feature names of a table; None for text.
    edges
        The edges of the grades in text (see `Columns`); empty for tables.
    """

    sources: Sequence[TextFile | DataTable]
    width: int
    sparse: bool
    missing: Missing
    names: list[str] | None = None
    edges: Sequence[float] = ()

    @property
    def levels(self) -> dict[str, list[str]]:
        """A dict from the name of a feature with categories to its levels."""
        return next((source.levels for source in self.sources if isinstance(source, DataTable)), {})

    def frame(self, source: TextFile | DataTable, queries: np.ndarray) -> pl.DataFrame:
        """Return the rows of some queries, in the columns of `letor.schema`. Missing features are NaN.

        queries: the ascending positions of the queries in `source`.
        """
        if isinstance(source, DataTable):
            return source.rows_of(queries)
        return text_frame(source, queries, self.width, self.sparse, "keep", self.edges)

    def schema(self, source: TextFile | DataTable) -> pl.Schema:
        """Return the columns of the result of `frame`."""
        is_weighted = isinstance(source, DataTable) and source.roles.weight is not None
        return schema(self.width, source.names is not None, is_weighted)

    def frames(self, source: TextFile | DataTable) -> Iterator[pl.DataFrame]:
        """Yield all rows of a file in order, in batches of whole queries."""
        return map_ahead(partial(self.frame, source), chunks(source, np.arange(len(source.qids)), self.width))

    def merged(self, large: Sequence[int]) -> list[int]:
        """Return the positions of the features with distinct values that are equal in float32.

        large: the positions of the features with values beyond 2^24. Text is read again for these features only.
        """
        tables = {place for source in self.sources if isinstance(source, DataTable) for place in source.merged}
        files = [source.text.file for source in self.sources if isinstance(source, TextFile)]
        read = [place for place in large if files and merges(*_values_of(files, place + 1))]
        return sorted({*tables, *read})

    def filled(self, features: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the (n, d) features, with missing values replaced according to `missing`.

        features: the (n, d) features of whole queries. counts: the (q,) numbers of rows per query.
        """
        if self.missing == "keep" or not np.isnan(features).any():
            return features
        columns = np.array(features.T, order="C")  # a copy, because `fill` changes its argument
        fill(columns, counts, self.missing)
        return columns.T


class Batch(NamedTuple):
    """The rows of several whole queries.

    Parameters
    ----------
    features
        (n, d) float32.
    offsets
        (q+1,) int64. The rows of query i are offsets[i]:offsets[i+1].
    qids
        (q,) query ids, as numbers or text.
    docids
        The (n,) document ids as text; null for a document without an id.
    """

    features: np.ndarray
    offsets: np.ndarray
    qids: np.ndarray
    docids: pl.Series


def read_collection(
    files: Sequence[Path],
    columns: Columns = Columns(),  # noqa: B008 - frozen
    features: int | None = None,
    missing: Missing | None = None,
    folder: Path | None = None,
    roles: Sequence[str] = ("query", "label"),
) -> Reading:
    """Read the files of a collection for training.

    Parameters
    ----------
    files
        The files, which are all text or all tables.
    columns
        The declared columns of tables.
    features
        The number of features of sparse text. If None, the highest feature number is used.
    missing
        The replacement of missing values (see `Missing`). None means `least` for text, in which missing values are
        written NULL, and `keep` for tables.
    folder
        The folder into which compressed text is decompressed; None for the system's temporary folder.
    roles
        The roles that a table must have.

    Raises GradrankError if text and tables are mixed, or if a file is malformed. The message contains file and line.
    """
    files = [_existing(file) for file in files]
    if any(map(is_table, files)):
        if text := [str(file) for file in files if not is_table(file)]:
            raise GradrankError(
                f"{', '.join(text)}: text files, while other parts are tables. Fix: give all parts of a collection in "
                "one form"
            )
        if features is not None:
            raise GradrankError(
                f"{files[0]}: `features` is only for sparse text, but this file is a table. Fix: remove `features`"
            )
        tables = read_tables([raw_table(file, file, columns.header) for file in files], columns, Required(roles))
        names = tables[0].roles.features
        return Reading(tables, len(names), False, missing or "keep", names)
    _check_no_columns(files[0], columns)
    texts = [readable_text(file, _text_form(columns), folder) for file in files]
    width, sparse = features or 0, True
    if not features:
        width, sparse, _ = first_row(files[0], texts[0].file)
    sources = find_queries_of_files(texts, numbers=sparse and not features)
    if sparse and not features:
        width = max(source.highest_number for source in sources)
        _check_some(files[0], width)
    reading = Reading(sources, width, sparse, missing or "least", edges=columns.grade_edges)
    check_memory(files[0], int(max(source.rows.max() for source in sources)), width)
    for source in sources:  # if all rows have an error, it is reported for the first row
        read_rows(source, np.array([0]), width, sparse, reading.missing, reading.edges)
    return reading


def read_judged(path: Path, columns: Columns = Columns()) -> Reading:  # noqa: B008 - frozen
    """Read only the grades and ids of a text file. The features are checked nevertheless."""
    path = _existing(path)
    _check_no_columns(path, columns)
    sources = find_queries_of_files([readable_text(path, _text_form(columns))], numbers=True)
    width = max(1, sources[0].highest_number)
    check_memory(path, int(sources[0].rows.max()), width)
    return Reading(sources, width, True, "zero", edges=columns.grade_edges)


def read_new(
    data: Path | pl.DataFrame,
    trained: TrainingSchema,
    columns: Columns | None = None,
    roles: Sequence[str] = ("query",),
) -> Reading:
    """Read data to which a trained model is applied.

    Features are matched by name in tables, and by number in text.

    Parameters
    ----------
    data
        A file or a data frame.
    trained
        The form of the training data.
    columns
        The declared columns of a table. They take precedence over the columns declared for the training data.
    roles
        The roles that a table must have.

    Raises GradrankError if the data lack a feature of the model, or have a feature that the model was not trained on.
    """
    data = data if isinstance(data, pl.DataFrame) else _existing(data)
    if isinstance(data, pl.DataFrame) or is_table(data):
        where = FRAME if isinstance(data, pl.DataFrame) else data
        raw = raw_table(data, where, trained.columns.header)
        if trained.width > len(raw.names):
            raise _wrong_width(where, len(raw.names), trained)
        check_exist({where: raw.names}, columns or Columns())
        required = Required(roles, trained.feature_names)
        tables = read_tables([raw], _combined(trained.columns, columns), required, trained.levels)
        return Reading(tables, trained.width, False, trained.missing)
    _check_no_columns(data, columns or Columns())
    text = readable_text(data, _text_form(trained.columns)._replace(groups_rows=False))
    first = first_row(data, text.file)
    sparse = first.sparse or trained.sparse
    source = find_queries_of_files([text], numbers=sparse)[0]
    if not sparse and first.features != trained.width:
        raise _wrong_width(data, first.features, trained)
    if source.highest_number > trained.width:
        raise _wrong_width(data, source.highest_number, trained)
    check_memory(data, int(source.rows.max()), trained.width)
    return Reading([source], trained.width, sparse, trained.missing, edges=trained.columns.grade_edges)


def batches(reading: Reading) -> Iterator[Batch]:
    """Yield the rows of a single file in order, in batches of whole queries with about BATCH_ROWS rows."""
    (source,) = reading.sources
    for queries in _batch_queries(source.rows):
        frame = reading.frame(source, queries)
        features = reading.filled(feature_matrix(frame, order="c"), source.rows[queries])
        offsets = np.r_[0, np.cumsum(source.rows[queries])]
        yield Batch(features, offsets, source.ids[queries], frame["docid"])


def feature_matrix(frame: pl.DataFrame, order: Literal["c", "fortran"] = "fortran") -> np.ndarray:
    """Return the (n, d) float32 matrix of the columns f1 to fd, stored by row ("c") or by column ("fortran")."""
    return frame.select(name for name in frame.columns if name[:1] == "f").to_numpy(order=order)


def _text_form(columns: Columns) -> TextForm:
    """Return the part of a declaration that concerns text."""
    return TextForm(columns.features_from, columns.repeated == "last", columns.group_rows)


def _values_of(files: Sequence[Path], number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a feature in text files as float64, and zeros for the queries, which are not told apart."""
    pattern = re.compile(rb"\s%d:(\S+)" % number)
    found = (pattern.search(line.partition(b"#")[0]) for file in files for line in lines(file))
    values = np.array([float(match[1]) for match in found if match and match[1] != b"NULL"], np.float64)
    return values, np.zeros(len(values), np.int64)


def _batch_queries(rows: np.ndarray) -> list[np.ndarray]:
    """Return one array of query positions per batch. rows: the (q,) numbers of rows per query."""
    return np.split(np.arange(len(rows)), np.flatnonzero(np.diff(np.cumsum(rows) // BATCH_ROWS)) + 1)


def _combined(trained: Columns, new: Columns | None) -> Columns:
    """Merge the columns declared for the training data and for the new data. The new data take precedence.

    Rows are not grouped, because the scores of new data are written in the order of the rows.
    """
    trained = replace(trained, group_rows=False)
    if new is None:
        return trained
    named = new.named()

    def column(role: str) -> str | None:
        name = getattr(new, role) or getattr(trained, role)
        return name if name == getattr(new, role) or name not in named else None

    ignore = tuple(dict.fromkeys([*new.ignore, *(name for name in trained.ignore if name not in named)]))
    keep = tuple(name for name in trained.keep if name not in named)
    categorical = tuple(dict.fromkeys([*trained.categorical, *new.categorical]))
    roles = {role: column(role) for role in ("query", "label", "docid", "weight")}
    return replace(trained, **roles, ignore=ignore, keep=keep, categorical=categorical)


def _wrong_width(where: Path | str, width: int, trained: TrainingSchema) -> GradrankError:
    """Return the error for data whose number of features differs from that of the model.

    width: the number of features, or the highest feature number, of the data.
    """
    if width > trained.width:
        return GradrankError(
            f"{where}: has feature {width}, but the model was trained on {trained.width} features. Fix: give the "
            "features that the model was trained on, with the same numbers"
        )
    return GradrankError(
        f"{where}: found {width} features or columns, but the model was trained on {trained.width} features; feature "
        f"{width + 1}{trained.shown(width)} is missing. Fix: provide all features that the model was trained on"
    )


def _check_no_columns(path: Path, columns: Columns) -> None:
    if named := columns.named():
        raise GradrankError(
            f"{path}: column {named[0]!r} is declared, but this file is text, which has no column names. Fix: remove "
            "the declaration"
        )
    if not columns.header:
        raise GradrankError(f"{path}: `header` is only for tables, but this file is text. Fix: remove `header`")


def _check_some(path: Path, width: int) -> None:
    if width < 1:
        raise GradrankError(f"{path}: no row has a feature. Fix: write lines such as `2 qid:10 1:0.031 2:0.667`")


def _existing(path: Path) -> Path:
    """Return the path as one that can be opened several times.

    Raises GradrankError if there is no such file, or if files of this form are not read.
    """
    path = readable_path(path)
    if not path.is_file():
        state = "a folder, not a file" if path.is_dir() else "no such file"
        raise GradrankError(
            f"{path}: {state}. Fix: give LETOR or SVMlight text, Parquet, Feather, JSON lines, CSV or TSV"
        )
    if path.suffix.lower() in ARCHIVES:
        raise GradrankError(
            f"{path}: {path.suffix} files are not supported. Fix: extract the file, or compress it as "
            f"{', '.join(PACKED)}"
        )
    check_form(path)
    return path
