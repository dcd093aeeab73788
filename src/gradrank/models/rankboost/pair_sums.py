"""Sums over the crucial pairs of a query, computed without listing the pairs.

The crucial pairs are the pairs of documents of one query with different grades. RankBoost gives the pair of a better
document b and a worse document w the weight D(b, w) = tau(b, w) exp(s_w - s_b). The exponential is a product of one
factor per document. If the documents of a query are sorted by grade, sums of D over all worse (or all better) documents
can be computed as running sums. Therefore it costs only O(n d) instead of O(pairs * thresholds) to compute the
potentials and, with one histogram per feature, the strongest stump.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.ndcg_beta import ideal_dcg_beta


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
