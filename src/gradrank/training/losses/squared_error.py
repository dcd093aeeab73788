"""Squared error between score and grade of each document, the pointwise loss of Cossock & Zhang 2006.

Source: Cossock & Zhang 2006, Subset Ranking Using Regression (with equal weights of all documents).
"""

import numpy as np

from gradrank.training.loss import loss


@loss
def squared_error(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over documents of (y_i - s_i)^2, and its gradient with respect to the scores.

    Unlike `query_rmse`, the loss has no free constant per query. Time per query: O(n).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; the loss does not depend on the queries.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    errors = scores - labels
    return float(errors @ errors), 2.0 * errors
