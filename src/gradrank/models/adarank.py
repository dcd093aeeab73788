"""AdaRank (Xu & Li 2007): boosting of single features, with query weights that depend on the ranking measure.

The model deviates from the paper in one way: a feature is rejected if it does not raise the mean of the measure.
Without this rule, the same strong feature would be selected again and again (see `boost`).
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from gradrank.data.collection import Collection
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.selection import CRITERION, Criterion
from gradrank.training.solvers.weighted_terms import Term, TermRanker, best_rounds
from gradrank.training.training_queries import shuffled_within_queries, with_grades_to_order


class AdaRankParams(ModelParams):
    """The parameters of AdaRank, with defaults for average precision."""

    measure: str = param(
        "map", "E: any measure in [0, 1] (Xu & Li 2007, section 3.1): map or ndcg@K", pattern=CRITERION
    )
    rounds: int = param(500, "number of rounds; 1500 gain less than .0002 MAP on the validation parts of MQ2007", ge=1)
    select_by: str = param("map", "the measure of the training, as in LETOR's protocol", pattern=CRITERION)


class AdaRankNDCGParams(AdaRankParams):
    """The parameters of AdaRank, with defaults for NDCG@10."""

    measure: str = param(
        "ndcg@10", "E: the paper does not state the cutoff; LETOR's tables compare NDCG@10", pattern=CRITERION
    )
    select_by: str = param("ndcg@10", "the measure of the training, as in LETOR's protocol", pattern=CRITERION)


class Round(NamedTuple):
    """A round in which a feature was added to the ensemble.

    weights: (q,) P_t, the query weights with which the feature was selected. weak: (q,) E(h_t), the measure of the
    feature alone. ensemble: (q,) E(f_t), the measure of the ensemble including the feature.
    """

    term: Term
    weights: np.ndarray
    weak: np.ndarray
    ensemble: np.ndarray


def boost(train: Collection, measure: str, rounds: int) -> Iterator[Round]:
    """Yield the rounds of AdaRank (Xu & Li 2007, Figure 1) in which a feature was added.

    P_1 is uniform or, if the queries have weights, proportional to these weights. P_t and all means over queries then
    have the weights as factors.

    In round t, h_t is the feature with the largest sum_q P_t(q) E(h, q), where E is the measure. Its weight is
    alpha_t = 1/2 ln(sum_q P_t(q) (1 + E(h_t, q)) / sum_q P_t(q) (1 - E(h_t, q))). The query weights P_{t+1}(q) of the
    next round are proportional to exp(-E(f_t, q)), where f_t is the ensemble.

    P changes little from round to round, so with these rules alone the same strong feature is selected in every round.
    Therefore, unlike in the paper, a feature that does not raise the mean E of the ensemble is rejected. It is excluded
    until another feature is added. If all features are excluded, the strongest one is added anyway. This increases the
    weights of the ensemble, so that later features change its ranking less.

    measure: `map` or `ndcg@K`. rounds: number of rounds, including those that reject a feature.
    """
    criterion = Criterion(measure, train.labels, train.offsets, train.convention)
    mean_of = partial(np.average, weights=train.query_weights)
    columns = train.features.T.astype(np.float64, order="C")
    table = np.stack([criterion.per_query(column) for column in columns])
    given = np.ones(train.queries) if train.query_weights is None else train.query_weights
    weights = given / given.sum()
    scores, reached = np.zeros(train.rows), 0.0
    excluded = np.zeros(len(table), dtype=bool)
    for _ in range(rounds):
        strength = (table * weights).sum(axis=1)
        stuck = excluded.all()
        chosen = int(strength.argmax() if stuck else np.where(excluded, -1.0, strength).argmax())
        # Without the limit, a feature with E = 1 on every query would have an infinite weight.
        alpha = float(np.arctanh(min(strength[chosen], 1.0 - 1e-6)))
        trial = scores + alpha * columns[chosen]
        ensemble = criterion.per_query(trial)
        if mean_of(ensemble) <= reached and not stuck:
            excluded[chosen] = True
            continue
        yield Round(Term(chosen, alpha), weights, table[chosen], ensemble)
        scores, reached = trial, mean_of(ensemble)
        excluded[:] = False
        weights = given * np.exp(-ensemble)
        weights /= weights.sum()


@register("adarank_map")
class AdaRank(TermRanker[AdaRankParams]):
    """AdaRank with E = average precision: score = sum_t alpha_t x_{f_t}."""

    uses_weights = "queries"
    reads_labels = "gains"
    summary = "AdaRank on average precision: single features, boosted by re-weighting queries (Xu & Li 2007)"
    Params = AdaRankParams

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: AdaRankParams, seed: int, callback: Callback) -> Self:
        train = shuffled_within_queries(with_grades_to_order(train, cls.name), seed)
        rounds, weights = boost(train, params.measure, params.rounds), train.query_weights
        losses = ((added.term, 1.0 - float(np.average(added.ensemble, weights=weights))) for added in rounds)
        return cls(best_rounds(losses, vali, params.select_by, callback))


@register("adarank_ndcg")
class AdaRankNDCG(AdaRank):
    """AdaRank with E = NDCG@10."""

    summary = "AdaRank on NDCG: single features, boosted by re-weighting queries (Xu & Li 2007)"
    Params = AdaRankNDCGParams
