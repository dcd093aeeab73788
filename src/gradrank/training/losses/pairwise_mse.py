"""Squared error on all pairs' score differences (rax's pairwise MSE; Jagerman et al. 2022)."""

import numpy as np

from gradrank.training.loss import loss
from gradrank.training.losses.query_rmse import centred_squares


@loss
def pairwise_mse(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """sum over all pairs, each once, of ((y_i - y_j) - (s_i - s_j))^2, in O(n).

    With d = y - s it is n sum_i (d_i - mean(d))^2: a query of n documents counts n times what `query_rmse` gives it.
    """
    return centred_squares(scores, labels, offsets, True)
