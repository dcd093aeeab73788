"""Collection: the in-memory form of ranking data, and lookup of its features by name or by number."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gradrank.base.conventions import LETOR4, Convention
from gradrank.base.errors import GradrankError, unknown

if TYPE_CHECKING:
    from gradrank.data.pairs import Pairs, PairSource
    from gradrank.data.preparation import Preparation


# The metadata of a field of Collection say what the first axis of its array counts. The value of a field may be None.
# A field with the metadata WHOLE describes the whole collection, so it is the same for a part of the queries.
AXIS = "axis"
PER_ROW, PER_QUERY, OFFSETS, PAIRS, WHOLE = ({AXIS: axis} for axis in ("row", "query", "offsets", "pairs", "whole"))


@dataclass(frozen=True)
class Collection:
    """Documents grouped by query. The documents of query q are the rows offsets[q]:offsets[q+1].

    A subclass that adds a field declares its axis, for example `field(default=None, metadata=PER_ROW)`; `take` and
    `select_queries` then handle the field.

    Parameters
    ----------
    features
        (n, d) float32 in C order.
    labels
        (n,) int32 relevance grades.
    offsets
        (q+1,) int64: the first row of each query, and the number of rows at the end.
    qids
        (q,) int64 query ids.
    pair_source
        The stored pairs of these documents. If None, all pairs of documents with different grades are used (the crucial
        pairs).
    weights
        (n,) float64 weights of the documents, or None if all documents have the same weight.
    convention
        The primary convention of the data set. Models are selected under this convention, in expectation over ties.
    names
        The d names of the features, or None if features only have numbers.
    label_values
        (m,) float64 labels, sorted, for which the grades 0 to m - 1 stand; None if the grades are the labels.
    categorical
        The columns of features with categories, whose values are codes: whole numbers from 0. Only the parts of methods
        with `takes_categories` have such features.
    """

    features: np.ndarray = field(metadata=PER_ROW)
    labels: np.ndarray = field(metadata=PER_ROW)
    offsets: np.ndarray = field(metadata=OFFSETS)
    qids: np.ndarray = field(metadata=PER_QUERY)
    pair_source: "PairSource | None" = field(default=None, metadata=PAIRS)
    weights: np.ndarray | None = field(default=None, metadata=PER_ROW)
    convention: Convention = field(default=LETOR4, metadata=WHOLE)
    names: tuple[str, ...] | None = field(default=None, metadata=WHOLE)
    label_values: np.ndarray | None = field(default=None, metadata=WHOLE)
    categorical: tuple[int, ...] = field(default=(), metadata=WHOLE)

    def prepared(self, preparation: "Preparation", levels: Mapping[str, Sequence[str]], is_training: bool) -> Self:
        """Return the collection with prepared features.

        levels: a dict from the name of a feature with categories to its levels. is_training: True for the rows from
        which `preparation` was learned.
        """
        if not preparation.changes:
            return self
        if is_training:
            features = preparation.of_training_part(self.features, self.labels, self.offsets)
        else:
            features = preparation(self.features, self.offsets)
        names = None if self.names is None else tuple(preparation.names(self.names, levels))
        return replace(self, features=features, names=names, categorical=preparation.categorical)

    @property
    def rows(self) -> int:
        """The number of documents, n."""
        return len(self.labels)

    @property
    def queries(self) -> int:
        """The number of queries, q."""
        return len(self.qids)

    @cached_property
    def pairs(self) -> "Pairs":
        """The list of pairs.

        It is read from the stored pairs if there are any, and computed from the grades otherwise.
        """
        if self.pair_source is not None:
            return self.pair_source.read()
        from gradrank.data.pairs import crucial_pairs

        return crucial_pairs(self.labels, self.offsets)

    @property
    def gains(self) -> np.ndarray | None:
        """The float64 gain of each grade, for training and selection. None if training uses 2^grade - 1."""
        gain = self.convention.gain
        return np.array(gain) if isinstance(gain, tuple) else None

    @property
    def numbers(self) -> np.ndarray:
        """The (n,) labels as numbers: the grades, or the float64 labels for which the grades stand."""
        return self.labels if self.label_values is None else self.label_values[self.labels]

    @property
    def query_weights(self) -> np.ndarray | None:
        """The (q,) weights of the queries, each the weight of its first document. None without weights."""
        return None if self.weights is None else self.weights[self.offsets[:-1]]

    @property
    def uneven_query(self) -> int | None:
        """The position of the first query whose documents have different weights. None if there is no such query."""
        weights = self.query_weights
        if self.weights is None or weights is None:
            return None
        differs = self.weights != weights[self.query_of_row]
        return int(self.query_of_row[differs.argmax()]) if differs.any() else None

    @property
    def ties(self) -> bool:
        """True if documents of equal grade form pairs, with target probability 1/2."""
        return self.pair_source is not None and self.pair_source.ties

    @property
    def targets(self) -> "np.ndarray | Pairs":
        """The targets of a pairwise cost: the (n,) grades, or the pairs if they come from a user's file."""
        return self.pairs if self.pair_source is not None and self.pair_source.given else self.labels

    @cached_property
    def query_of_row(self) -> np.ndarray:
        """The (n,) int64 query positions, one per row."""
        return np.repeat(np.arange(self.queries), np.diff(self.offsets))

    def take(self, rows: np.ndarray) -> Self:
        """Return a copy with the documents of each query in a different order.

        rows: an (n,) permutation of the row numbers. Row i of the copy is row rows[i] of this collection.

        Raises ValueError if `rows` is not a permutation or moves a document to a different query. Also raises
        ValueError if the collection has stored pairs, because the pairs are row numbers in the present order.
        """
        if self.pair_source is not None:
            raise ValueError("take: the collection has stored pairs, which are row numbers in the present order")
        if not np.array_equal(np.sort(rows), np.arange(self.rows)):
            raise ValueError("take: `rows` is not a permutation of the row numbers")
        if not np.array_equal(self.query_of_row[rows], self.query_of_row):
            raise ValueError("take: `rows` moves a document to another query")
        return self._with(
            {
                "row": lambda values: values[rows],
                "query": lambda values: values,
                "offsets": lambda values: values,
                "pairs": lambda source: source,
            }
        )

    def select_queries(self, chosen: np.ndarray) -> Self:
        """Return a collection of the chosen queries, with their documents and pairs.

        chosen: (q,) bool, True for each query to include.
        """
        rows = chosen[self.query_of_row]
        return self._with(
            {
                "row": lambda values: values[rows],
                "query": lambda values: values[chosen],
                "offsets": lambda offsets: np.r_[0, np.cumsum(np.diff(offsets)[chosen])],
                "pairs": lambda source: source.of_queries(np.flatnonzero(chosen), self.offsets),
            }
        )

    def _with(self, changes: dict[str, Callable[[Any], Any]]) -> Self:
        """Return a copy with changed fields. Fields with the value None stay unchanged.

        changes: for each axis, the function that is applied to the fields with this axis.
        """
        changes, changed = changes | {"whole": lambda value: value}, {}
        for declared in fields(self):
            axis, value = declared.metadata.get(AXIS), getattr(self, declared.name)
            if axis not in changes:
                raise TypeError(
                    f"{type(self).__name__}.{declared.name}: no axis. Fix: declare one, for example metadata=PER_ROW"
                )
            changed[declared.name] = None if value is None else changes[axis](value)
        return replace(self, **changed)

    def check(self, where: str, missing: bool = False) -> None:
        """Raise GradrankError if a feature value is infinite, or if it is NaN and `missing` is False.

        where: the name of the data in the error message.
        """
        finite = ~np.isinf(self.features) if missing else np.isfinite(self.features)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            raise GradrankError(
                f"{where}: feature {column + 1} of document {row + 1} is {self.features[row, column]}; expected a "
                "finite number. Fix: correct this value in the data"
            )


