"""Compiled loops over queries that the metrics use: cumulative sums and products, sorted grades, pair counts.

All arrays of length n are in rank order. offsets: (q+1,) first position of each query, and n as the last element.
"""

import numpy as np

from gradrank.base.compiled import compiled


@compiled("f8[:], i8[:]")
def running_sum(values, offsets):
    """Return the (n,) float64 cumulative sums of (n,) values within each query.

    The sum restarts at 0 in each query, so that the rounding in one query does not depend on other queries.
    """
    out = np.empty(len(values), np.float64)
    for q in range(len(offsets) - 1):
        total = 0.0
        for i in range(offsets[q], offsets[q + 1]):
            total += values[i]
            out[i] = total
    return out


@compiled("f8[:], i8[:]")
def product_before(values, offsets):
    """Return the (n,) float64 products of the values before each position of a query; 1 at the first position."""
    out = np.empty(len(values), np.float64)
    for q in range(len(offsets) - 1):
        total = 1.0
        for i in range(offsets[q], offsets[q + 1]):
            out[i] = total
            total *= values[i]
    return out


@compiled("f8[:], i8[:]")
def best_from_here(values, offsets):
    """Return (n,) float64 maxima: for each position, the largest value at this or a later position of the query."""
    out = np.empty(len(values), np.float64)
    for q in range(len(offsets) - 1):
        best = -np.inf
        for i in range(offsets[q + 1] - 1, offsets[q] - 1, -1):
            best = max(best, values[i])
            out[i] = best
    return out


@compiled("i8[:], i8[:], i8")
def sorted_grades(grades, offsets, highest):
    """Return the (n,) int64 grades in descending order within each query. They are sorted by counting.

    grades: (n,) integers 0..highest.
    """
    out = np.empty_like(grades)
    counts = np.zeros(highest + 1, np.int64)
    for q in range(len(offsets) - 1):
        counts[:] = 0
        for i in range(offsets[q], offsets[q + 1]):
            counts[grades[i]] += 1
        at = offsets[q]
        for grade in range(highest, -1, -1):
            out[at : at + counts[grade]] = grade
            at += counts[grade]
    return out


@compiled("f8[:], i8[:], i8[:], i8")
def pair_counts(scores, grades, offsets, highest):
    """Return three (q,) float64 arrays that count pairs of documents with different grades.

    The first counts the pairs whose scores are in the right order, the second the pairs with equal scores, and the
    third all pairs. scores: (n,) in descending order within each query. grades: (n,) integers 0..highest of the same
    documents. The time is O(n * highest), because the loop keeps the number of documents of each grade seen so far.
    """
    queries = len(offsets) - 1
    right, tied, pairs = np.zeros(queries), np.zeros(queries), np.zeros(queries)
    above, level = np.zeros(highest + 1, np.int64), np.zeros(highest + 1, np.int64)
    for q in range(queries):
        above[:], level[:] = 0, 0
        for i in range(offsets[q], offsets[q + 1]):
            if i > offsets[q] and scores[i] != scores[i - 1]:
                above += level
                level[:] = 0
            grade = grades[i]
            for other in range(highest + 1):
                if other == grade:
                    continue
                pairs[q] += above[other] + level[other]
                tied[q] += level[other]
                if other > grade:
                    right[q] += above[other]
            level[grade] += 1
    return right, tied, pairs
