"""Values that depend on the order of equal scores: which they are, and what they are in expectation over all orders.

A program ranks documents with equal scores by the order of the rows or by their ids. If this order is correlated with
the grades, a ranking that orders nothing looks perfect. Everything that shows a value calls `tied_scores`, and shows
the text of `tied_scores_note`.
"""

import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from gradrank.base.errors import TiedScoresWarning
from gradrank.base.text_tables import number
from gradrank.comparison.statistics import mean_interval
from gradrank.measures.conventions import CONVENTIONS, Convention
from gradrank.measures.metrics import find, metric_label, metric_values
from gradrank.measures.ranking import Ranking

NOTABLE_SHARE = 0.1  # difference, in half widths of the 95% interval, above which a note is shown
SERIOUS_SHARE = 1.0  # difference, in half widths of the 95% interval, above which the note is a warning
ROUNDING = 1e-9  # largest difference of two means that counts as a rounding error
MOST_NAMED = 3  # maximum number of methods that the note names


ORDERS = {"file": "in the order of the rows", "docid": "in descending order of document id"}


class TiedMean(NamedTuple):
    """A mean that depends on the order of equal scores.

    mean: the mean over queries in the order of the convention. expected: the mean over all orders of equal scores; nan
    for metrics without a value in expectation. queries: number of queries whose value depends on the order.
    """

    mean: float
    expected: float
    queries: int


class TiedScores(NamedTuple):
    """The effect of equal scores on one ranking.

    means: the means that depend on the order of equal scores, by metric. constant: number of queries with documents of
    different grades in which all documents have the same score. queries: number of all queries. share: the largest
    difference between a mean and its expectation, in half widths of its 95% interval.
    """

    means: Mapping[str, TiedMean]
    constant: int
    queries: int
    share: float


NO_TIES = TiedScores({}, 0, 0, 0.0)


def tied_scores(
    values: Mapping[str, np.ndarray],
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    convention: Convention,
    ranked: np.ndarray | None = None,
    status: np.ndarray | None = None,
    stratum: np.ndarray | None = None,
) -> TiedScores:
    """Return the effect of equal scores on the values of a ranking.

    values: (q,) values per query under `convention`, by metric. The other arguments are those of Ranking. A query
    counts for a metric only if its value is not the mean over all orders of equal scores. Equal scores of documents
    with equal grades, and equal scores below the rank k of a metric, therefore do not count.
    """
    if convention.ties == "expected":
        return NO_TIES
    compared = np.asarray(scores, dtype=np.float32) if convention.ties == "docid" else scores
    given = {"ranked": ranked, "status": status, "stratum": stratum}
    ranking = Ranking(compared, labels, offsets, convention.in_expectation(), **given)
    groups = ranking.groups[:-1]
    highest, lowest = (reduce.reduceat(ranking.grades, groups) for reduce in (np.maximum, np.minimum))
    is_mixed = highest != lowest
    if not is_mixed.any():
        return NO_TIES
    query = np.searchsorted(ranking.offsets, groups, side="right") - 1
    mixed = _queries(query[is_mixed], ranking)
    without = _queries(query[is_mixed & (lowest == 0)], ranking)  # of metrics without a value in expectation
    whole = np.bincount(query, minlength=len(ranking.sizes)) == 1
    constant = int(np.count_nonzero(whole & mixed))
    means, share = {}, 0.0
    for name, expected in metric_values(list(values), ranking).items():
        in_order, named = values[name], find(name)
        if named.metric.has_expectation:
            affected = np.abs(in_order - expected) > ROUNDING
        else:
            affected = (mixed if named.options else without) & ~np.isnan(in_order)
        if affected.any():
            interval = mean_interval(in_order)
            tied = TiedMean(interval.mean, mean_interval(expected).mean, int(np.count_nonzero(affected)))
            own = share_of_half_width(tied.mean - tied.expected, (interval.high - interval.low) / 2)
            means[name], share = tied, max(share, np.nan_to_num(own, posinf=np.inf))
    return TiedScores(means, constant, len(ranking.sizes), share) if means else NO_TIES


def _queries(numbers: np.ndarray, ranking: Ranking) -> np.ndarray:
    """Return a (q,) mask of the queries with these numbers."""
    mask = np.zeros(len(ranking.sizes), dtype=bool)
    mask[numbers] = True
    return mask


def tied_scores_note(found: Mapping[str, TiedScores], convention: Convention) -> str:
    """Return the note on equal scores in one or more rankings; empty if no value depends on their order.

    found: by the name of a ranking; the name of a single ranking may be empty. The note is a warning if a value changes
    by more than half its 95% interval.
    """
    clauses = [_clause(name, tied) for name, tied in found.items() if tied.means]
    if not clauses:
        return ""
    word = "Warning" if max(tied.share for tied in found.values()) > SERIOUS_SHARE else "Note"
    expected = convention.in_expectation().name
    fix = f" The convention `{expected}` takes every value in expectation." if expected in CONVENTIONS else ""
    return (
        f"{word}: documents of different grades have equal scores, which `{convention.name}` ranks "
        f"{ORDERS[convention.ties]}. {'. '.join(clauses)}.{fix}"
    )


def warn_of_tied_scores(found: Mapping[str, TiedScores], note: str, stacklevel: int) -> None:
    """Emit the note as a TiedScoresWarning if a value changes by more than a tenth of half its 95% interval."""
    if any(tied.share > NOTABLE_SHARE for tied in found.values()):
        warnings.warn(note.partition(": ")[2], TiedScoresWarning, stacklevel=stacklevel + 1)


def _clause(name: str, tied: TiedScores) -> str:
    """Return the sentence on one ranking without its full stop: its most affected means, and the number of queries."""
    gaps = {metric: np.nan_to_num(abs(mean.mean - mean.expected)) for metric, mean in tied.means.items()}
    moved = sorted(tied.means, key=lambda metric: -gaps[metric])
    texts = [_mean_text(metric, mean) for metric, mean in tied.means.items() if metric in moved[:MOST_NAMED]]
    texts += [f"{len(moved) - MOST_NAMED} other metrics"] * (len(moved) > MOST_NAMED)
    count = max(mean.queries for mean in tied.means.values())
    same = f" (in {tied.constant:,}, all documents have the same score)" if tied.constant else ""
    where = f" of `{name}`" if name else ""
    return f"This order decides the value{where} in {count:,} of {tied.queries:,} queries{same}: {', '.join(texts)}"


def _mean_text(metric: str, tied: TiedMean) -> str:
    expected = "no value" if np.isnan(tied.expected) else number(tied.expected)
    return f"{metric_label(metric)} {number(tied.mean)} ({expected} in expectation)"


def share_of_half_width(difference: float, half_width: float) -> float:
    """Return the absolute difference in half widths of the interval, in which a difference is noticed.

    Without a half width, as for a single query or for equal values of all queries, every difference is infinitely
    large, and no difference is nan.
    """
    if half_width > 0:
        return abs(difference) / half_width
    return np.inf if abs(difference) > ROUNDING else np.nan
