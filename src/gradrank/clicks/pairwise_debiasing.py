"""Derivatives of Unbiased LambdaMART (Hu et al. 2019): LambdaRank on clicks, with one factor per position.

The lambda of a clicked document i and an unclicked document j of one list is divided by t+_i t-_j. t+_k is proportional
to the probability that a relevant document at position k is clicked, and t-_k to that of no click on an irrelevant one.
After each round, the factors follow from the losses of the pairs at each position.
"""

import numpy as np

from gradrank.base.compiled import compiled

LEAST = 1e-3  # smallest factor


class PairwiseDebiasing:
    """A function from (n,) scores to the first and second derivatives, which updates the factors of the positions.

    plus, minus: (k,) factors t+ and t-, both 1 at position 1.
    """

    def __init__(
        self,
        clicks: np.ndarray,
        places: np.ndarray,
        offsets: np.ndarray,
        weights: np.ndarray,
        *,
        sigma: float = 1.0,
        truncation: int = 10_000,
        normalize: bool = False,
        regularization: float = 1.0,
    ) -> None:
        """Create the function.

        Parameters
        ----------
        clicks, places
            (n,) clicks 0 or 1, and positions from 0.
        offsets, weights
            (q+1,) offsets of the lists, and (q,) weights, with which the losses of the lists are summed.
        sigma, truncation, normalize
            As the parameters of `lambdamart`. truncation: pairs without a document above this rank are left out.
        regularization
            The number p of Hu et al. 2019: the factors are powers 1 / (p + 1) of the ratios of losses.
        """
        self.lists = clicks.astype(np.float64), places.astype(np.int64), offsets.astype(np.int64)
        self.weights = weights.astype(np.float64)
        self.sigma, self.truncation, self.normalize = sigma, truncation, normalize
        self.power = 1.0 / (regularization + 1.0)
        self.plus, self.minus = np.ones((2, int(places.max()) + 1))

    def __call__(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the (n,) first and second derivatives at the present factors, and then update the factors."""
        slopes, curvatures, losses = self.derivatives(scores)
        for factors, loss in zip((self.plus, self.minus), losses, strict=True):
            if loss[0] > 0:
                factors[:] = np.maximum((loss / loss[0]) ** self.power, LEAST)
        return slopes, curvatures

    def derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the (n,) first and second derivatives, and the (2, k) losses from which t+ and t- follow."""
        slopes, curvatures = np.zeros((2, len(scores)))
        losses = np.zeros((2, len(self.plus)))
        settings = self.sigma, self.truncation, self.normalize
        outputs = slopes, curvatures, losses
        _accumulate(
            np.asarray(scores, np.float64), *self.lists, self.weights, self.plus, self.minus, *settings, *outputs
        )
        return slopes, curvatures, losses


@compiled("f8[:], f8[:], i8[:], i8[:], f8[:], f8[:], f8[:], f8, i8, b1, f8[:] out, f8[:] out, f8[:,:] out")
def _accumulate(
    scores, clicks, places, offsets, weights, plus, minus, sigma, truncation, normalize, slopes, curvatures, losses
):
    """Add the derivatives of all pairs of a clicked and an unclicked document to the outputs.

    With factors of 1, these are the lambdas of LightGBM: the weight of a pair is its |dNDCG|, divided by .01 + the
    difference of the scores if `normalize`, and the sum S of a list is scaled to log2(1 + S).
    """
    for q in range(len(offsets) - 1):
        start, stop = offsets[q], offsets[q + 1]
        ranked = start + np.argsort(-scores[start:stop], kind="mergesort")
        count = int(np.sum(clicks[start:stop]))
        ideal = 0.0
        for rank in range(min(count, truncation)):
            ideal += 1.0 / np.log2(rank + 2.0)
        if ideal == 0.0:
            continue
        is_scaled = normalize and scores[ranked[0]] != scores[ranked[-1]]
        total = 0.0
        for first in range(min(truncation, len(ranked))):
            for second in range(first + 1, len(ranked)):
                i, j = ranked[first], ranked[second]
                if clicks[i] == clicks[j]:
                    continue
                delta = (1.0 / np.log2(first + 2.0) - 1.0 / np.log2(second + 2.0)) / ideal
                if clicks[i] < clicks[j]:
                    i, j = j, i
                difference = scores[i] - scores[j]
                loss = delta * (max(-sigma * difference, 0.0) + np.log1p(np.exp(-sigma * abs(difference))))
                losses[0, places[i]] += weights[q] * loss / minus[places[j]]
                losses[1, places[j]] += weights[q] * loss / plus[places[i]]
                if is_scaled:
                    delta /= 0.01 + abs(difference)
                delta /= plus[places[i]] * minus[places[j]]
                chance = 1.0 / (1.0 + np.exp(sigma * difference))
                slope = sigma * chance * delta
                curvature = sigma * sigma * chance * (1.0 - chance) * delta
                slopes[i] -= slope
                slopes[j] += slope
                curvatures[i] += curvature
                curvatures[j] += curvature
                total += 2.0 * slope
        if normalize and total > 0.0:
            scale = np.log2(1.0 + total) / total
            for row in range(start, stop):
                slopes[row] *= scale
                curvatures[row] *= scale
