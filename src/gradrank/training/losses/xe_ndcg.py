"""XE-NDCG: a cross-entropy between random targets and the softmax of the scores, which bounds NDCG.

Source: Bruch 2021, An Alternative Cross Entropy Loss for Learning-to-Rank, Eqs. 5 and 6.
"""

import numpy as np

from gradrank.training.loss import loss
from gradrank.training.top_one import cross_entropy


@loss
def xe_ndcg(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, rng: np.random.Generator | None = None
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of -sum_i phi_i ln p_i, where p = softmax(scores), and its gradient.

    The targets phi_i are proportional to 2^y_i - gamma_i and sum to 1 in each query. The numbers gamma_i are drawn
    uniformly from [0, 1). Each query has the same weight. Time per query: O(n).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        rng: generator of gamma. If None, every gamma is its mean, 1/2.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    gamma = np.full(len(scores), 0.5) if rng is None else rng.random(len(scores))
    mass = np.exp2(labels) - gamma
    total = np.bincount(queries, mass, len(offsets) - 1)
    weight = (np.diff(offsets) > 0).astype(np.float64)
    return cross_entropy(scores, mass / total[queries], weight, offsets)
