"""Compiled loops for ties in expectation: means over all orders of the documents with equal scores.

All arrays of length n are in rank order. A group is a run of equal scores within one query. groups: (g+1,) first
position of each of the g groups, and n as the last element. position: (n,) ranks from 1 within each query.
"""

import numpy as np

from gradrank.base.compiled import compiled


@compiled("f8[:], i8[:]")
def group_means(values, groups):
    """Return the (n,) float64 means of the (n,) values over the group of each position."""
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
    """Return the (n,) float64 expectations of P@i at relevant documents, with 0 in place of P@i at other documents.

    Their sum over a query with R relevant documents is R times the expected average precision. relevant: (n,) booleans.
    Consider a group of m documents, of which r are relevant, after `above` relevant documents in earlier groups. Its
    i-th document is relevant with probability r/m. If it is relevant, the expected number of relevant documents among
    the i - 1 documents before it in the group is (i - 1)(r - 1)/(m - 1) (McSherry and Najork 2008).
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
    """Return the (q,) float64 expectations of 1 / (rank of the first relevant document).

    The value is 0 for a query without relevant documents. relevant: (n,) booleans. offsets: (q+1,) as in query_loops.
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
        chance = r / m  # probability that the group's first relevant document is at position i, from 0
        for i in range(m - r + 1):
            out[query] += chance / position[first + i]
            if i < m - r:
                chance *= (m - r - i) / (m - 1.0 - i)
    return out


@compiled("f8[:], i8[:], i8[:]")
def expected_stops(stop, position, groups):
    """Return the (n,) float64 expected probabilities that the reader in ERR's cascade model stops at each rank.

    stop: (n,) probability R of stopping at each document. Let M_i be the probability that the reader passes the first i
    documents of a group. M_i is the mean of the product of 1 - R over i documents, taken over all sets of i documents
    of the group. If a document with probability R is added to n others, M_i becomes ((n + 1 - i) M_i + i (1 - R)
    M_{i-1}) / (n + 1). The time for a group of m documents is O(m^2).
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
