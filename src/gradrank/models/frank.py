"""FRank (Tsai et al. 2007): boosting of stumps on single features that minimises the fidelity loss of pairs.

The model deviates from the paper in two ways: the number of rounds is selected on validation, and the loss is computed
only for the most promising stumps (see `boost`).

H is the score difference of a pair, better minus worse document. A pair with the share D has the loss D (1 - sqrt(p)),
where p = sigmoid(H). The weight of the pair in the selection of the next stump is W = D sqrt(p) (1 - p), which is twice
the absolute derivative of the loss.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.collection import Collection
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.search_space import Choice, Dimension, Integer
from gradrank.training.selection import CRITERION
from gradrank.training.solvers.weighted_terms import PERFECT, Term, TermRanker, best_rounds, stump_thresholds
from gradrank.training.training_queries import queries_to_order

if TYPE_CHECKING:
    from gradrank.data.pairs import Pairs


@compiled("f8[:], f8[:]")
def pair_weights(differences, shares):
    """Return the (p,) weights W of the pairs, and the sum of the losses of the pairs.

    differences: (p,) H. shares: (p,) D.
    """
    weights = np.empty(len(differences))
    loss = 0.0
    for i in range(len(differences)):
        e = np.exp(-abs(differences[i]))
        p = (1.0 if differences[i] >= 0.0 else e) / (1.0 + e)
        miss = (e if differences[i] >= 0.0 else 1.0) / (1.0 + e)
        root = np.sqrt(p)
        weights[i] = shares[i] * root * miss
        loss += shares[i] * miss / (1.0 + root)  # equals 1 - sqrt(p) without cancellation
    return weights, loss


@compiled("u2[:,:], i4[:], i4[:], f8[:], i8")
def cut_sums(codes, better, worse, weights, cuts):
    """Return the (2, d, cuts) sums of W over the pairs that each stump 1[code > cut] orders.

    The first (d, cuts) array has the sums over the correctly ordered pairs, and the second array has the sums over the
    incorrectly ordered pairs.

    codes: (d, n) uint16, from 0 to `cuts`. better, worse: (p,) rows; pairs with the same better document are adjacent.
    weights: (p,) W.

    The cost is O(d (p + cuts)). A pair is ordered by the stumps whose cut is between the two codes of the pair. Its
    weight is therefore added at the lower code and subtracted at the higher code. The results are running sums over
    cuts.
    """
    width = cuts + 1
    sums = np.zeros((len(codes), 2 * width))
    for f in range(len(codes)):
        row, here = codes[f], sums[f]
        i = 0
        while i < len(better):
            document = better[i]
            code = row[document]
            whole = wrong = 0.0
            while i < len(better) and better[i] == document:
                other = row[worse[i]]
                side = 1 if other > code else 0
                whole += weights[i]
                wrong += side * weights[i]
                here[side * width + other] += (1 - 2 * side) * weights[i]
                i += 1
            here[code] -= whole - wrong
            here[width + code] += wrong
    out = np.empty((2, len(codes), cuts))
    for side in range(2):
        for f in range(len(codes)):
            running = 0.0
            for cut in range(cuts):
                running += sums[f, side * width + cut]
                out[side, f, cut] = running
    return out


@compiled("f8[:], f8[:], i4[:], i4[:], u2[:], i8, f8")
def loss_with(odds, shares, better, worse, row, cut, alpha):
    """Return the sum of the losses after the stump alpha 1[code > cut] is added to the scores.

    odds: (p,) e^-H. shares: (p,) D. better, worse: (p,) row numbers. row: (n,) codes of the feature of the stump.
    """
    # The factors of the odds if only the worse document is above the cut, if both documents or neither are, and if only
    # the better document is.
    factors = np.array([np.exp(alpha), 1.0, np.exp(-alpha)])
    loss = 0.0
    for i in range(len(odds)):
        above = (1 if row[better[i]] > cut else 0) - (1 if row[worse[i]] > cut else 0)
        loss += shares[i] * (1.0 - 1.0 / np.sqrt(1.0 + odds[i] * factors[above + 1]))
    return loss


CANDIDATES = 10  # stumps per round whose loss is computed; the most promising stump nearly always has the smallest loss


class FRankParams(ModelParams):
    rounds: int = param(300, "largest number of rounds; the number is selected on validation (Qin et al. 2010)", ge=1)
    thresholds: int = param(
        256, "candidate stumps per feature, at its quantiles; the default of rankboost", ge=1, le=65535
    )
    select_by: str = param("map", "LETOR's protocol: rounds by validation MAP", pattern=CRITERION)


def boost(train: Collection, params: FRankParams) -> Iterator[tuple[Term, float]]:
    """Yield the added stump and the training loss of each round.

    The training loss is the weighted mean over queries of the mean fidelity loss of their pairs. The weight of a stump
    is alpha = 1/2 ln(W_right / W_wrong). W_right and W_wrong are the sums of the pair weights W over the pairs that the
    stump orders correctly and incorrectly. In each round, the stump with the smallest loss is added (Tsai et al. 2007,
    section 4.2; not checked against the paper).

    Computing the loss of one stump takes a pass over all pairs. The paper computes it for every stump. Here it is
    computed only for the best cut of each of the CANDIDATES best features. Cuts and features are ranked by
    (sqrt W_right - sqrt W_wrong)^2, the decrease of an exponential loss with the same weights.

    A pair with target P counts as two preferences: the stated preference with weight P, and the reverse preference with
    weight 1 - P.
    """

    cuts, codes = [], np.empty((train.features.shape[1], train.rows), np.uint16)
    for feature, column in enumerate(train.features.T):
        cuts.append(stump_thresholds(column, params.thresholds))
        codes[feature] = np.searchsorted(cuts[-1], column)  # x > cuts[t] if and only if code > t

    pairs = train.pairs.directed()
    better, worse = pairs.better, pairs.worse
    of_query = np.bincount(pairs.query, pairs.weight, train.queries)
    weight = 1.0 if pairs.weight is None else pairs.weight
    shares = weight / of_query[pairs.query] / np.count_nonzero(of_query)
    if train.query_weights is not None:
        shares *= train.query_weights[pairs.query] / train.query_weights[of_query > 0].mean()
    differences = np.zeros(len(better))
    weights, loss = pair_weights(differences, shares)
    for _ in range(params.rounds):
        stump = min(_stumps(codes, pairs, weights, differences, shares, params.thresholds), default=None)
        if stump is None or not stump.loss < loss:  # no stump reduces the loss
            return
        above = codes[stump.feature] > stump.cut
        differences += stump.alpha * (above[better].astype(np.float64) - above[worse])
        weights, loss = pair_weights(differences, shares)
        yield Term(stump.feature, stump.alpha, float(cuts[stump.feature][stump.cut])), float(loss)


class Stump(NamedTuple):
    """A stump: alpha if code > cut, otherwise 0. `loss` is the training loss after the stump is added. It comes first,
    so that stumps compare by loss."""

    loss: float
    feature: int
    cut: int
    alpha: float


def _stumps(
    codes: np.ndarray, pairs: "Pairs", weights: np.ndarray, differences: np.ndarray, shares: np.ndarray, cuts: int
) -> Iterator[Stump]:
    """Yield the best stump of each of the CANDIDATES best features. Stumps that separate no pair are left out.

    codes: (d, n) uint16. weights, differences, shares: (p,), one value per pair. cuts: number of thresholds.
    """

    # If the terms of a sum cancel, a rounding error remains. This error must not count as the weight of a pair.
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
    """A ranker with score = sum_t alpha_t 1[x_{f_t} > theta_t], like RankBoost."""

    Params = FRankParams
    reads_labels = "order"
    summary = "FRank: boosted stumps on the fidelity loss of pairs (Tsai et al. 2007)"
    needs_pairs = True
    uses_weights = "queries"
    space: ClassVar[Mapping[str, Dimension]] = {
        "rounds": Integer(50, 500, "hundreds of rounds, as in the paper"),
        "thresholds": Choice((16, 64, 256), "from coarse to nearly all values"),
    }

    @classmethod
    def uses_seed(cls, params: FRankParams) -> bool:
        return False

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: FRankParams, seed: int, callback: Callback) -> Self:
        queries_to_order(train, cls.name)
        return cls(best_rounds(boost(train, params), vali, params.select_by, callback))
