"""Compiled loops for ties in expectation: means over all orders of the documents with equal scores.

All arrays of length n are in rank order. A group is a run of equal scores within one query. groups: (g+1,) positions at
which the g groups begin, then n. position: (n,) ranks from 1 within each query.
"""

import numpy as np

from gradrank.base.compiled import compiled


@compiled("f8[:], i8[:]")
def group_means(values, groups):
    """Return (n,) float64: each of the (n,) values replaced by the mean over its group."""
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
    """Return (n,) float64: the expectation of [relevant at rank i] P@i.

    Its sum over a query with R relevant documents is R times the expected average precision. relevant: (n,) booleans.
    Take a group of m documents, r of them relevant, below `above` relevant documents. Its i-th document is relevant
    with probability r/m; given that, (i - 1)(r - 1)/(m - 1) of the i - 1 documents before it in the group are expected
    to be relevant (McSherry and Najork 2008).
    """
    out = np.empty(len(relevant), np.float64)
    above = 0
    for g in range(len(groups) - 1):
        first, last = groups[g], groups[g + 1]
        if position[first] == 1:
            above = 0
        m, r = last - first, 0
        for i in range(first, last):
            r += relevant[i]
        slope = (r - 1.0) / (m - 1.0) if m > 1 else 0.0
        for i in range(first, last):
            out[i] = r / m * (above + 1.0 + (i - first) * slope) / position[i]
        above += r
    return out


@compiled("b1[:], i8[:], i8[:], i8[:]")
def expected_reciprocal_rank(relevant, position, groups, offsets):
    """Return (q,) float64: the expectation of 1 / rank of the first relevant document, or 0 without one.

    relevant: (n,) booleans. offsets: (q+1,).
    """
    out = np.zeros(len(offsets) - 1, np.float64)
    query, is_done = -1, False
    for g in range(len(groups) - 1):
        first, last = groups[g], groups[g + 1]
        if position[first] == 1:
            query, is_done = query + 1, False
        m, r = last - first, 0
        for i in range(first, last):
            r += relevant[i]
        if is_done or r == 0:
            continue
        is_done = True
        chance = r / m  # probability that the group's first relevant document is its i-th
        for i in range(m - r + 1):
            out[query] += chance / position[first + i]
            if i < m - r:
                chance *= (m - r - i) / (m - 1.0 - i)
    return out


@compiled("f8[:], i8[:], i8[:]")
def expected_stops(stop, position, groups):
    """Return (n,) float64: the expected probability that the reader in ERR's cascade model stops at each rank.

    stop: (n,) probability R of stopping at each document. The reader passes the first i documents of a group with
    probability M_i: the mean, over all sets of i documents of the group, of the product of their 1 - R. Adding a
    document to n others gives M_i' = ((n + 1 - i) M_i + i (1 - R) M_{i-1}) / (n + 1). A group of m takes O(m^2).
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
