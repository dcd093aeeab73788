"""AdaRank (Xu & Li 2007): boosting of single features, re-weighting queries by the measure itself."""

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

from gradrank.data.collection import Collection
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.selection import CRITERION, Criterion
from gradrank.training.solvers.weighted_terms import Term, TermRanker, best_rounds
from gradrank.training.training_queries import shuffled_within_queries, with_grades_to_order


class AdaRankParams(ModelParams):
    """AdaRank-MAP's defaults."""

    measure: str = param(
        "map", "E: any measure in [0, 1] (Xu & Li 2007, section 3.1): map or ndcg@K", pattern=CRITERION
    )
    rounds: int = param(500, "features tried; 1500 gain under .0002 MAP on MQ2007's validation parts", ge=1)
    select_by: str = param("map", "the measure trained on, as in LETOR's protocol", pattern=CRITERION)


class AdaRankNDCGParams(AdaRankParams):
    """AdaRank-NDCG's defaults."""

    measure: str = param(
        "ndcg@10", "E: the paper leaves the cut open; 10 is what LETOR's tables compare", pattern=CRITERION
    )
    select_by: str = param("ndcg@10", "the measure trained on, as in LETOR's protocol", pattern=CRITERION)


class Round(NamedTuple):
    """A feature taken into the ensemble: P that chose it, E(h_t) and, with it added, E(f_t); each (q,)."""

    term: Term
    weights: np.ndarray
    weak: np.ndarray
    ensemble: np.ndarray


def boost(train: Collection, measure: str, rounds: int) -> Iterator[Round]:
    """The rounds of AdaRank (Xu & Li 2007, Figure 1) that were kept.

    h_t is the feature with the largest sum_q P_t(q) E(h, q); alpha_t = 1/2 ln(sum P(1 + E) / sum P(1 - E));
    P_{t+1}(q) is proportional to exp(-E(f_t, q)). As P moves little, the paper's rule alone ends with one
    strong feature chosen for ever. So a feature that does not raise the ensemble's mean E is undone and set
    aside until another one does; when all are aside the strongest is added after all, which scales the
    ensemble up and makes every later step a finer one.
    """
    criterion = Criterion(measure, train.labels, train.offsets)
    columns = train.features.T.astype(np.float64, order="C")
    table = np.stack([criterion.per_query(column) for column in columns])
    weights = np.full(train.queries, 1.0 / train.queries)
    scores, reached = np.zeros(train.rows), 0.0
    aside = np.zeros(len(table), dtype=bool)
    for _ in range(rounds):
        strength = (table * weights).sum(axis=1)
        stuck = aside.all()
        chosen = int(strength.argmax() if stuck else np.where(aside, -1.0, strength).argmax())
        # A feature that is right on every query would have infinite weight.
        alpha = float(np.arctanh(min(strength[chosen], 1.0 - 1e-6)))
        trial = scores + alpha * columns[chosen]
        ensemble = criterion.per_query(trial)
        if ensemble.mean() <= reached and not stuck:
            aside[chosen] = True
            continue
        yield Round(Term(chosen, alpha), weights, table[chosen], ensemble)
        scores, reached = trial, ensemble.mean()
        aside[:] = False
        weights = np.exp(-ensemble)
        weights /= weights.sum()


@register("adarank_map")
class AdaRank(TermRanker[AdaRankParams]):
    """score = sum_t alpha_t x_{f_t}."""

    summary = "AdaRank on average precision: single features, boosted by re-weighting queries (Xu & Li 2007)"
    Params = AdaRankParams

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: AdaRankParams, seed: int, callback: Callback) -> Self:
        train = shuffled_within_queries(with_grades_to_order(train, cls.name), seed)
        rounds = boost(train, params.measure, params.rounds)
        losses = ((kept.term, 1.0 - float(kept.ensemble.mean())) for kept in rounds)
        return cls(best_rounds(losses, vali, params.select_by, callback))


@register("adarank_ndcg")
class AdaRankNDCG(AdaRank):
    """AdaRank with E = NDCG@10."""

    summary = "AdaRank on NDCG: single features, boosted by re-weighting queries (Xu & Li 2007)"
    Params = AdaRankNDCGParams
