"""The risks of structural support vector machines: their values and subgradients.

Both are computed from the ranking that violates the margin most.
"""

from functools import partial

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.data.order import order
from gradrank.training.solvers.matrix_vector import times, transposed_times
from gradrank.training.solvers.ranksvm.objective import group_by_grade, sort_groups, violation_sums
from gradrank.training.weighted_sums import weighted_sum


class PairRisk:
    """The risk of RankSVM-Struct (Joachims 2006): the sum over pairs of max(0, 1 - w.(x_better - x_worse)).

    The pairs are all pairs of documents of one query with different grades. The most violating ranking swaps every pair
    within the margin. Counting these pairs takes O(n log n) (section 4.2).
    """

    def __init__(self, train: Collection, weighting: str) -> None:
        """Create the risk on the training part. weighting: `pair` or `query`, as in RankSVMParams."""
        self.features, self.grades = train.features.astype(np.float64), group_by_grade(train, weighting)

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the risk of (d,) weights and its (d,) subgradient."""
        scores = times(self.features, weights)
        values = np.stack([scores, np.zeros_like(scores)], axis=1)
        sums, total = violation_sums(self.grades, sort_groups(self.grades, scores), scores, values, target=1.0)
        # In the sums for the column of zeros, each pair within the margin contributes -1 to its better document and +1
        # to its worse document.
        return -float(total[0]), transposed_times(self.features, sums[:, 1])


class MAPRisk:
    """The risk of SVM-MAP (Yue et al. 2007): the mean over queries of max_y' [1 - AP(y') + w.Psi(y') - w.Psi(y)].

    The mean is weighted by the weights of the queries, and is over the queries that have both relevant and irrelevant
    documents. y is a ranking with all relevant documents on top, and y' is any ranking. Psi = 1 / (|C| |C'|) sum_ij
    y_ij (x_i - x_j), where i runs over the set C of relevant documents and j over the set C' of irrelevant documents.
    y_ij is 1 if i ranks above j, otherwise -1.
    """

    def __init__(self, train: Collection, model: str) -> None:
        """Create the risk on the training part. model: name of the model, for the error message.

        Raises GradrankError if no query has both relevant and irrelevant documents.
        """
        self.features, self.offsets = train.features.astype(np.float64), train.offsets
        self.relevant, self.weights = train.labels > 0, train.query_weights
        counts = np.add.reduceat(self.relevant.astype(np.int64), train.offsets[:-1])
        counted = (counts > 0) & (counts < np.diff(train.offsets))
        self.queries = float(np.count_nonzero(counted) if self.weights is None else self.weights[counted].sum())
        if not self.queries:
            raise GradrankError(
                f"{model}: no query of the training part has both relevant and other documents, so average precision "
                "cannot be optimised. Fix: check the labels"
            )

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the risk of (d,) weights and its (d,) subgradient."""
        scores = times(self.features, weights)
        if self.weights is None:
            value, shares = most_violating(scores, self.relevant, self.offsets, order(scores, self.offsets))
        else:
            value, shares = weighted_sum(partial(self._violation, scores), self.offsets, self.weights)
        return value / self.queries, transposed_times(self.features, shares) / self.queries

    def _violation(
        self, scores: np.ndarray, queries: np.ndarray, rows: np.ndarray, offsets: np.ndarray
    ) -> tuple[float, np.ndarray]:
        return most_violating(scores[rows], self.relevant[rows], offsets, order(scores[rows], offsets))


@compiled("f8[:], b1[:], i8[:], i8[:]")
def most_violating(scores, relevant, offsets, ranked):
    """Return the sum over queries of max_y' [1 - AP(y') + w.Psi(y') - w.Psi(y)] and its (n,) subgradient in the scores.

    In the most violating ranking, the relevant documents are ordered by score, and so are the irrelevant documents. The
    ranking therefore interleaves two sorted lists. i_j is the number of relevant documents above the j-th irrelevant
    document. 1 - AP and Psi are sums over j and over k > i_j. The best i_j can be found separately for each j, because
    the best values do not decrease with j (Yue et al. 2007, section 4.1).

    scores: (n,). relevant: (n,) bool. offsets: (q+1,). ranked: (n,) row numbers, sorted by query and by descending
    score.
    """
    value, slopes = 0.0, np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        rows = ranked[offsets[q] : offsets[q + 1]]
        good, bad = rows[relevant[rows]], rows[~relevant[rows]]
        if len(good) == 0 or len(bad) == 0:
            continue
        pair = 2.0 / (len(good) * len(bad))
        below = np.zeros(len(good), np.int64)  # irrelevant documents above each relevant document
        for j in range(len(bad)):
            best, most, sum_here = len(good), 0.0, 0.0
            for k in range(len(good), 0, -1):
                lost = k / (k + j) - k / (k + j + 1.0)
                sum_here += lost / len(good) - pair * (scores[good[k - 1]] - scores[bad[j]])
                if sum_here > most:
                    best, most = k - 1, sum_here
            value += most
            slopes[bad[j]] += pair * (len(good) - best)
            below[best:] += 1
        for k in range(len(good)):
            slopes[good[k]] -= pair * below[k]
    return value, slopes
