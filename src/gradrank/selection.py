"""The criterion by which every model is selected on the validation part.

Fixed to the `letor4` convention on purpose: how results are reported (metrics.py, params `evaluation`) can change
without changing what was trained. A test holds both implementations together.
"""

import re

import numba
import numpy as np

from gradrank.errors import GradrankError
from gradrank.ranking import order


def measure(criterion: str, scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> float:
    """Mean over queries of `map` or `ndcg@k` under `letor4`; higher is better.

    scores: (n,); labels: (n,) grades; offsets: (q+1,). Raises GradrankError for another criterion.
    """
    ranked = labels[order(np.ascontiguousarray(scores, dtype=np.float64), offsets)]
    if criterion == "map":
        return float(_mean_average_precision(ranked, offsets))
    match = re.fullmatch(r"ndcg@([1-9]\d*)", criterion)
    if match is None:
        raise GradrankError(f"selection criterion {criterion!r}: expected 'map' or 'ndcg@K', as in 'ndcg@10'")
    return float(_mean_ndcg(ranked, offsets, int(match.group(1))))


@numba.njit(cache=True)
def _mean_average_precision(ranked, offsets):
    """AP = sum over relevant ranks i of P@i / number of relevant documents; 0 without any (relevant: grade >= 1)."""
    total = 0.0
    for q in range(len(offsets) - 1):
        hits, precision = 0, 0.0
        for i in range(offsets[q], offsets[q + 1]):
            if ranked[i] > 0:
                hits += 1
                precision += hits / (i - offsets[q] + 1.0)
        if hits > 0:
            total += precision / hits
    return total / max(len(offsets) - 1, 1)


@numba.njit(cache=True)
def _mean_ndcg(ranked, offsets, k):
    """Gain 2^y - 1; discount 1 at ranks 1 and 2, then 1/log2(rank); fewer than k documents or no gain: 0."""
    total = 0.0
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        if b - a < k:
            continue
        ideal = np.sort(ranked[a:b])[::-1]
        dcg, best = 0.0, 0.0
        for i in range(k):
            discount = 1.0 if i < 2 else 1.0 / np.log2(i + 1.0)
            dcg += (2.0 ** ranked[a + i] - 1.0) * discount
            best += (2.0 ** ideal[i] - 1.0) * discount
        if best > 0.0:
            total += dcg / best
    return total / max(len(offsets) - 1, 1)
