"""The criterion by which every model is selected on the validation part.

Fixed to the `letor4` convention on purpose: how results are reported (metrics.py, params `evaluation`) can
change without changing what was trained. A test holds both implementations together.
"""

import math
import re

import numpy as np

from gradrank.errors import GradrankError
from gradrank.learning.scores import checked

CRITERION = r"^(map|ndcg@[1-9]\d*)$"  # what `measure` knows: the pattern of every `select_by`


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
    measure that no order can change says nothing about how to train. Raises WrongScores for scores that are none.
    """
    from gradrank.data.order import order
    from gradrank.learning.selection_loops import average_precision, ndcg

    judged = checked(scores, len(labels), "scores to be judged")
    ranked = labels[order(np.ascontiguousarray(judged), offsets)]
    if criterion == "map":
        return average_precision(ranked, offsets)
    return ndcg(ranked, offsets, _cutoff(criterion))


def _cutoff(criterion: str) -> int:
    match = re.fullmatch(r"ndcg@([1-9]\d*)", criterion)
    if match is None:
        raise GradrankError(f"selection criterion {criterion!r}: expected 'map' or 'ndcg@K', as in 'ndcg@10'")
    return int(match.group(1))
