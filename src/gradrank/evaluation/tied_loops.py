"""Compiled loops over equal scores: what a metric is worth on average over all orders of the documents that share one.

groups: (g+1,) where among the n documents, by rank, each run of equal scores begins; no run spans two queries.
"""

import numpy as np

from gradrank.base.compiled import compiled


@compiled("f8[:], i8[:]")
def group_means(values, groups):
    """(n,) float64: the mean of (n,) values over each group, at each of its places."""
    out = np.empty(len(values), np.float64)
    for g in range(len(groups) - 1):
        first, last = groups[g], groups[g + 1]
        total = 0.0
        for i in range(first, last):
            total += values[i]
        out[first:last] = total / (last - first)
    return out


@compiled("b1[:], i8[:], i8[:]")
def expected_precision_at_hits(relevant, position, groups):
    """(n,) float64: expected [relevant at rank i] P@i, of which the sum over a query is R times average precision.

    relevant: (n,) whether each document is; position: (n,) ranks from 1. In a group of m with r relevant after `found`
    others, rank i of it is relevant with probability r/m, and then (i - 1)(r - 1)/(m - 1) of those before it are
    (McSherry & Najork 2008).
    """
    out = np.empty(len(relevant), np.float64)
    found = 0
    for g in range(len(groups) - 1):
        first, last = groups[g], groups[g + 1]
        if position[first] == 1:
            found = 0
        m, r = last - first, 0
        for i in range(first, last):
            r += relevant[i]
        slope = (r - 1.0) / (m - 1.0) if m > 1 else 0.0
        for i in range(first, last):
            out[i] = r / m * (found + 1.0 + (i - first) * slope) / position[i]
        found += r
    return out


@compiled("b1[:], i8[:], i8[:], i8[:]")
def expected_reciprocal_rank(relevant, position, groups, offsets):
    """(q,) float64: expected 1 / rank of the first relevant document, 0 without any; as above."""
    out = np.zeros(len(offsets) - 1, np.float64)
    query, found = -1, False
    for g in range(len(groups) - 1):
        first, last = groups[g], groups[g + 1]
        if position[first] == 1:
            query, found = query + 1, False
        m, r = last - first, 0
        for i in range(first, last):
            r += relevant[i]
        if found or r == 0:
            continue
        found = True
        chance = r / m  # that the first relevant one of the group is at this place of it
        for i in range(m - r + 1):
            out[query] += chance / position[first + i]
            if i < m - r:
                chance *= (m - r - i) / (m - 1.0 - i)
    return out


@compiled("f8[:], i8[:], i8[:]")
def expected_stops(stop, position, groups):
    """(n,) float64: expected chance that the cascade of ERR stops at each place, of (n,) chances a document.

    The reader passes i documents of a group with probability M_i, the mean over all sets of i of the product of
    their 1 - R; M_i over n + 1 documents is ((n + 1 - i) M_i + i (1 - R) M_{i-1}) / (n + 1). O(m^2) a group.
    """
    out = np.empty(len(stop), np.float64)
    going = 1.0
    for g in range(len(groups) - 1):
        first, last = groups[g], groups[g + 1]
        if position[first] == 1:
            going = 1.0
        m = last - first
        passed = np.zeros(m + 1)
        passed[0] = 1.0
        for n in range(1, m + 1):
            for i in range(n, 0, -1):
                passed[i] = ((n - i) * passed[i] + i * (1.0 - stop[first + n - 1]) * passed[i - 1]) / n
        for i in range(m):
            out[first + i] = going * (passed[i] - passed[i + 1])
        going *= passed[m]
    return out
