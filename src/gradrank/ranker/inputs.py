"""Conversion of the arguments of `gradrank.Ranker` to collections.

Features in memory become numbers by the rules that files follow (data/tables/table.py). Numbers, Booleans and decimals
are features. A missing value (None, NaN, NaT, NA, null, or a masked element) is NaN. Columns of a data frame that have
categories or text become the codes of their levels. Text of digits, dates, durations and all other types are refused.
Tables are converted by column, because operations on single columns do not wait for the threads of Polars, which do not
exist in a forked process.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from gradrank.base.errors import GradrankError, InputError
from gradrank.comparison.rankings.inputs import grades, group_rows, numbers, query_ids, same_length
from gradrank.data.checks import OrderCounts, feature_warnings, order_counts
from gradrank.data.collection import Collection
from gradrank.data.exact_values import merges
from gradrank.data.file_forms import check_memory
from gradrank.data.fold_parts import draw_held_out
from gradrank.data.grades import HIGHEST_GRADE
from gradrank.data.reader import Batch
from gradrank.data.tables.roles import (
    ESTIMATES,
    FURTHER_NAMES,
    ROLE_NAMES,
    SCORES,
    Columns,
    is_index,
    is_of_run,
    named_columns,
    normalised,
)
from gradrank.data.tables.table import LEVEL_SHARE, MOST_LEVELS, category_text

if TYPE_CHECKING:
    import pandas


MISSING_TYPES = ("NAType", "NaTType", "MaskedConstant")  # of pandas and NumPy
NO_NUMBERS = "USTMm"  # codes of NumPy's types for text, dates and durations


class FeatureValues(NamedTuple):
    """The features of a caller.

    values: an (n, d) array of numbers, or any other object, whose conversion is left to scikit-learn. named: the object
    from which scikit-learn reads the number and the names of the features.
    """

    values: Any
    named: Any

    @property
    def is_table(self) -> bool:
        """True if `values` were read from the columns of a table."""
        return self.values is not self.named


def feature_values(
    X: Any, where: str, trained: Sequence[str] | None = None, levels: dict[str, list[str]] | None = None
) -> FeatureValues:
    """Return the features in `X`.

    where: the name of X in error messages. trained: the names of the features of the training data; empty if they had
    no names, and None if X is the training data. levels: a dict from the name of a feature with categories to its
    levels, to which those of the training data are added.

    Raises GradrankError for a column that does not contain numbers, a column without a name, two columns of one name,
    and columns that are numbered in another order than those of the training data.
    """
    if issparse(X):
        return FeatureValues(_dense(X, where), X)
    if (table := _polars_table(X, where)) is not None:
        _check_names(table.columns, where)
        columns = [_polars_column(column, where, levels, trained is None) for column in table]
        return FeatureValues(_stacked(columns, len(table)), table)
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        names = [str(label) for label in X.columns]
        _check_names(names, where)
        named = _named(X, names, where, trained)
        if all(isinstance(kind, np.dtype) and kind.kind in "iuf" for kind in X.dtypes):
            return FeatureValues(X.to_numpy(), named)
        is_new = trained is None
        columns = [_pandas_column(X.iloc[:, place], name, where, levels, is_new) for place, name in enumerate(names)]
        return FeatureValues(_stacked(columns, len(X)), named)
    values = _array(X)
    if isinstance(values, np.ndarray) and values.ndim == 2:
        if values.dtype.kind in NO_NUMBERS:
            raise _not_numbers(where, 0, f"values of type {values.dtype}")
        if values.dtype == object:
            values = _stacked([_numbers(column, place, where) for place, column in enumerate(values.T)], len(values))
    return FeatureValues(values, values)


def _named(X: "pandas.DataFrame", names: list[str], where: str, trained: Sequence[str] | None) -> Any:
    """Return an object with the names of the columns as text, or without names if the columns are numbered 0, 1, ..

    scikit-learn ignores names that are not text, so that it would not notice another order of such columns.
    """
    if all(isinstance(label, str) for label in X.columns):
        return X
    numbered = [str(number) for number in range(len(names))]
    if names == numbered and {*(trained or ())} != {*names}:
        return np.broadcast_to(np.int8(0), X.shape)
    if trained is not None and not trained and {*names} == {*numbered}:
        raise GradrankError(
            f"{where}: the columns are numbered {', '.join(names[:12])}, but the columns of the training data were "
            "numbered 0, 1, .. in ascending order. Fix: give the columns in this order"
        )
    return X.set_axis(names, axis="columns")


def _check_names(names: Sequence[str], where: str) -> None:
    for place, name in enumerate(names):
        if not name.strip():
            raise GradrankError(
                f"{where}: column {place}, counted from 0, has no name. Fix: give the column a name, or leave it out"
            )
    if len({*names}) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        raise GradrankError(f"{where}: {names.count(name)} columns are called {name!r}. Fix: rename all but one")


def _stacked(columns: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """Return the (n, d) array of d columns."""
    return np.column_stack(columns) if columns else np.empty((rows, 0), np.float32)


def _dense(X: Any, where: str) -> np.ndarray:
    """Return a SciPy sparse matrix as an (n, d) float32 array. Values that are not stored are 0.

    Raises GradrankError if the values are not numbers, or if the array does not fit into memory.
    """
    if X.ndim != 2 or X.dtype.kind not in "iufb":
        raise GradrankError(
            f"{where}: a sparse array of {X.ndim} dimensions and type {X.dtype}. Fix: give an (n, d) matrix of numbers"
        )
    check_memory(where, *X.shape)
    with np.errstate(over="ignore"):  # values that exceed float32 become infinite, and are refused later
        return X.astype(np.float32).toarray()


def _polars_table(X: Any, where: str) -> pl.DataFrame | None:
    """Return a table as a Polars table, and None for any other object.

    Polars frames, lazy frames, Arrow tables and datasets, and datasets of Hugging Face are tables. The objects of
    optional packages are recognised by documented methods: `to_table` of pyarrow.dataset.Dataset, and `with_format` of
    datasets.Dataset.
    """
    if isinstance(X, pl.LazyFrame):
        X = X.collect()
    if isinstance(X, pl.DataFrame):
        return X
    if callable(getattr(X, "to_table", None)) and hasattr(X, "schema"):
        X = X.to_table()
    elif callable(getattr(X, "with_format", None)) and hasattr(X, "column_names"):
        X = X.with_format("arrow")[:]
    pandas = sys.modules.get("pandas")
    is_of_arrow = any(hasattr(X, name) for name in ("__arrow_c_stream__", "__arrow_c_array__"))
    has_columns = any(hasattr(X, name) for name in ("schema", "columns", "__dataframe__"))
    if not (is_of_arrow and has_columns) or (pandas is not None and isinstance(X, pandas.DataFrame)):
        return None
    if isinstance(names := getattr(X, "column_names", None), list):
        _check_names(names, where)  # Polars replaces empty names
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(X, arrow.Table | arrow.RecordBatch):
        for field in X.schema:
            if "decimal256" in str(field.type):  # Polars would print the backtrace of a panic
                raise _not_numbers(where, field.name, f"values of type {field.type}")
    try:
        return pl.DataFrame(X)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise GradrankError(
            f"{where}: not a table: {str(error).strip().splitlines()[0]}. Fix: give a table of numbers"
        ) from None


def _codes(
    values: Sequence[Any], order: Sequence[str] | None, name: str, where: str, levels: Any, is_new: bool
) -> np.ndarray:
    """Return the (n,) float32 codes of a column of categories: the places of its values in the levels, else NaN.

    values: n texts, or None for a missing value. order: the levels in the order of the column's type; None for text.
    levels, is_new: as in `feature_values`; the levels of new training data are added to `levels`.

    Raises GradrankError for text of numbers, and for text that is not a category, because nearly all values differ.
    """
    if is_new and levels is not None:
        if order is None:
            order = sorted({value for value in values if value is not None})
            if order and all(map(_is_number, order)):
                raise _not_numbers(where, name, "text of numbers")
            if len(order) > max(MOST_LEVELS, LEVEL_SHARE * len(values)):
                raise GradrankError(
                    f"{where}: column {name!r} has {len(order):,} different texts in {len(values):,} rows, so it may "
                    "be an id or free text and not a category. Fix: leave it out, or convert it to a categorical type"
                )
        levels[name] = list(order)
    if levels is None or name not in levels:
        raise _not_numbers(where, name, "text or categories")
    places = {level: float(place) for place, level in enumerate(levels[name])}
    return np.array([places.get(value, np.nan) for value in values], np.float32)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _polars_column(column: pl.Series, where: str, levels: dict[str, list[str]] | None, is_new: bool) -> np.ndarray:
    if isinstance(column.dtype, pl.Enum | pl.Categorical) or column.dtype == pl.String:
        order = None
        if isinstance(column.dtype, pl.Enum):
            order = column.dtype.categories.to_list()
        elif isinstance(column.dtype, pl.Categorical):
            order = sorted({value for value in column.cast(pl.String).to_list() if value is not None})
        return _codes(column.cast(pl.String).to_list(), order, column.name, where, levels, is_new)
    if levels is not None and not is_new and column.name in levels:  # the categories of the training data are numbers
        return _codes(category_text(column).to_list(), None, column.name, where, levels, is_new)
    if column.dtype in (pl.Boolean, pl.Null) or column.dtype.is_decimal():
        column = column.cast(pl.Float64)
    if not column.dtype.is_numeric():
        raise _not_numbers(where, column.name, f"values of type {column.dtype}")
    return column.to_numpy()


def _pandas_column(
    column: "pandas.Series", name: str, where: str, levels: dict[str, list[str]] | None, is_new: bool
) -> np.ndarray:
    import pandas
    from pandas.api import types

    kind = column.dtype
    if isinstance(kind, pandas.CategoricalDtype):
        order = [str(category) for category in kind.categories]
        codes = column.cat.codes.to_list()  # the code of a missing value is -1
        return _codes([order[code] if code >= 0 else None for code in codes], order, name, where, levels, is_new)
    is_text = isinstance(kind, pandas.StringDtype) or types.is_object_dtype(kind)
    if is_text and types.infer_dtype(column, skipna=True) == "string":
        texts = [None if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]
        return _codes(texts, None, name, where, levels, is_new)
    if levels is not None and not is_new and name in levels:  # the categories of the training data are numbers
        texts = [None if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]
        return _codes(texts, None, name, where, levels, is_new)
    if types.is_bool_dtype(kind) or (types.is_numeric_dtype(kind) and not types.is_complex_dtype(kind)):
        return column.to_numpy() if isinstance(kind, np.dtype) else column.to_numpy(np.float64, na_value=np.nan)
    if types.is_object_dtype(kind) or str(kind) == "null[pyarrow]":
        return _numbers(column.to_numpy(object), name, where)
    raise _not_numbers(where, name, f"values of type {kind}")


def _array(X: Any) -> Any:
    """Return lists and masked arrays as arrays, and every other object as it is. A masked element becomes NaN."""
    if isinstance(X, list | tuple) and len(X):
        try:
            masked = any(isinstance(row, np.ma.MaskedArray) for row in X)
            values = np.ma.stack(X) if masked else np.asarray(X)
            # With text in one column, NumPy turns all numbers into text.
            X = values if values.dtype.kind not in NO_NUMBERS else np.asarray(X, dtype=object)
        except (TypeError, ValueError):
            return X
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if X.dtype.kind in "biuf" and np.ma.is_masked(X):
        return np.ma.filled(X.astype(np.float32 if X.dtype == np.float32 else np.float64), np.nan)
    return X.filled(None) if X.dtype == object else X.data


def _numbers(values: np.ndarray, column: str | int, where: str) -> np.ndarray:
    """Return (n,) Python objects as float64. Raises GradrankError for an object that is neither a number nor missing.

    column: the name of the column, or its position.
    """
    missing = set()
    for kind in {*map(type, values)}:
        if kind.__name__ in MISSING_TYPES:
            missing.add(kind)
        elif not (kind is type(None) or issubclass(kind, Real | Decimal | np.bool_)):
            row = next(row for row, value in enumerate(values) if type(value) is kind)
            raise _not_numbers(where, column, f"{values[row]!r} in row {row}")
    if missing:
        values = np.array([None if type(value) in missing else value for value in values], dtype=object)
    try:
        return values.astype(np.float64)
    except OverflowError:
        raise _not_numbers(where, column, "a number beyond the range of floats") from None


def _not_numbers(where: str, column: str | int, found: str) -> GradrankError:
    shown = repr(column) if isinstance(column, str) else f"{column}, counted from 0,"
    return GradrankError(
        f"{where}: column {shown} has {found}, not numbers. Fix: convert it to numbers, or leave it out"
    )


ROWS = "rows of X"
QID = "qid"  # the column of a data frame X that has the query ids
FIX_OF_QID = (
    "give qid, or a column `qid` in a data frame X. Within Pipeline, GridSearchCV and cross_validate, call "
    "sklearn.set_config(enable_metadata_routing=True) and pass qid in their params"
)
MOST_CHECKED = 1 << 16  # rows of whole queries whose features are compared with the grades
# key: text in an error message of scikit-learn; value: how to repair the argument
FIXES = {
    "0 sample": "give at least one row",
    "feature names": "give the columns of the training data in the same order",
    "is expecting": "give the features of the training data",
}


class GroupedRows(NamedTuple):
    """A collection, and the caller's (q,) query ids in the order of the collection's queries.

    warnings: the warnings about features of the training data (data/checks.py).
    """

    collection: Collection
    qids: np.ndarray
    warnings: Sequence[str] = ()


class LabelForm(NamedTuple):
    """The labels that an estimator accepts.

    any_grade: whether labels may be fractions and may exceed 31. unjudged: the negative label of documents that were
    not judged, or None if all documents were judged.
    """

    any_grade: bool = False
    unjudged: float | None = None

    def labels(self, y: Any, name: str, rows: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the (n,) labels, and a mask of the judged rows, or None if all rows are judged.

        The labels are int32 grades, or float64 if one is a fraction or above 31. The label of a row that is not
        judged is 0. name: name of the argument. rows: number of rows of X. Raises GradrankError for an invalid label,
        and if no row is judged.
        """
        is_judged = None
        if self.unjudged is not None:
            given = numbers(y, name)
            if (given == self.unjudged).any():
                is_judged = given != self.unjudged
                y = np.where(is_judged, given, 0)
                if not is_judged.any():
                    raise GradrankError(f"{name}: no document is judged. Fix: give grades from 0")
        try:
            labels = grades(y, name, self.any_grade)
        except GradrankError as error:
            other = "set unjudged, the label of documents without a judgement, or gain, for fractions and larger labels"
            raise GradrankError(f"{error}; {other}" if "the grade of row" in str(error) else str(error)) from None
        labels = same_length(labels, rows, name, ROWS)
        is_grade = labels.dtype.kind in "iub" and labels.max() <= HIGHEST_GRADE
        return labels.astype(np.int32 if is_grade else np.float64), is_judged


