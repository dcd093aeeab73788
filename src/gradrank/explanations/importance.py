"""Permutation importance of features, with permutations within queries (Breiman 2001).

The values of a feature are permuted only among the documents of one query. A permutation across queries would also
measure how well the feature tells easy queries from difficult ones, which has no influence on a ranking.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from rich.console import Console
from rich.progress import track

from gradrank.base.errors import GradrankError, nearest
from gradrank.base.text_tables import number
from gradrank.comparison.rankings.result import Result, Section, section
from gradrank.comparison.rankings.tied_scores import TiedScores, tied_scores, tied_scores_note
from gradrank.comparison.statistics import Interval, mean_interval
from gradrank.data.collection import Collection
from gradrank.measures.conventions import Convention, resolve
from gradrank.measures.metrics import compute, metric_label, metric_name
from gradrank.plots.charts import interval_chart
from gradrank.training.trained_fold import TrainedFold
from gradrank.training.training_queries import have_two_grades

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BATCH_VALUES = 1 << 22  # feature values that are scored at once, unless one copy of the data has more: 16 MiB


@dataclass(frozen=True, repr=False, eq=False)
class Importance(Result):
    """The importance of features, as `importance` returns it.

    Printing an Importance shows all features. In a notebook, it is shown as an HTML table.

    features: the d names of the features or groups. drops: one Interval per feature: the mean over queries of the drop
    in the metric, and the bounds of its 95% interval by Student's t. metric: name of the metric. convention: the
    choices of the evaluation program. model: name of the model. mean: mean of the metric over queries with the
    unchanged data. queries: number of queries with a value. repeats: number of permutations per feature. tied: the
    effect of equal scores on the mean.
    """

    features: list[str]
    drops: list[Interval]
    metric: str
    convention: Convention
    model: str
    mean: float
    queries: int
    repeats: int
    tied: TiedScores

    @property
    def note(self) -> str:
        """The text about equal scores of the unchanged data; empty if the mean does not depend on their order."""
        return tied_scores_note({"": self.tied}, self.convention)

    def frame(self) -> pl.DataFrame:
        """Return a frame with the columns `feature`, `drop`, `low` and `high`, sorted by `drop`, the largest first.

        Undefined bounds are null.
        """
        drop, low, high = (list(column) for column in zip(*self.drops, strict=True))
        schema = {"feature": pl.String, "drop": pl.Float64, "low": pl.Float64, "high": pl.Float64}
        table = pl.DataFrame({"feature": self.features, "drop": drop, "low": low, "high": high}, schema=schema)
        return table.fill_nan(None).sort("drop", descending=True, maintain_order=True)

    def plot(self, ax: "Axes | None" = None, *, top: int = 20) -> "Axes":
        """Draw the drops of the most important features with their 95% intervals, and return the matplotlib axes.

        ax: the axes to draw into; None for those of a new figure. top: number of features. Raises GradrankError if
        matplotlib is not installed (extra `plots`).
        """
        table = self.frame().head(top)
        intervals = table.select("drop", "low", "high").fill_null(np.nan).to_numpy()
        label = f"drop in {metric_label(self.metric)}, with 95% interval"
        return interval_chart(table["feature"].to_list(), intervals, label, "plot", ax)

    def sections(self) -> list[Section]:
        """Return the table of the features."""
        times = "1 permutation" if self.repeats == 1 else f"{self.repeats} permutations"
        caption = (
            f"Importance for {self.model}: mean drop in {metric_label(self.metric)} under the convention "
            f"`{self.convention.name}` after {times} within queries, with 95% intervals by Student's t over "
            f"{self.queries:,} queries. Unchanged data: {number(self.mean)}"
        )
        lines = [
            [row["feature"], number(row["drop"], "+.4f"), number(row["low"], "+.4f"), number(row["high"], "+.4f")]
            for row in self.frame().to_dicts()
        ]
        return [section(caption, ["feature", "drop", "low", "high"], 1, lines, "importance", self.note)]


class Copy(NamedTuple):
    """The data with permuted features, without the queries whose values cannot change.

    unit: number of the feature or group. repeat: number of the permutation. rows: (n,) bool, True for the rows of the
    queries that are included. features: (m, d) features of these rows.
    """

    unit: int
    repeat: int
    rows: np.ndarray
    features: np.ndarray


def importance(
    fold: TrainedFold,
    data: Collection,
    metric: str = "ndcg@10",
    *,
    convention: str | Convention,
    groups: Mapping[str, Sequence[int]] | None = None,
    repeats: int = 5,
    seed: int = 0,
    docids: np.ndarray | None = None,
) -> Importance:
    """Return how much a metric drops if the values of a feature are permuted within each query.

    The model is not trained again. All features are permuted with the same permutations, so the result for a feature
    does not depend on the other features that are examined. The drop of a query is the mean over the permutations. It
    is exactly 0 if the feature is constant in the query.

    Parameters
    ----------
    fold
        The trained model.
    data
        Documents with grades, and with the features of the training data before normalisation.
    metric, convention
        Names of the metric and the convention. See `gradrank.evaluate`.
    groups
        Dict from the name of a group to the column numbers of its features, from 0. The features of a group are
        permuted together. The result has one row per group. If None, each feature is a group.
    repeats
        Number of permutations per feature.
    seed
        Seed of the permutations.
    docids
        (n,) document ids, which break ties under the convention `trec`. If None, row numbers break them.

    Raises
    ------
    GradrankError
        If an argument is invalid, or if the metric is undefined for every query.
    """
    name, resolved = metric_name(metric), resolve(convention)
    names, columns = _units(fold, data.features.shape[1], groups)
    _check_counts(repeats, seed)
    ids = None if docids is None else np.asarray(docids)

    def values(scores: np.ndarray) -> np.ndarray:
        """Return the (q,) values of the metric for (n,) scores."""
        return compute([name], scores, data.labels, data.offsets, resolved, ids)[name]

    unchanged = values(scores := fold.score(data.features, data.offsets))
    defined = unchanged[~np.isnan(unchanged)]
    if not len(defined):
        raise GradrankError(
            f"metric {name!r}: undefined for every query under the convention `{resolved.name}`. Fix: choose another "
            "metric or convention, or give data with relevant documents"
        )
    intervals = [mean_interval(drops) for drops in _drops(fold, data, columns, values, repeats, seed)]
    mean, count = float(defined.mean()), len(defined)
    tied = tied_scores({name: unchanged}, scores, data.labels, data.offsets, resolved)
    return Importance(names, intervals, name, resolved, fold.model.name, mean, count, int(repeats), tied)


def _drops(
    fold: TrainedFold,
    data: Collection,
    columns: Sequence[np.ndarray],
    values: Callable[[np.ndarray], np.ndarray],
    repeats: int,
    seed: int,
) -> np.ndarray:
    """Return (u, q) drops of the metric: one row per feature or group, one column per query, nan where undefined.

    columns: the column numbers of the u features or groups. values: function that returns the (q,) values for (n,)
    scores.
    """
    scores = fold.score(data.features, data.offsets)
    unchanged = values(scores)
    drops = np.zeros((len(columns), data.queries))
    drops[:, np.isnan(unchanged)] = np.nan
    copies = track(
        _copies(data, columns, repeats, seed),
        "importance",
        total=repeats * len(columns),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    for batch in _batches(copies):
        offsets = np.concatenate([[0], *(_sizes(copy, data) for copy in batch)]).cumsum()
        changed = fold.score(np.concatenate([copy.features for copy in batch]), offsets)
        for copy, own in zip(batch, np.split(changed, _ends(batch)), strict=True):
            permuted = scores.copy()
            permuted[copy.rows] = own
            drops[copy.unit] += (unchanged - values(permuted)) / repeats
    return drops


def group_columns(names: Sequence[str], groups: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
    """Return the groups of `importance` from groups of feature names.

    names: the d names of the features. Raises GradrankError for an unknown name.
    """
    positions = {name: column for column, name in enumerate(names)}
    for group, members in groups.items():
        if isinstance(members, str):
            raise GradrankError(f"groups: group {group!r} is a text. Fix: give a list of feature names, [{members!r}]")
        for name in members:
            if name not in positions:
                raise GradrankError(
                    f"groups: group {group!r} has the unknown feature {name!r}{nearest(str(name), positions)}. Fix: "
                    "correct the name"
                )
    return {group: [positions[name] for name in members] for group, members in groups.items()}


def _units(
    fold: TrainedFold, width: int, groups: Mapping[str, Sequence[int]] | None
) -> tuple[list[str], list[np.ndarray]]:
    """Return the names of the features or groups, and the column numbers of each."""
    if width != fold.schema.width:
        raise GradrankError(
            f"data: {width} features, but {fold.model.name} was trained on {fold.schema.width}. Fix: give the features "
            "of the training data"
        )
    if groups is None:
        return fold.schema.feature_names, [np.array([column]) for column in range(width)]
    if not groups:
        raise GradrankError("groups: no group. Fix: give at least one group, or leave out groups")
    for name, columns in groups.items():
        if not len(columns) or not all(0 <= column < width for column in columns):
            raise GradrankError(
                f"groups: the columns of group {name!r} are {list(columns)}. Fix: give at least one number from 0 to "
                f"{width - 1}"
            )
    return list(groups), [np.unique(np.asarray(columns, dtype=np.int64)) for columns in groups.values()]


def _check_counts(repeats: int, seed: int) -> None:
    for name, value, least in (("repeats", repeats, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise GradrankError(f"{name}: expected an integer from {least}, found {value!r}. Fix: give {name}={least}")


def _copies(data: Collection, columns: Sequence[np.ndarray], repeats: int, seed: int) -> Iterator[Copy]:
    """Yield the copies of the data, one per permutation and feature or group. Copies without rows are left out.

    A query is included only if its documents have different grades, because otherwise every order has the same value,
    and only if the permutation changes one of its values.
    """
    starts, sizes, mixed = data.offsets[:-1], np.diff(data.offsets), have_two_grades(data)
    for repeat in range(repeats):
        keys = np.random.default_rng([seed, repeat]).random(data.rows)
        permutation = np.lexsort((keys, data.query_of_row))
        for unit, own in enumerate(columns):
            before = data.features[:, own]
            after = before[permutation]
            is_equal = (before == after) | (np.isnan(before) & np.isnan(after))
            has_change = np.logical_or.reduceat(~is_equal.all(axis=1), starts)
            rows = np.repeat(has_change & mixed, sizes)
            if rows.any():
                features = data.features[rows]
                features[:, own] = after[rows]
                yield Copy(unit, repeat, rows, features)


def _batches(copies: Iterable[Copy]) -> Iterator[list[Copy]]:
    """Yield lists of copies with about BATCH_VALUES values."""
    batch: list[Copy] = []
    for copy in copies:
        batch.append(copy)
        if sum(each.features.size for each in batch) >= BATCH_VALUES:
            yield batch
            batch = []
    if batch:
        yield batch


def _sizes(copy: Copy, data: Collection) -> np.ndarray:
    """Return the number of rows of each query that is included in a copy."""
    return np.diff(data.offsets)[copy.rows[data.offsets[:-1]]]


def _ends(batch: Sequence[Copy]) -> np.ndarray:
    """Return the row numbers at which the scores of a batch are split into those of its copies."""
    return np.cumsum([len(copy.features) for copy in batch])[:-1]
