"""Squared error of the score differences of all pairs.

Source: Jagerman et al. 2022, Rax: Composable Learning-to-Rank Using JAX (pairwise_mse_loss).
"""

import numpy as np

from gradrank.training.loss import loss
from gradrank.training.losses.query_rmse import centred_squares


@loss
def pairwise_mse(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over all pairs i < j of ((y_i - y_j) - (s_i - s_j))^2, and its gradient.

    Both documents of a pair belong to one query. With d = y - s, the cost of a query of n documents equals
    n sum_i (d_i - mean(d))^2, which is n times the cost of `query_rmse`. Time per query: O(n).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return centred_squares(scores, labels, offsets, True)
