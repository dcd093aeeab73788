"""The loss of the dual learning algorithm (Ai et al. 2018), which learns relevance and propensities from each other."""

import numpy as np

CLICKED = 2  # factor of the position in a code


class DualSoftmax:
    """A loss on codes of positions and clicks, which also learns the propensities of the positions.

    The cost of a list is -sum over clicks of g_1/g_k ln p_k, where p = softmax(scores) and g is the softmax of one
    number per position. After each call, g takes a step of AdaGrad on -sum over clicks of p_1/p_k ln g_k. Index 1 is
    the first document of the list. Both ratios are at most `most`.

    logits: (k,) logarithms of the propensities, up to a constant.
    """

    def __init__(self, depth: int, *, learning_rate: float = 0.05, most: float = 100.0) -> None:
        self.logits, self.squares = np.zeros(depth), np.full(depth, 1e-8)
        self.learning_rate, self.most = learning_rate, most

    @property
    def propensities(self) -> np.ndarray:
        """The (k,) propensities relative to position 1."""
        return np.exp(self.logits - self.logits[0])

    @staticmethod
    def codes(clicks: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the (n,) int32 labels of this loss. clicks: (n,) 0 or 1. places: (n,) positions from 0."""
        return (CLICKED * places + clicks).astype(np.int32)

    def __call__(
        self,
        scores: np.ndarray,
        labels: np.ndarray,
        offsets: np.ndarray,
        *,
        rng: np.random.Generator | None = None,
        weights: np.ndarray | None = None,
    ) -> tuple[float, np.ndarray]:
        """Return the cost and its (n,) gradient at the present propensities, and then update the propensities.

        labels: (n,) results of `codes`. offsets: (q+1,). rng: not used. weights: (q,) factors of the lists.
        """
        cost, gradient, slopes = self.derivatives(scores, labels, offsets, weights)
        self.squares += slopes**2
        self.logits -= self.learning_rate * slopes / np.sqrt(self.squares)
        return cost, gradient

    def derivatives(
        self, scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, weights: np.ndarray | None = None
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the cost, its (n,) gradient with respect to the scores, and the (k,) gradient of the other cost.

        The last one is the mean over lists of the derivatives of the propensities' cost with respect to `logits`.
        """
        places, clicks = labels // CLICKED, labels % CLICKED
        sizes = np.diff(offsets)
        lists = np.repeat(np.arange(len(sizes)), sizes)
        factors = np.ones(len(sizes)) if weights is None else weights
        first = offsets[:-1][lists]
        own = self.logits[places]
        to_relevance = clicks * factors[lists] * np.minimum(np.exp(own[first] - own), self.most)
        to_position = clicks * factors[lists] * np.minimum(np.exp(scores[first] - scores), self.most)
        cost, gradient = _cross_entropy(scores, to_relevance, offsets, lists)
        _, slopes = _cross_entropy(own, to_position, offsets, lists)
        by_place = np.bincount(places, slopes, minlength=len(self.logits))
        return cost, gradient, by_place / len(sizes)


def _cross_entropy(
    values: np.ndarray, target: np.ndarray, offsets: np.ndarray, lists: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return -sum of target times ln softmax(values), and its (n,) gradient."""
    shifted = values - np.maximum.reduceat(values, offsets[:-1])[lists]
    powers = np.exp(shifted)
    total = np.add.reduceat(powers, offsets[:-1])[lists]
    mass = np.add.reduceat(target, offsets[:-1])[lists]
    return float(-target @ (shifted - np.log(total))), mass * powers / total - target
