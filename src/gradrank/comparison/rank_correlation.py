"""Agreement of two rankings per query: Kendall's tau, Spearman's rho, tau_AP and rank-biased overlap."""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import descending


@compiled("f8[:], f8[:], i8[:]")
def kendall_tau(a, b, offsets):
    """Return (q,) float64 values of Kendall's tau-b (Kendall 1945).

    tau-b = (pairs in the same order - pairs in opposite order) / sqrt(pairs untied in a * pairs untied in b).
    a, b: (n,) float64 scores. offsets: (q+1,). The value is nan if all scores of a query are equal in a or in b. The
    time for a query of m documents is O(m^2).
    """
    out = np.full(len(offsets) - 1, np.nan)
    for q in range(len(out)):
        alike, untied_a, untied_b = 0.0, 0.0, 0.0
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(offsets[q], i):
                first, second = np.sign(a[i] - a[j]), np.sign(b[i] - b[j])
                alike += first * second
                untied_a += abs(first)
                untied_b += abs(second)
        if untied_a > 0.0 and untied_b > 0.0:
            out[q] = alike / np.sqrt(untied_a * untied_b)
    return out


@compiled("f8[:], f8[:], i8[:]")
def spearman_rho(a, b, offsets):
    """Return (q,) float64 values of Spearman's rho (Spearman 1904).

    a, b: (n,) float64 scores. offsets: (q+1,). Equal scores share their mean rank. The value is nan if all scores of a
    query are equal in a or in b.
    """
    out = np.full(len(offsets) - 1, np.nan)
    for q in range(len(out)):
        first = _centred_ranks(a[offsets[q] : offsets[q + 1]])
        second = _centred_ranks(b[offsets[q] : offsets[q + 1]])
        size = (first * first).sum() * (second * second).sum()
        if size > 0.0:
            out[q] = (first * second).sum() / np.sqrt(size)
    return out


@compiled()
def _centred_ranks(values):
    """Return the ranks minus their mean. The results are multiples of 1/2, so that their sums are exact."""
    ranked = descending(-values)
    ranks = np.empty(len(values))
    start = 0
    for end in range(1, len(values) + 1):
        if end == len(values) or values[ranked[end]] != values[ranked[start]]:
            for place in range(start, end):
                ranks[ranked[place]] = (start + end - 1) / 2.0 - (len(values) - 1) / 2.0
            start = end
    return ranks


@compiled("f8[:], f8[:], i8[:]")
def tau_ap(a, b, offsets):
    """Return (q,) float64 values of tau_AP of ranking a, with b as the reference (Yilmaz, Aslam and Robertson 2008).

    tau_AP = 2/(n - 1) sum_{i=2..n} C(i)/(i - 1) - 1 for n documents, where C(i) is the number of documents above rank i
    of a that b ranks higher than the document at rank i. a, b: (n,) float64 scores. offsets: (q+1,). The value is the
    mean over all orders of equal scores in a and in b: the document at rank i of a is each document of its group with
    equal probability, and documents with equal scores in b are in the right order with probability 1/2. The value is
    nan for fewer than two documents. The time for a query of m documents is O(m^2).
    """
    out = np.full(len(offsets) - 1, np.nan)
    for q in range(len(out)):
        first, second = a[offsets[q] : offsets[q + 1]], b[offsets[q] : offsets[q + 1]]
        n = len(first)
        if n < 2:
            continue
        ranked = descending(first)
        total, start = 0.0, 0
        for end in range(1, n + 1):
            if end < n and first[ranked[end]] == first[ranked[start]]:
                continue
            above = 0.0  # pairs in the right order of a document above the group and a document of the group
            for place in range(start, end):
                for higher in range(start):
                    difference = second[ranked[higher]] - second[ranked[place]]
                    above += 0.5 + 0.5 * np.sign(difference)
            for place in range(max(start, 1), end):
                total += (above / (end - start) + 0.5 * (place - start)) / place
            start = end
        out[q] = 2.0 * total / (n - 1) - 1.0
    return out


@compiled("f8[:], f8[:], i8[:], f8")
def rank_biased_overlap(a, b, offsets, persistence):
    """Return (q,) float64 values of the extrapolated rank-biased overlap RBO_ext (Webber, Moffat and Zobel 2010).

    With p = persistence, s and l the lengths of the shorter and the longer ranking, and X(d) the number of documents
    that are among the first d of both, RBO_ext = (1 - p)/p (sum_{d=1..l} X(d)/d p^d + sum_{d=s+1..l} X(s) (d - s)/(s d)
    p^d) + ((X(l) - X(s))/l + X(s)/s) p^l (equation 32). a, b: (n,) float64 scores of the documents of either ranking;
    nan for a document that is not in the ranking. offsets: (q+1,). The value is the mean over all orders of equal
    scores (RBO^a of Corsi and Urbano 2024): X(d) is then the sum of the probabilities that both rankings have a
    document among their first d. The value is nan if a ranking has no documents.
    """
    out = np.full(len(offsets) - 1, np.nan)
    for q in range(len(out)):
        above_a, until_a = _tied_places(a[offsets[q] : offsets[q + 1]])
        above_b, until_b = _tied_places(b[offsets[q] : offsets[q + 1]])
        if len(until_a) == 0:
            continue
        shortest, longest = min(until_a.max(), until_b.max()), max(until_a.max(), until_b.max())
        if shortest == 0:
            continue
        parts, whole = np.zeros(longest + 1), np.zeros(longest + 1)
        for i in range(len(until_a)):
            if until_a[i] == 0 or until_b[i] == 0:
                continue
            complete = max(until_a[i], until_b[i])
            whole[complete] += 1.0
            for depth in range(max(above_a[i], above_b[i]) + 1, complete):
                share_a = min(1.0, (depth - above_a[i]) / (until_a[i] - above_a[i]))
                parts[depth] += share_a * min(1.0, (depth - above_b[i]) / (until_b[i] - above_b[i]))
        overlap, at_shortest, weight, total = 0.0, 0.0, 1.0, 0.0
        for depth in range(1, longest + 1):
            weight *= persistence
            overlap += whole[depth]
            found = overlap + parts[depth]
            if depth == shortest:
                at_shortest = found
            extrapolated = at_shortest * (depth - shortest) / shortest if depth > shortest else 0.0
            total += (found + extrapolated) / depth * weight
        rest = (overlap - at_shortest) / longest + at_shortest / shortest
        out[q] = (1.0 - persistence) / persistence * total + rest * weight
    return out


@compiled()
def _tied_places(scores):
    """Return two (n,) integer arrays per document: the number of documents with higher scores, and with higher or equal
    scores. Both are 0 for a document with the score nan, which is not in the ranking.
    """
    above, until = np.zeros(len(scores), np.int64), np.zeros(len(scores), np.int64)
    inside = np.flatnonzero(~np.isnan(scores))
    kept = scores[inside]
    ranked = descending(kept)
    start = 0
    for end in range(1, len(kept) + 1):
        if end == len(kept) or kept[ranked[end]] != kept[ranked[start]]:
            for place in range(start, end):
                above[inside[ranked[place]]], until[inside[ranked[place]]] = start, end
            start = end
    return above, until
