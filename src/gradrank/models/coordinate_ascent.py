"""Coordinate ascent (Metzler & Croft 2007): a linear ranker whose weights are changed one at a time to raise a measure.

The step sizes and the tolerance are those of RankLib. The search is restarted several times. Of the weights after each
pass of each start, those with the best validation value are kept.
"""

from collections.abc import Iterator
from typing import ClassVar, Self

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.collection import Collection
from gradrank.data.order import order
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.search_space import Choice, LogUniform
from gradrank.training.selection import CRITERION, Criterion
from gradrank.training.solvers.weighted_terms import Term, TermRanker
from gradrank.training.training_queries import shuffled_within_queries, with_grades_to_order


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


class CoordinateAscentParams(ModelParams):
    """The parameters of coordinate ascent."""

    measure: str = param("ndcg@10", "measure that is maximised on the training part: map or ndcg@K", pattern=CRITERION)
    starts: int = param(3, "starting points: equal weights, then random weights (Metzler & Croft 2007: restarts)", ge=1)
    passes: int = param(
        25,
        "largest number of passes over all weights per start; RankLib's 25. Usually tolerance ends a start before",
        ge=1,
    )
    steps: int = param(11, "moves per weight and direction, each twice the previous one: .001 to 1", ge=1, le=60)
    first_step: float = param(0.001, "smallest move, as a share of |w|_1; RankLib's default", gt=0, le=1)
    tolerance: float = param(0.001, "a start ends when a pass gains no more than this; RankLib's default", ge=0)
    select_by: str = param("ndcg@10", "the measure of the training, as in LETOR's protocol", pattern=CRITERION)


def climb(
    weights: np.ndarray,
    columns: np.ndarray,
    train: Collection,
    params: CoordinateAscentParams,
    rng: np.random.Generator,
) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the weights and the mean of the training measure, weighted by the weights of the queries, after each pass.

    A pass visits the weights in random order. For each weight it tries all steps in both directions, and the value 0.
    If the best of these values improves the measure, the weight is set to this value. The weights are then scaled to
    |w|_1 = 1, which does not change the ranking.

    weights: (d,) initial weights, changed in place. columns: (d, n) float64 features. rng: source of the order of the
    weights.
    """

    criterion = Criterion(params.measure, train.labels, train.offsets, train.convention)
    steps = params.first_step * 2.0 ** np.arange(params.steps)
    moves = np.concatenate([steps, -steps])
    scores = (weights[:, None] * columns).sum(axis=0)
    best = np.average(criterion.per_query(scores), weights=train.query_weights)
    for _ in range(params.passes):
        before = best
        for feature in rng.permutation(len(weights)):
            tried = np.append(moves, -weights[feature])
            means = means_along(criterion, scores, columns[feature], tried, train.query_weights)
            if means.max() > best:
                best, move = means.max(), tried[means.argmax()]
                weights[feature] += move
                norm = np.abs(weights).sum() or 1.0
                scores = (scores + move * columns[feature]) / norm
                weights /= norm
        yield weights, float(best)
        if best - before <= params.tolerance:
            return


@register("coordinate_ascent")
class CoordinateAscent(TermRanker[CoordinateAscentParams]):
    """A ranker with score = w . x."""

    uses_weights = "queries"
    reads_labels = "gains"
    summary = "coordinate ascent of a linear ranker on NDCG or MAP (Metzler & Croft 2007)"
    Params = CoordinateAscentParams
    space: ClassVar = {
        "starts": Choice((1, 3, 5), "RankLib: 5"),
        "first_step": LogUniform(1e-4, 1e-2, "a decade on either side of RankLib's default"),
        "tolerance": LogUniform(1e-4, 1e-2, "a decade on either side of RankLib's default"),
    }

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: CoordinateAscentParams, seed: int, callback: Callback
    ) -> Self:
        train = shuffled_within_queries(with_grades_to_order(train, cls.name), seed)
        rng = np.random.default_rng(seed)
        varying = np.flatnonzero(np.ptp(train.features, axis=0) > 0)
        # After scaling to unit variance, a step has a similar effect for every feature.
        scale = train.features[:, varying].std(axis=0, dtype=np.float64)
        columns = (train.features[:, varying] / scale).T.copy()

        def candidates() -> Iterator[Candidate]:
            for start in range(params.starts if len(varying) else 0):
                first = np.ones(len(varying)) if start == 0 else rng.normal(size=len(varying))
                for weights, reached in climb(first / np.abs(first).sum(), columns, train, params, rng):
                    terms = list(map(Term, varying.tolist(), (weights / scale).tolist()))
                    yield Candidate(cls(terms), 1.0 - reached)

        return best_of(candidates(), vali, params.select_by, callback).kept or cls([])
