"""The criterion by which every model is selected on the validation part.

Fixed to the `letor4` convention on purpose: how results are reported (metrics.py, params `evaluation`) can
change without changing what was trained. A test holds both implementations together.
"""

import math
import re

import numpy as np

from gradrank.compiled import compiled
from gradrank.data.order import order
from gradrank.errors import GradrankError


def measure(criterion: str, scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> float:
    """Mean over queries of `map` or `ndcg@k` under `letor4`; higher is better.

    scores: (n,); labels: (n,) grades; offsets: (q+1,). Raises GradrankError for another criterion.
    """
    values = per_query(criterion, scores, labels, offsets)
    if criterion != "map":
        values[np.diff(offsets) < _cutoff(criterion)] = 0.0
    return math.fsum(values) / max(len(values), 1)


def per_query(criterion: str, scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """(q,) AP or NDCG@k of each query, which AdaRank and coordinate ascent optimise; see `measure`.

    Differs from `measure` in one case: a query of fewer than k documents has NDCG@n here, not 0, because a
    measure that no order can change says nothing about how to train.
    """
    ranked = labels[order(np.ascontiguousarray(scores, dtype=np.float64), offsets)]
    if criterion == "map":
        return _average_precision(ranked, offsets)
    return _ndcg(ranked, offsets, _cutoff(criterion))


def _cutoff(criterion: str) -> int:
    match = re.fullmatch(r"ndcg@([1-9]\d*)", criterion)
    if match is None:
        raise GradrankError(f"selection criterion {criterion!r}: expected 'map' or 'ndcg@K', as in 'ndcg@10'")
    return int(match.group(1))


@compiled
def _average_precision(ranked, offsets):
    """AP = sum over relevant (grade >= 1) ranks i of P@i / number of relevant documents; 0 without any."""
    out = np.zeros(len(offsets) - 1)
    for q in range(len(offsets) - 1):
        hits, precision = 0, 0.0
        for i in range(offsets[q], offsets[q + 1]):
            if ranked[i] > 0:
                hits += 1
                precision += hits / (i - offsets[q] + 1.0)
        if hits > 0:
            out[q] = precision / hits
    return out


@compiled
def _ndcg(ranked, offsets, k):
    """Gain 2^y - 1; discount 1 at ranks 1 and 2, then 1/log2(rank); cut at min(k, n); no gain: 0."""
    out = np.zeros(len(offsets) - 1)
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        ideal = np.sort(ranked[a:b])[::-1]
        dcg, best = 0.0, 0.0
        for i in range(min(k, b - a)):
            discount = 1.0 if i < 2 else 1.0 / np.log2(i + 1.0)
            dcg += (2.0 ** ranked[a + i] - 1.0) * discount
            best += (2.0 ** ideal[i] - 1.0) * discount
        if best > 0.0:
            out[q] = dcg / best
    return out