def feature_columns(features: Iterable[str], count: int, names: Sequence[str] | None, where: str) -> list[int]:
    """Return the sorted columns, from 0, of features. Each feature is a name, a number from 1, or a range "11-15".

    count, names, where: see `feature_column`. Raises GradrankError if the data have no such feature.
    """
    columns: set[int] = set()
    for feature in features:
        bounds = re.fullmatch(r"(\d+)-(\d+)", feature)
        if bounds is None or feature in (names or ()):
            columns.add(feature_column(feature, count, names, where))
            continue
        first, last = (feature_column(bound, count, names, where) for bound in bounds.groups())
        if first > last:
            raise GradrankError(f"{where}: the range {feature} is empty. Fix: give the lower number first")
        columns.update(range(first, last + 1))
    return sorted(columns)


def feature_column(feature: str, count: int, names: Sequence[str] | None, where: str) -> int:
    """Return the column, from 0, of a feature.

    feature: the name of a feature, or its number from 1. Digits are a name if the data have a feature whose name
    consists of digits. count: the number of features. names: the names of the features, or None if they only have
    numbers. where: the name of the parameter, for the error message. Raises GradrankError if the data have no such
    feature.
    """
    names = names or ()
    if feature.isdecimal() and not any(map(str.isdecimal, names)):
        if not 1 <= int(feature) <= count:
            raise GradrankError(f"{where}: no feature {feature}. Fix: give a number from 1 to {count}")
        return int(feature) - 1
    if not names:
        raise GradrankError(
            f"{where}: {feature!r} is a name, but the features of these data have no names. "
            f"Fix: give a number from 1 to {count}"
        )
    if feature not in names:
        raise GradrankError(f"{where}: {unknown('feature', feature, names)}. Fix: give the name of a feature")
    return names.index(feature)
