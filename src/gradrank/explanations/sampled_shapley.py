"""Shapley values of the features of a pair of documents, estimated from random permutations (Castro et al. 2009).

The game: a coalition of features has the value s(a) - s(b) after all features outside the coalition are replaced, in
both documents, by those of a random background document. The value of all features is the difference of the scores.
The value of no feature is 0, because the two documents are then equal.

Along one permutation, the features join the coalition one after another. The contribution of a feature is the change of
the value when it joins. These changes sum to the difference of the scores exactly. Each permutation is used together
with its reverse and the same background document, which reduces the variance (Mitchell et al. 2022).
"""

import numpy as np

from gradrank.explanations.exchanged_scores import Pair

SCORED_ROWS = 60_000  # documents that are scored per explanation, if the bounds of the number of pairs allow it
LEAST_PAIRS, MOST_PAIRS = 8, 256  # bounds of the number of pairs of permutations
BATCH_COALITIONS = 1 << 13  # coalitions that are held in memory at once, unless one pair has more


def sampled_shapley(pair: Pair, difference: float, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the (d,) contributions, their (d,) standard errors, and the number of permutations.

    difference: s(a) - s(b). seed: seed of the permutations. A feature that is equal in all documents of the query has
    the contribution 0. Every background document is used equally often. If there are more background documents than
    pairs of permutations, a random sample of them is used. The standard errors are those within the background
    documents if each is used at least twice, and otherwise those of independent draws, which are too large.
    """
    width, varying = pair.features.shape[1], pair.varying
    contributions, errors = np.zeros(width), np.zeros(width)
    count = len(varying)
    if count < 2:
        contributions[varying] = difference
        return contributions, errors, 0
    per_pair = pair.scored_rows() * 2 * (count - 1)
    pairs = int(np.clip(SCORED_ROWS // per_pair, LEAST_PAIRS, MOST_PAIRS))
    random, scorer, background = np.random.default_rng(seed), pair.scorer(), pair.background
    uses = pairs // len(background)  # per background document
    pairs = uses * len(background) if uses else pairs
    others = np.tile(background, uses) if uses else random.permutation(background)[:pairs]
    changes = np.empty((pairs, count))
    step = max(1, BATCH_COALITIONS // (2 * (count - 1)))
    for start in range(0, pairs, step):
        rows = others[start : start + step]
        forward = np.stack([random.permutation(count) for _ in rows])
        orders = np.stack([forward, forward[:, ::-1]], axis=1).reshape(-1, count)
        scores = scorer(_coalitions(orders, varying, width), np.repeat(rows, 2 * (count - 1)))
        values = np.zeros((len(orders), count + 1))
        values[:, 1:-1] = (scores[:, pair.first] - scores[:, pair.second]).reshape(len(orders), -1)
        values[:, -1] = difference
        joined = np.empty((len(orders), count))
        np.put_along_axis(joined, orders, np.diff(values, axis=1), axis=1)
        changes[start : start + step] = joined.reshape(-1, 2, count).mean(axis=1)
    contributions[varying] = changes.mean(axis=0)
    errors[varying] = _errors(changes.reshape(uses, -1, count) if uses > 1 else changes[:, None])
    return contributions, errors, 2 * pairs


def _coalitions(orders: np.ndarray, varying: np.ndarray, width: int) -> np.ndarray:
    """Return (k * (p-1), d) booleans: the coalitions of the first 1, 2, ... p-1 features of each permutation.

    orders: (k, p) permutations of the p numbers in `varying`.
    """
    permutations, count = orders.shape
    kept = np.zeros((permutations, count - 1, width), dtype=bool)
    for size in range(1, count):
        kept[np.arange(permutations)[:, None], size - 1, varying[orders[:, :size]]] = True
    return kept.reshape(-1, width)


def _errors(changes: np.ndarray) -> np.ndarray:
    """Return the (p,) standard errors of the means. changes: (n, s, p) values; n values in each of s strata."""
    count, strata, _ = changes.shape
    return np.sqrt(changes.var(axis=0, ddof=1).sum(axis=0) / count) / strata
