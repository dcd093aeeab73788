"""A ranking measure at several points along a line. Coordinate ascent evaluates it thousands of times."""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import order
from gradrank.training.selection import Criterion


def means_along(
    criterion: Criterion, scores: np.ndarray, column: np.ndarray, moves: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the mean of the criterion over queries, at scores + move * column, for each move.

    scores, column: (n,) float64. moves: (m,). weights: (q,) weights of the queries in the mean, or None. The result is
    (m,).
    """
    if criterion.cutoff is None:
        values = (criterion.per_query(scores + move * column) for move in moves)
        return np.array([np.average(of_queries, weights=weights) for of_queries in values])
    discount = criterion.discounts(np.arange(1, criterion.cutoff + 1))
    gain = criterion.gains(criterion.labels)
    ranked = order(scores, criterion.offsets)
    values = _ndcg_along(scores, column, moves, ranked, gain, discount, criterion.best, criterion.offsets)
    return np.average(values, axis=1, weights=weights)


@compiled("f8[:], f8[:], f8[:], i8[:], f8[:], f8[:], f8[:], i8[:]")
def _ndcg_along(scores, column, moves, ranked, gain, discount, best, offsets):
    """Return the NDCG of each query at each move, as an (m, q) array.

    ranked: (n,) row numbers, sorted by query and by descending score at move 0. Documents are visited in this order,
    because small moves change the ranking little.
    """
    values = np.zeros((len(moves), len(best)))
    top, rows = np.empty(len(discount)), np.empty(len(discount), np.int64)
    for q in range(len(best)):
        if best[q] > 0.0:
            for m in range(len(moves)):
                count = _best_of_query(scores, column, moves[m], ranked[offsets[q] : offsets[q + 1]], top, rows)
                for place in range(count):
                    values[m, q] += gain[rows[place]] * discount[place]
                values[m, q] /= best[q]
    return values


@compiled()
def _best_of_query(scores, column, move, ranked, top, rows):
    """Write the k highest scores of a query to `top` and their row numbers to `rows`, and return how many there are.

    top, rows: (k,). If the query has fewer than k documents, only the first elements are written.
    """
    count = 0
    for row in ranked:
        score = scores[row] + move * column[row]
        place = count
        if count == len(top):
            if not _ahead(score, row, top[-1], rows[-1]):
                continue
            place -= 1
        else:
            count += 1
        while place > 0 and _ahead(score, row, top[place - 1], rows[place - 1]):
            top[place], rows[place] = top[place - 1], rows[place - 1]
            place -= 1
        top[place], rows[place] = score, row
    return count


@compiled()
def _ahead(score, row, other_score, other_row):
    """Return whether a document ranks before another document. Documents with equal scores are in file order."""
    return score > other_score or (score == other_score and row < other_row)
