"""ListMLE (Xia et al. 2008): the likelihood of the order by grade; position-aware form by Lan et al. 2014."""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import order
from gradrank.training.loss import loss
from gradrank.training.plackett_luce import order_likelihood


@loss
def listmle(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    rng: np.random.Generator | None = None,
    positions: bool = False,
) -> tuple[float, np.ndarray]:
    """sum_r [ln sum_{k>=r} exp s_(k) - s_(r)], the documents in order of grade, O(n log n).

    Equal grades are in an order drawn from `rng` (as Xia et al. 2008 have it); without one in file order.
    positions: a rank's term weighs 2^(n-r) - 1 over the sum of these, which from 1,024 documents on is no number
    by itself.
    """
    if rng is not None:
        shuffled = order(rng.random(len(scores)), offsets)
        ordered = shuffled[order(labels[shuffled].astype(np.float64), offsets)]
    else:
        ordered = order(labels.astype(np.float64), offsets)
    weights = position_weights(offsets) if positions else np.ones(len(scores))
    return order_likelihood(scores, offsets, ordered, weights)


@compiled("i8[:]")
def position_weights(offsets):
    """(n,) 2^(n-r) - 1 of the ranks r of each query, over their sum; of a single document 0."""
    out = np.zeros(offsets[-1])
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        for r in range(a, b):
            out[r] = 0.5 ** (r - a + 1.0) - 0.5 ** float(b - a)
        total = out[a:b].sum()
        if total > 0.0:
            out[a:b] /= total
    return out
