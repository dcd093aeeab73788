"""Coordinate ascent (Metzler & Croft 2007): a linear ranker climbs the measure, a weight at a time."""

from collections.abc import Iterator
from typing import ClassVar, Self

import numpy as np

from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.search_space import Choice, LogUniform
from gradrank.training.selection import CRITERION, Criterion
from gradrank.training.solvers.weighted_terms import Term, TermRanker
from gradrank.training.training_queries import shuffled_within_queries, with_grades_to_order


class CoordinateAscentParams(ModelParams):
    """Coordinate ascent's defaults."""

    measure: str = param("ndcg@10", "what is climbed on the training part: map or ndcg@K", pattern=CRITERION)
    starts: int = param(
        3, "the first from equal, the others from random weights (Metzler & Croft 2007: restarts)", ge=1
    )
    passes: int = param(25, "over all weights, at most, a start; RankLib's 25. They end by tolerance", ge=1)
    steps: int = param(11, "moves tried up and down a weight, each twice the last: .001 to 1", ge=1, le=60)
    first_step: float = param(0.001, "the smallest move, as a share of |w|_1; RankLib's", gt=0, le=1)
    tolerance: float = param(0.001, "a start ends when a pass gains no more than this; RankLib's", ge=0)
    select_by: str = param("ndcg@10", "the measure trained on, as in LETOR's protocol", pattern=CRITERION)


def climb(
    weights: np.ndarray, columns: np.ndarray, train: Collection, params: CoordinateAscentParams, rng
) -> Iterator[tuple[np.ndarray, float]]:
    """(weights, mean training measure) after each pass from `weights` (d,); columns: (d, n) float64.

    A pass visits the weights in random order. For each it tries the steps and zero, moves to the best if that
    beats the present, and scales |w|_1 back to 1, which no ranking notices.
    """
    from gradrank.models.coordinate_ascent.line_search import means_along

    criterion = Criterion(params.measure, train.labels, train.offsets)
    steps = params.first_step * 2.0 ** np.arange(params.steps)
    moves = np.concatenate([steps, -steps])
    scores = (weights[:, None] * columns).sum(axis=0)
    best = criterion.per_query(scores).mean()
    for _ in range(params.passes):
        before = best
        for feature in rng.permutation(len(weights)):
            tried = np.append(moves, -weights[feature])
            found = means_along(criterion, scores, columns[feature], tried)
            if found.max() > best:
                best, move = found.max(), tried[found.argmax()]
                weights[feature] += move
                norm = np.abs(weights).sum() or 1.0
                scores = (scores + move * columns[feature]) / norm
                weights /= norm
        yield weights, float(best)
        if best - before <= params.tolerance:
            return


@register("coordinate_ascent")
class CoordinateAscent(TermRanker[CoordinateAscentParams]):
    """score = w . x."""

    summary = "coordinate ascent of a linear ranker on NDCG or MAP (Metzler & Croft 2007)"
    Params = CoordinateAscentParams
    space: ClassVar = {
        "starts": Choice((1, 3, 5), "RankLib: 5"),
        "first_step": LogUniform(1e-4, 1e-2, "a decade about RankLib's on either side"),
        "tolerance": LogUniform(1e-4, 1e-2, "a decade about RankLib's on either side"),
    }

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: CoordinateAscentParams, seed: int, callback: Callback
    ) -> Self:
        train = shuffled_within_queries(with_grades_to_order(train, cls.name), seed)
        rng = np.random.default_rng(seed)
        varying = np.flatnonzero(np.ptp(train.features, axis=0) > 0)
        # A step means the same for every feature when all have unit variance.
        scale = train.features[:, varying].std(axis=0, dtype=np.float64)
        columns = (train.features[:, varying] / scale).T.copy()

        def candidates() -> Iterator[Candidate]:
            for start in range(params.starts if len(varying) else 0):
                first = np.ones(len(varying)) if start == 0 else rng.normal(size=len(varying))
                for weights, reached in climb(first / np.abs(first).sum(), columns, train, params, rng):
                    terms = list(map(Term, varying.tolist(), (weights / scale).tolist()))
                    yield Candidate(cls(terms), 1.0 - reached)

        return best_of(candidates(), vali, params.select_by, callback).kept or cls([])
