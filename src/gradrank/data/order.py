"""Ranking primitives shared by the metrics and by model selection: order, DCG and precision over query slices.

Kept apart from metrics.py because training depends on this file through model selection, while a change of
metrics.py must retrain nothing.
"""

import numpy as np

from gradrank.compiled import compiled


@compiled("f8[:], i8[:]")
def order(scores, offsets):
    """(n,) row numbers by descending score within each query; ties keep file order.

    scores: (n,) float64, finite. offsets: (q+1,) int64.
    """
    out = np.empty(len(scores), np.int64)
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        # Mergesort is stable: equal scores stay in file order, as LETOR's evaluation program has them.
        out[a:b] = a + np.argsort(-scores[a:b], kind="mergesort")
    return out
