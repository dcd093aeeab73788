"""Compiled loops over query slices that the metrics are made of: running sums and products, pair counts."""

import numpy as np

from gradrank.base.compiled import compiled


@compiled("f8[:], i8[:]")
def running_sum(values, offsets):
    """(n,) float64 cumulative sum of (n,) values, begun anew at each query: none sees another's rounding."""
    out = np.empty(len(values), np.float64)
    for q in range(len(offsets) - 1):
        total = 0.0
        for i in range(offsets[q], offsets[q + 1]):
            total += values[i]
            out[i] = total
    return out


@compiled("f8[:], i8[:]")
def product_before(values, offsets):
    """(n,) float64 product of the (n,) values before each position, begun anew (at 1) at each query."""
    out = np.empty(len(values), np.float64)
    for q in range(len(offsets) - 1):
        total = 1.0
        for i in range(offsets[q], offsets[q + 1]):
            out[i] = total
            total *= values[i]
    return out


@compiled("f8[:], i8[:]")
def best_from_here(values, offsets):
    """(n,) float64: the largest of (n,) values at this or a later position of the query."""
    out = np.empty(len(values), np.float64)
    for q in range(len(offsets) - 1):
        best = -np.inf
        for i in range(offsets[q + 1] - 1, offsets[q] - 1, -1):
            best = max(best, values[i])
            out[i] = best
    return out


@compiled("i8[:], i8[:], i8")
def sorted_grades(grades, offsets, highest):
    """(n,) grades 0..highest in descending order within each query, by counting."""
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
    """(q,) pairs of different grade whose scores are in the right order, (q,) equal, (q,) all of them.

    scores: (n,) in descending order within each query; grades: (n,) 0..highest of the same documents.
    O(n * highest): counts the grades above each document instead of looking at pairs.
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
