"""The choice of the methods, queries and pairs of documents that the report explains."""

from collections.abc import Iterator, Sequence

import numpy as np

from gradrank.bench.report.standings import Standing
from gradrank.training.literature.model_families import OTHERS

MOST_METHODS = 4


def choose_methods(ranked: Sequence[Standing]) -> list[Standing]:
    """Return the methods to explain, best first: at most MOST_METHODS.

    They are the two methods of `choose_opponents`, and the best of the methods that are not significantly worse than
    the best one. ranked: the methods, best first.
    """
    opponents = choose_opponents(ranked)
    level = [row for row in ranked if not row.is_worse and row not in opponents]
    chosen = [*opponents, *level[: MOST_METHODS - len(opponents)]]
    return [row for row in ranked if row in chosen]


def choose_opponents(ranked: Sequence[Standing]) -> list[Standing]:
    """Return the best method and the best method of another family.

    If all methods are of one family, the second method is the second best. If there is only one method, the list has
    one item. The models of the family OTHERS count as families of their own.
    """
    best = ranked[:1]
    others = [row for row in ranked[1:] if row.family == OTHERS or row.family != best[0].family]
    return [*best, *(others or ranked[1:])[:1]]


def most_different(first: np.ndarray, second: np.ndarray, qids: np.ndarray) -> Iterator[int]:
    """Yield the positions of the queries on which two methods differ, the greatest difference first.

    Equal differences are in the order of the positions. A query that is tested in several folds is yielded once.

    first, second: (q,) values of the two methods; a query with a missing value (nan) is left out. qids: (q,) query ids.
    """
    gaps = np.nan_to_num(np.abs(first - second))
    seen = set()
    for position in np.argsort(-gaps, kind="stable").tolist():
        if gaps[position] == 0:
            return
        if qids[position] not in seen:
            seen.add(qids[position])
            yield position


def opposed_pair(
    gains: np.ndarray, right: np.ndarray, wrong: np.ndarray, ranks: tuple[np.ndarray, np.ndarray]
) -> tuple[int, int] | None:
    """Return the pair of documents of one query that one method puts in the right order, and another in the wrong one.

    The first document of the pair has the higher gain. Of all such pairs, the function returns the one with the
    greatest difference of the gains. If there are several, it returns the one with the greatest sum of the two
    distances in rank, and then the one with the first rows. It returns None if there is no such pair.

    gains: (n,) gains of the documents. right, wrong: (n,) scores of the two methods. ranks: the (n,) ranks by each.
    """
    best, found = (0.0, 0), None
    for high in np.flatnonzero(gains > gains.min()).tolist():
        is_opposed = (gains < gains[high]) & (right < right[high]) & (wrong > wrong[high])
        if not is_opposed.any():
            continue
        gap = np.where(is_opposed, gains[high] - gains, -1.0)
        distance = np.abs(ranks[0] - ranks[0][high]) + np.abs(ranks[1] - ranks[1][high])
        low = int(np.lexsort((-np.arange(len(gains)), distance, gap))[-1])
        if (gap[low], distance[low]) > best:
            best, found = (gap[low], distance[low]), (high, low)
    return found
