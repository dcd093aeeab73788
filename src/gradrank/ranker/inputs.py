"""Conversion of the arguments of `gradrank.Ranker` to collections."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from gradrank.base.errors import GradrankError, InputError
from gradrank.comparison.rankings.arrays import numbers, query_ids, same_length
from gradrank.comparison.rankings.inputs import grades, group_rows
from gradrank.data.collection import Collection
from gradrank.data.folds.held_out import draw_held_out
from gradrank.data.merged_values import merges
from gradrank.data.reader import Batch
from gradrank.data.suspicious_features import OrderCounts, feature_warnings, order_counts
from gradrank.ranker.feature_values import FeatureValues, feature_values

ROWS = "rows of X"
MOST_CHECKED = 1 << 16  # rows of whole queries whose features are compared with the grades
# key: text in an error message of scikit-learn; value: how to repair the argument
FIXES = {
    "Sparse": "give a dense array, such as X.toarray()",
    "0 sample": "give at least one row",
    "feature names": "give the columns of the training data in the same order",
    "is expecting": "give the features of the training data",
}


class GroupedRows(NamedTuple):
    """A collection, and the caller's (q,) query ids in the order of the collection's queries.

    warnings: the warnings about features of the training data (data/suspicious_features.py).
    """

    collection: Collection
    qids: np.ndarray
    warnings: Sequence[str] = ()


class Reader:
    """Converts the arguments of one estimator.

    estimator: the estimator, which records the number and the names of its features. takes_missing: whether NaN is
    accepted in X.
    """

    def __init__(self, estimator: BaseEstimator, takes_missing: bool) -> None:
        self.estimator, self.takes_missing = estimator, takes_missing

    def rows(
        self, X: Any, y: Any, qid: Any, sample_weight: Any = None, part: str = "", is_new: bool = False
    ) -> GroupedRows:
        """Return the rows, grouped by query, in the order of the first rows of the queries.

        part: beginning of error messages. is_new: as in `features`. Raises GradrankError for an invalid argument.
        """
        given = self._given(X, part, is_new)
        features = self._converted(given, part, is_new)
        labels = same_length(grades(y, f"{part}y"), len(features), f"{part}y", ROWS).astype(np.int32)
        qids, offsets, rows = group_rows(same_length(query_ids(qid, f"{part}qid"), len(features), f"{part}qid", ROWS))
        weights = None if sample_weight is None else _checked_weights(sample_weight, len(features))
        merged = _merged(given.values, offsets, rows) if is_new else []
        del given  # the training does not need the memory
        if rows is not None:
            features, labels = features[rows], labels[rows]
            weights = None if weights is None else weights[rows]
        named = getattr(self.estimator, "feature_names_in_", None)
        names = None if named is None else tuple(named.tolist())
        collection = Collection(features, labels, offsets, np.arange(len(qids)), weights=weights, names=names)
        warnings = feature_warnings(names, None, [_orders(collection)], merged) if is_new else []
        return GroupedRows(collection, qids.to_numpy(), warnings)

    def validation(self, eval_set: Any) -> Collection:
        """Return the validation part from a tuple (X, y, qid). Raises GradrankError for an invalid tuple."""
        if not isinstance(eval_set, tuple) or len(eval_set) != 3:
            raise GradrankError("eval_set: expected a tuple (X, y, qid). Fix: give eval_set=(X_vali, y_vali, qid_vali)")
        return self.rows(*eval_set, part="eval_set, ").collection

    def batch(self, X: Any, qid: Any) -> Batch:
        """Return the rows, grouped by query, without grades. Raises GradrankError for an invalid argument."""
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
        return feature_values(X, f"{part}X", trained)

    def _converted(self, given: FeatureValues, part: str, is_new: bool) -> np.ndarray:
        """Return the features as float32. The other arguments are those of `features`."""
        options: dict[str, Any] = {"dtype": np.float32, "order": "C", "ensure_all_finite": False}
        try:
            with np.errstate(over="ignore"):  # values that exceed float32 become infinite, and are refused below
                if given.is_table:
                    validate_data(self.estimator, given.named, reset=is_new, skip_check_array=True)
                    features = np.asarray(check_array(given.values, input_name="X", **options))
                else:
                    features = np.asarray(validate_data(self.estimator, given.values, reset=is_new, **options))
        except (TypeError, ValueError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise GradrankError(f"{part}X: {reason}. Fix: {_fix(reason)}") from None
        bad = np.isinf(features) if self.takes_missing else ~np.isfinite(features)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            value = "NaN" if np.isnan(features[row, column]) else "inf, or too large for float32"
            raise GradrankError(
                f"{part}X: the value in row {row} and column {column}, counted from 0, is {value}, but the method "
                f"accepts only finite numbers{' and NaN' if self.takes_missing else ''}. Fix: replace or remove it"
            )
        return features


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


def _checked_weights(sample_weight: Any, rows: int) -> np.ndarray:
    weights = same_length(numbers(sample_weight, "sample_weight"), rows, "sample_weight", ROWS).astype(np.float64)
    if not np.all(np.isfinite(weights) & (weights >= 0)) or not weights.any():
        raise GradrankError(
            "sample_weight: a weight is negative or not finite, or all weights are zero. Fix: give positive weights"
        )
    return weights


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
