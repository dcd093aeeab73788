"""Ranking primitives shared by the metrics and by model selection: order, DCG and precision over query slices.

Kept apart from metrics.py because training depends on this file through model selection, while a change of
metrics.py must retrain nothing.
"""

import numpy as np

from gradrank.base.compiled import compiled

RUN = 16  # rows that are sorted by insertion before such runs are merged


@compiled("f8[:], i8[:]")
def order(scores, offsets):
    """(n,) row numbers by descending score within each query; ties keep file order.

    scores: (n,) float64, finite. offsets: (q+1,) int64.
    """
    rows, spare = np.empty(len(scores), np.int64), np.empty(len(scores), np.int64)
    for q in range(len(offsets) - 1):
        _sort(scores, rows, spare, offsets[q], offsets[q + 1])
    return rows


@compiled()
def descending(values):
    """(n,) positions of (n,) values from the highest to the lowest; equal values keep their order."""
    rows, spare = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
    _sort(values, rows, spare, 0, len(values))
    return rows


@compiled()
def _sort(values, rows, spare, first, stop):
    """Write first..stop-1 by descending value to the same places of `rows`. `spare` is scratch.

    A stable merge sort: equal scores stay in file order, as LETOR's evaluation program has them. Numba takes 2 s to
    compile NumPy's sort, and 0.3 s for this.
    """
    for start in range(first, stop, RUN):
        for row in range(start, min(start + RUN, stop)):
            place = row
            while place > start and values[rows[place - 1]] < values[row]:
                rows[place] = rows[place - 1]
                place -= 1
            rows[place] = row
    width = RUN
    while width < stop - first:
        for start in range(first, stop, 2 * width):
            middle, end = min(start + width, stop), min(start + 2 * width, stop)
            left, right = start, middle
            for place in range(start, end):
                if right == end or (left < middle and values[rows[left]] >= values[rows[right]]):
                    spare[place] = rows[left]
                    left += 1
                else:
                    spare[place] = rows[right]
                    right += 1
        for place in range(first, stop):
            rows[place] = spare[place]
        width *= 2