class Reader:
    """Converts the arguments of one estimator.

    estimator: the estimator, which records the number and the names of its features. takes_missing: whether NaN is
    accepted in X. label_form: the labels that are accepted as y. levels: the levels of the features with categories of
    a trained estimator. Those of new training data are added.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        takes_missing: bool,
        label_form: LabelForm | None = None,
        levels: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        self.estimator, self.takes_missing = estimator, takes_missing
        self.label_form = label_form or LabelForm()
        self.levels = {name: list(values) for name, values in levels.items()}

    def rows(
        self, X: Any, y: Any, qid: Any, sample_weight: Any = None, part: str = "", is_new: bool = False
    ) -> GroupedRows:
        """Return the rows, grouped by query, in the order of the first rows of the queries.

        Documents that are not judged are left out, and so are queries without judged documents.

        part: beginning of error messages. is_new: as in `features`. Raises GradrankError for an invalid argument.
        """
        X, qid = self.query_column(X, qid, part, is_new)
        given = self._given(X, part, is_new)
        features = self._converted(given, part, is_new)
        labels, is_judged = self.label_form.labels(y, f"{part}y", len(features))
        if qid is None:
            raise GradrankError(f"{part}qid: missing. Fix: {FIX_OF_QID}")
        qids, offsets, rows = group_rows(same_length(query_ids(qid, f"{part}qid"), len(features), f"{part}qid", ROWS))
        weights = None if sample_weight is None else _checked_weights(sample_weight, offsets, rows)
        merged = _merged(given.values, offsets, rows) if is_new else []
        del given  # the training does not need the memory
        if rows is not None:
            features, labels = features[rows], labels[rows]
            is_judged = None if is_judged is None else is_judged[rows]
        if is_judged is not None:
            sizes = np.add.reduceat(is_judged, offsets[:-1], dtype=np.int64)
            features, labels = features[is_judged], labels[is_judged]
            weights = None if weights is None else weights[is_judged]
            qids, offsets = qids.filter(sizes > 0), np.r_[0, np.cumsum(sizes[sizes > 0])]
        named = getattr(self.estimator, "feature_names_in_", None)
        names = None if named is None else tuple(named.tolist())
        collection = Collection(features, labels, offsets, np.arange(len(qids)), weights=weights, names=names)
        warnings = feature_warnings(names, None, [_orders(collection)], merged) if is_new else []
        return GroupedRows(collection, qids.to_numpy(), warnings)

    def query_column(self, X: Any, qid: Any, part: str = "", is_new: bool = False) -> tuple[Any, Any]:
        """Return the features without a column `qid` in a data frame, and this column as the query ids.

        The other arguments are those of `rows`. If X is not the training data and the features have names, X can also
        have its query ids in a column with another known name, such as `query_id`. Columns that have another meaning by
        their names (document ids, grades, the scores and ranks of a run) are then left out, unless they were features
        of the training data. Raises GradrankError if the query ids are given twice.
        """
        if type(X) is np.ndarray or isinstance(X, list | tuple):
            return X, qid
        pandas = sys.modules.get("pandas")
        is_pandas = pandas is not None and isinstance(X, pandas.DataFrame)
        table = X if is_pandas else _polars_table(X, f"{part}X")
        names = [] if table is None else [*table.columns]
        if table is None or not all(isinstance(name, str) for name in names):
            return X, qid
        trained = () if is_new else tuple(getattr(self.estimator, "feature_names_in_", ()))
        further = [name for name in names if name not in trained] if trained else [*{*names} & {QID}]
        fold = getattr(self.estimator, "fold_", None)
        declared = Columns() if fold is None or is_new else fold.schema.columns
        is_declared = declared.query is not None and declared.query in further
        queries = [str(declared.query)] if is_declared else named_columns("query", further, declared.ignore)
        if len(queries) != 1 or names.count(queries[0]) != 1:
            queries = []
        if queries and qid is not None:
            shown = "qid: given, and X has a column"
            raise GradrankError(f"{part}{shown} `{queries[0]}`, too. Fix: leave out one of them")
        left_out = {*queries, *(name for name in further if trained and _is_known(name, declared))}
        if not left_out:
            return X, qid
        return table[[name for name in names if name not in left_out]], table[str(queries[0])] if queries else qid

    def validation(self, eval_set: Any) -> Collection:
        """Return the validation part from a tuple (X, y, qid). Raises GradrankError for an invalid tuple."""
        if not isinstance(eval_set, tuple) or len(eval_set) != 3:
            raise GradrankError("eval_set: expected a tuple (X, y, qid). Fix: give eval_set=(X_vali, y_vali, qid_vali)")
        return self.rows(*eval_set, part="eval_set, ").collection

    def batch(self, X: Any, qid: Any) -> Batch:
        """Return the rows, grouped by query, without grades. Raises GradrankError for an invalid argument."""
        X, qid = self.query_column(X, qid, "check, ")
        features = self.features(X, "check, ")
        qids, offsets, rows = group_rows(same_length(query_ids(qid, "check, qid"), len(features), "check, qid", ROWS))
        features = features if rows is None else features[rows]
        return Batch(features, offsets, qids.to_numpy(), pl.repeat(None, len(features), dtype=pl.String, eager=True))

    def features(self, X: Any, part: str = "", is_new: bool = False) -> np.ndarray:
        """Return the (n, d) float32 features.

        is_new: True to record the number and the names of the features, False to compare them with the recorded ones.
        Raises GradrankError if X is not an array or a table of numbers, if the features are not those of the training
        data, if a value is infinite, or if a value is missing and the method does not accept missing values.
        """
        return self._converted(self._given(X, part, is_new), part, is_new)

    def _given(self, X: Any, part: str, is_new: bool) -> FeatureValues:
        """Return the features in their own types. The arguments are those of `features`."""
        trained = None if is_new else tuple(getattr(self.estimator, "feature_names_in_", ()))
        return feature_values(X, f"{part}X", trained, self.levels)

    def _converted(self, given: FeatureValues, part: str, is_new: bool) -> np.ndarray:
        """Return the features as float32. The other arguments are those of `features`."""
        options: dict[str, Any] = {"dtype": np.float32, "order": "C", "ensure_all_finite": False}
        try:
            with np.errstate(over="ignore"):  # values that exceed float32 become infinite, and are refused below
                if given.is_table:
                    validate_data(self.estimator, given.named, reset=is_new, skip_check_array=True)
                    features = np.asarray(check_array(given.values, input_name="X", **options))
                elif not is_new and self._needs_no_check(given.values):
                    features = np.asarray(given.values, np.float32, order="C")
                else:
                    features = np.asarray(validate_data(self.estimator, given.values, reset=is_new, **options))
        except (TypeError, ValueError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise GradrankError(f"{part}X: {reason}. Fix: {_fix(reason)}") from None
        bad = np.isinf(features) if self.takes_missing else ~np.isfinite(features)
        if self.levels and not self.takes_missing:  # a missing category is a value of its own
            places = [place for place, name in enumerate(self.estimator.feature_names_in_) if name in self.levels]  # pyright: ignore[reportAttributeAccessIssue] - set by validate_data
            bad[:, places] = False
        if bad.any():
            row, column = np.argwhere(bad)[0]
            value = "NaN" if np.isnan(features[row, column]) else "inf, or too large for float32"
            raise GradrankError(
                f"{part}X: the value in row {row} and column {column}, counted from 0, is {value}, but the method "
                f"accepts only finite numbers{' and NaN' if self.takes_missing else ''}. Fix: replace or remove it"
            )
        return features

    def _needs_no_check(self, values: Any) -> bool:
        """Return True for an array of numbers with the width of the training data, if these had no names.

        scikit-learn accepts and returns such an array as it is. Its checks take longer than one query takes to score.
        """
        return (
            type(values) is np.ndarray
            and values.dtype.kind in "fiub"
            and values.ndim == 2
            and len(values) > 0
            and values.shape[1] == getattr(self.estimator, "n_features_in_", None)
            and not hasattr(self.estimator, "feature_names_in_")
        )


def _is_known(name: str, declared: Columns) -> bool:
    """Return True if a column has a meaning by its name, or by its declaration for the training data."""
    if name in declared.named() or name in ESTIMATES or is_index(name) or is_of_run(name):
        return True
    roles = [names for role, names in ROLE_NAMES.items() if role != "query"]
    return any(normalised(name) in names for names in (*roles, *FURTHER_NAMES.values(), SCORES))


def _merged(values: Any, offsets: np.ndarray, rows: np.ndarray | None) -> list[int]:
    """Return the positions of the features with distinct values that are equal in float32.

    values: (n, d) features of the caller. offsets, rows: as returned by `group_rows`.
    """
    if not isinstance(values, np.ndarray):
        return []
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    if rows is not None:
        query[rows] = query.copy()
    return [place for place, column in enumerate(values.T) if merges(column, query)]


def _orders(data: Collection) -> OrderCounts:
    """Return the order counts of the first queries."""
    queries = int(np.searchsorted(data.offsets, MOST_CHECKED))
    offsets = data.offsets[: queries + 1]
    return order_counts(data.features[: offsets[-1]], data.labels[: offsets[-1]], np.diff(offsets))


def query_rows(rows: int, qid: Any, query: Any, pair: Any) -> tuple[np.ndarray, str, tuple[int, int] | None]:
    """Return the row numbers of the documents of a query, its id, and the positions of a pair in these row numbers.

    rows: number of rows of X. qid: (n,) query ids, or None if all rows are one query. query: id of the query; None for
    that of the pair, or the only query. pair: two row numbers of X, or None. Raises GradrankError if the query or the
    pair does not exist, or if the query is ambiguous.
    """
    named = ["" for _ in range(rows)] if qid is None else same_length(query_ids(qid, "qid"), rows, "qid", ROWS)
    names = np.array([str(name) for name in named], dtype=object)
    if pair is not None:
        if len(pair) != 2 or not all(isinstance(row, int | np.integer) and 0 <= row < rows for row in pair):
            raise GradrankError(
                f"pair: {pair!r} is not a pair of rows of X. Fix: give two numbers from 0 to {rows - 1}"
            )
        query = names[pair[0]] if query is None else query
    known = list(dict.fromkeys(names))
    if query is None and len(known) > 1:
        raise GradrankError(f"query: missing, but X has {len(known):,} queries. Fix: give the id of one of them")
    name = known[0] if query is None else str(query)
    chosen = np.flatnonzero(names == name)
    if not len(chosen):
        raise GradrankError(f"query: no row has the query id {name!r}. Fix: give an id in qid")
    if pair is None:
        return chosen, name, None
    positions = [np.flatnonzero(chosen == row) for row in pair]
    if not all(len(found) for found in positions):
        raise GradrankError(f"pair: a row of {pair!r} is not in query {name}. Fix: give two rows of one query")
    return chosen, name, (int(positions[0][0]), int(positions[1][0]))


@contextmanager
def input_errors() -> Iterator[None]:
    """Convert a GradrankError into an InputError, which scikit-learn treats as a ValueError."""
    try:
        yield
    except GradrankError as error:
        raise InputError(str(error)) from None


def _checked_weights(sample_weight: Any, offsets: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
    """Return the (n,) weights of the grouped rows.

    sample_weight: (n,) weights of the rows, or (q,) weights of the queries in the order of their first rows. offsets,
    rows: as returned by `group_rows`.
    """
    weights = numbers(sample_weight, "sample_weight").astype(np.float64)
    sizes, count = np.diff(offsets), int(offsets[-1])
    if len(weights) not in (count, len(sizes)):
        raise GradrankError(
            f"sample_weight: {len(weights):,} values for {count:,} rows of X and {len(sizes):,} queries. Fix: give one "
            "weight per row, or one per query in the order of their first rows"
        )
    if not np.all(np.isfinite(weights) & (weights >= 0)) or not weights.any():
        raise GradrankError(
            "sample_weight: a weight is negative or not finite, or all weights are zero. Fix: give positive weights"
        )
    if len(weights) < count:
        return np.repeat(weights, sizes)
    return weights if rows is None else weights[rows]


def check_equal_within_queries(rows: GroupedRows) -> None:
    """Raise GradrankError if the rows of a query have different weights."""
    uneven = rows.collection.uneven_query
    if uneven is not None:
        raise GradrankError(
            f"sample_weight: weights differ within query {rows.qids[uneven]}. Fix: give all rows of a query one weight"
        )


def check_has_order(train: Collection) -> None:
    """Raise GradrankError if no query has two documents."""
    if int(np.diff(train.offsets).max()) == 1:
        raise GradrankError(
            "qid: every query has one document, so there is no order to learn. Fix: give all documents of a query the "
            "same id"
        )


def held_out_queries(queries: int, seed: int) -> np.ndarray:
    """Return a (q,) mask of the queries that are held out for the selection of the model."""
    if queries < 2:
        raise GradrankError(
            "qid: there is only one query, so no query can be held out to select the model. Fix: give more queries, "
            "or eval_set=(X, y, qid)"
        )
    return draw_held_out(queries, seed)


def _fix(error: str) -> str:
    """Return how to repair an argument that scikit-learn refused with this message."""
    return next((fix for text, fix in FIXES.items() if text in error), "give an (n, d) array or table of numbers")
