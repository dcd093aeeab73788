"""FRank (Tsai et al. 2007): stumps on single features, added one by one to lower the fidelity loss of pairs."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from gradrank.data.collection import Collection
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.search_space import Choice, Dimension, Integer
from gradrank.training.selection import CRITERION
from gradrank.training.solvers.stumps import PERFECT, stump_thresholds
from gradrank.training.solvers.weighted_terms import Term, TermRanker, best_rounds
from gradrank.training.training_queries import queries_to_order

if TYPE_CHECKING:
    from gradrank.data.pairs import Pairs

CANDIDATES = 10  # stumps a round whose loss is counted; the first is chosen nearly always


class FRankParams(ModelParams):
    rounds: int = param(300, "at most; as many as serve the validation part are kept (Qin et al. 2010)", ge=1)
    thresholds: int = param(256, "candidate stumps a feature, at its quantiles; as rankboost's", ge=1, le=65535)
    select_by: str = param("map", "LETOR's protocol: rounds by validation MAP", pattern=CRITERION)


def boost(train: Collection, params: FRankParams) -> Iterator[tuple[Term, float]]:
    """(stump, training loss) a round; the loss is the mean over queries of the mean fidelity loss of their pairs.

    A stump's weight is alpha = 1/2 ln(W_right / W_wrong); the stump with the least loss is added (Tsai et al. 2007,
    section 4.2, from memory of the literature). The loss, a pass over all pairs, is counted for the best cut of each of
    the best features by (sqrt W_right - sqrt W_wrong)^2, which is what alpha lowers an exponential loss with these
    weights by; the paper counts it for all. A pair of target P is P of a preference and 1 - P of the other one.
    """
    from gradrank.models.frank.fidelity import pair_weights

    cuts, codes = [], np.empty((train.features.shape[1], train.rows), np.uint16)
    for feature, column in enumerate(train.features.T):
        cuts.append(stump_thresholds(column, params.thresholds))
        codes[feature] = np.searchsorted(cuts[-1], column)  # x > cuts[t] exactly where code > t

    pairs = train.pairs.directed()
    better, worse = pairs.better, pairs.worse
    of_query = np.bincount(pairs.query, pairs.weight, train.queries)
    own = 1.0 if pairs.weight is None else pairs.weight
    shares = own / of_query[pairs.query] / np.count_nonzero(of_query)
    differences = np.zeros(len(better))
    weights, loss = pair_weights(differences, shares)
    for _ in range(params.rounds):
        found = min(_stumps(codes, pairs, weights, differences, shares, params.thresholds), default=None)
        if found is None or not found.loss < loss:  # no stump tells better from worse
            return
        above = codes[found.feature] > found.cut
        differences += found.alpha * (above[better].astype(np.float64) - above[worse])
        weights, loss = pair_weights(differences, shares)
        yield Term(found.feature, found.alpha, float(cuts[found.feature][found.cut])), float(loss)


class Stump(NamedTuple):
    """alpha 1[code > cut] and the training loss with it; in the order of the losses."""

    loss: float
    feature: int
    cut: int
    alpha: float


def _stumps(
    codes: np.ndarray, pairs: "Pairs", weights: np.ndarray, differences: np.ndarray, shares: np.ndarray, cuts: int
) -> Iterator[Stump]:
    """One each of the CANDIDATES best features, but of those that tell no pair apart."""
    from gradrank.models.frank.fidelity import cut_sums, loss_with

    # Sums of many numbers and of their opposites: what is left of them by rounding is no pair.
    sums = cut_sums(codes, pairs.better, pairs.worse, weights, cuts)
    right, wrong = np.where(sums > 1e-12 * weights.sum(), sums, 0.0)
    lowered = (np.sqrt(right) - np.sqrt(wrong)) ** 2
    odds, best = np.exp(-differences), lowered.argmax(axis=1)
    promising = np.argsort(-lowered.max(axis=1), kind="stable")[:CANDIDATES]
    for feature in promising.tolist():
        cut = int(best[feature])
        crossing = right[feature, cut] + wrong[feature, cut]
        if crossing > 0.0:
            r = (right[feature, cut] - wrong[feature, cut]) / crossing
            alpha = float(np.arctanh(np.clip(r, -PERFECT, PERFECT)))
            loss = loss_with(odds, shares, pairs.better, pairs.worse, codes[feature], cut, alpha)
            yield Stump(float(loss), feature, cut, alpha)


@register("frank")
class FRank(TermRanker[FRankParams]):
    """score = sum_t alpha_t 1[x_{f_t} > theta_t], as RankBoost's."""

    Params = FRankParams
    summary = "FRank: boosted stumps on the fidelity loss of pairs (Tsai et al. 2007)"
    needs_pairs = True
    space: ClassVar[Mapping[str, Dimension]] = {
        "rounds": Integer(50, 500, "the paper's hundreds"),
        "thresholds": Choice((16, 64, 256), "coarse to every value"),
    }

    @classmethod
    def uses_seed(cls, params: FRankParams) -> bool:
        return False

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: FRankParams, seed: int, callback: Callback) -> Self:
        queries_to_order(train, cls.name)
        return cls(best_rounds(boost(train, params), vali, params.select_by, callback))
