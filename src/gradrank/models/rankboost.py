"""RankBoost (Freund, Iyer, Schapire & Singer 2003) on stumps, and RankBoost_ndcg (Jin et al. 2018).

The training uses the crucial pairs: all pairs of documents of one query with different grades. The number of rounds is
selected on validation. The thresholds of the stumps are quantiles of a feature, whereas the paper uses every value.

The sums over the crucial pairs of a query are computed without listing the pairs. RankBoost gives the pair of a better
document b and a worse document w the weight D(b, w) = tau(b, w) exp(s_w - s_b). The exponential is a product of one
factor per document. If the documents of a query are sorted by grade, sums of D over all worse (or all better) documents
can be computed as running sums. Therefore it costs only O(n d) instead of O(pairs * thresholds) to compute the
potentials and, with one histogram per feature, the strongest stump.
"""

from collections.abc import Iterator
from typing import ClassVar, Literal, Self

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.collection import Collection
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.ndcg_gains import ideal_dcg_beta
from gradrank.training.search_space import Choice
from gradrank.training.selection import CRITERION
from gradrank.training.solvers.weighted_terms import PERFECT, Term, TermRanker, best_rounds, stump_thresholds
from gradrank.training.training_queries import with_grades_to_order


def pair_weighting(labels: np.ndarray, offsets: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the (q,) arrays `base` and `slope` of the pair weights tau = base + slope * gap.

    Both have one value per query. gap is the difference between the grades of the pair.

    labels: (n,) grades; every query has at least two different grades. kind: `uniform` for tau = 1, or `ndcg_beta` for
    tau = gap / DCG_beta(ideal) (Jin et al. 2018).
    """
    queries = len(offsets) - 1
    if kind == "uniform":
        return np.ones(queries), np.zeros(queries)
    return np.zeros(queries), 1.0 / ideal_dcg_beta(labels, offsets)


@compiled("f8[:], i8[:], i8[:], f8[:], f8[:]")
def potentials(scores, labels, offsets, base, slope):
    """Return the (n,) potentials of the documents and the sum of the pair weights D over all pairs.

    Source: Freund et al. 2003, section 3.2. D = tau exp(s_worse - s_better) is RankBoost's weight of a pair. It is not
    normalised.

    The potential of a document is the sum of D over the pairs in which it is the better document, minus the sum of D
    over the pairs in which it is the worse document. Therefore sum_pairs D (h(better) - h(worse)) equals
    sum_i potential_i h(x_i) for every h.

    scores: (n,). labels: (n,), descending within each query. base, slope: (q,), from `pair_weighting`.
    """
    out = np.zeros(len(scores))
    total = 0.0
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        n = b - a
        grades = labels[a:b]
        # D depends only on score differences. With centred scores, exp does not overflow for differences up to 1400.
        centred = scores[a:b] - 0.5 * (scores[a:b].min() + scores[a:b].max())
        rise, fall = np.exp(centred), np.exp(-centred)
        lower, lower_graded = (
            np.zeros(n + 1),
            np.zeros(n + 1),
        )  # sums of rise and of grade * rise over document i and all later documents
        # higher, higher_graded: sums of fall and of grade * fall over all documents before document i
        higher, higher_graded = np.zeros(n + 1), np.zeros(n + 1)
        for i in range(n):
            higher[i + 1] = higher[i] + fall[i]
            higher_graded[i + 1] = higher_graded[i] + grades[i] * fall[i]
            j = n - 1 - i
            lower[j] = lower[j + 1] + rise[j]
            lower_graded[j] = lower_graded[j + 1] + grades[j] * rise[j]
        start = 0
        while start < n:
            grade, end = grades[start], start + 1
            while end < n and grades[end] == grade:
                end += 1
            better = base[q] * lower[end] + slope[q] * (grade * lower[end] - lower_graded[end])
            worse = base[q] * higher[start] + slope[q] * (higher_graded[start] - grade * higher[start])
            for i in range(start, end):
                out[a + i] = fall[i] * better - rise[i] * worse
                total += fall[i] * better
            start = end
    return out, total


@compiled("u2[:,:], f8[:], i8, b1")
def strongest_stump(codes, potential, thresholds, negative):
    """Return (feature, cut, r) of the stump 1[code > cut] with the largest r, or the largest |r| if `negative`.

    r is the sum of the potentials of the documents with code > cut.

    codes: (d, n) uint16, from 0 to `thresholds`. potential: (n,).
    """
    feature, cut, strongest = 0, 0, 0.0
    for f in range(len(codes)):
        histogram = np.zeros(thresholds + 1)
        for i in range(len(potential)):
            histogram[codes[f, i]] += potential[i]
        r = 0.0
        for t in range(thresholds - 1, -1, -1):
            r += histogram[t + 1]
            if r > abs(strongest) or (negative and -r > abs(strongest)):
                feature, cut, strongest = f, t, r
    return feature, cut, strongest


class RankBoostParams(ModelParams):
    """The parameters of RankBoost."""

    rounds: int = param(300, "largest number of rounds; the number is selected on validation (Qin et al. 2010)", ge=1)
    thresholds: int = param(256, "candidate stumps per feature, at its quantiles; not tuned", ge=1, le=65535)
    negative_weights: bool = param(
        True, "Freund et al. 2003, section 3.2: r may be negative; common toolkits allow only r > 0"
    )
    pair_weights: Literal["uniform", "ndcg_beta"] = param("uniform", "D_1 (Freund et al. 2003, section 3)")
    select_by: str = param("map", "LETOR's protocol: rounds by validation MAP", pattern=CRITERION)


class RankBoostNDCGParams(RankBoostParams):
    """The parameters of RankBoost, with the defaults of RankBoost_ndcg."""

    pair_weights: Literal["uniform", "ndcg_beta"] = param(
        "ndcg_beta", "D_1 proportional to tau, the share of the pair in 1 - NDCG_beta (Jin et al. 2018)"
    )


def boost(train: Collection, params: RankBoostParams) -> Iterator[tuple[Term, float]]:
    """Yield the added stump and the training loss of each round (Freund et al. 2003, Figure 1 and section 3.2).

    D is the distribution of weights over pairs, and D_1 is its initial value, in which the weight of a pair is
    multiplied by the weight of its query. Each round selects the stump h with the largest |r|, where r = sum D
    (h(better) - h(worse)). Without `negative_weights`, each round selects the stump with the largest r. The stump gets
    the weight alpha = 1/2 ln((1 + r)/(1 - r)), and D is multiplied by exp(alpha (h(worse) - h(better))). The training
    loss, sum D_1 exp(s_worse - s_better), is an upper bound on the share of misordered pairs. The training ends early
    if no stump separates better from worse documents, or if one stump orders every pair correctly.
    """
    from gradrank.data.order import order

    rows = order(train.labels.astype(np.float64), train.offsets)  # compiled functions need descending grades
    labels = train.labels[rows]
    base, slope = pair_weighting(labels, train.offsets, params.pair_weights)
    if train.query_weights is not None:
        base, slope = base * train.query_weights, slope * train.query_weights
    cuts, codes = [], np.empty((train.features.shape[1], train.rows), np.uint16)
    for feature, column in enumerate(train.features[rows].T):
        cuts.append(stump_thresholds(column, params.thresholds))
        codes[feature] = np.searchsorted(cuts[-1], column)  # x > cuts[t] if and only if code > t

    scores = np.zeros(train.rows)
    potential, first = potentials(scores, labels, train.offsets, base, slope)
    total = first
    for _ in range(params.rounds):
        feature, cut, r = strongest_stump(codes, potential, params.thresholds, params.negative_weights)
        r /= total
        if abs(r) < 1e-12:  # r is only a rounding error
            return
        alpha = float(np.arctanh(np.clip(r, -PERFECT, PERFECT)))
        scores += alpha * (codes[feature] > cut)
        potential, total = potentials(scores, labels, train.offsets, base, slope)
        if (
            not 0.0 < total < np.inf
        ):  # the loss is outside the range of float64: every pair is ordered by a large margin
            return
        yield Term(int(feature), alpha, float(cuts[feature][cut])), total / first
        if abs(r) >= PERFECT:
            return


@register("rankboost")
class RankBoost(TermRanker[RankBoostParams]):
    """A ranker with score = sum_t alpha_t 1[x_{f_t} > theta_t]."""

    reads_labels = "order"
    summary = "RankBoost on stumps (Freund, Iyer, Schapire & Singer 2003)"
    Params = RankBoostParams
    uses_weights = "queries"
    space: ClassVar = {
        "thresholds": Choice((10, 32, 256, 1024), "from RankLib's 10 to nearly all values"),
        "negative_weights": Choice((True, False), "Freund et al. 2003; common toolkits"),
    }

    @classmethod
    def uses_seed(cls, params: RankBoostParams) -> bool:
        return False

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: RankBoostParams, seed: int, callback: Callback) -> Self:
        rounds = boost(with_grades_to_order(train, cls.name), params)
        return cls(best_rounds(rounds, vali, params.select_by, callback))


@register("rankboost_ndcg")
class RankBoostNDCG(RankBoost):
    """RankBoost in which the initial weight of a pair is its contribution to 1 - NDCG_beta."""

    reads_labels = "grades"
    summary = "RankBoost with pairs weighted by NDCG_beta (Jin et al. 2018)"
    Params = RankBoostNDCGParams
