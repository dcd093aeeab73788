"""Linear structural support vector machines: RankSVM-Struct (Joachims 2006) and SVM-MAP (Yue et al. 2007).

Both are trained by the method of cutting planes. The solver deviates from the authors' programs, SVMrank and SVMmap, in
its stopping rule: it uses a relative duality gap instead of an absolute one. C is selected on validation.

The method minimises |w|^2 / 2 + C R(w). R must be convex and not negative. The caller gives a function that returns the
values and the subgradients of R. The problem is the one-slack form of structural support vector machines (Joachims,
Finley & Yu 2009; Teo et al. 2010). R is approximated from below by the maximum of its tangent planes. Each step
replaces R by this maximum, solves the dual of the resulting small quadratic program, and adds the tangent plane at the
solution. The planes do not depend on C, so all values of C share them. The values and the subgradients of R are
computed from the ranking that violates the margin most.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

import numpy as np
from pydantic import PositiveFloat

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.data.order import order
from gradrank.models.ranksvm import SPACING, RankSVM, RankSVMParams
from gradrank.training.loss import weighted_sum
from gradrank.training.model import ModelParams, param, register
from gradrank.training.search_space import Choice, Dimension, Grid
from gradrank.training.selection import CRITERION
from gradrank.training.solvers.linear import times, transposed_times
from gradrank.training.solvers.ranksvm import group_by_grade, sort_groups, violation_sums
from gradrank.training.training_queries import with_grades_to_order

Risk = Callable[[np.ndarray], tuple[float, np.ndarray]]  # (d,) weights -> R, (d,) subgradient
IDLE = 100  # a plane is dropped if its share has been 0 for this many steps
STALLED = 100  # a search ends after this many steps without progress; no search on MQ2007 takes more than 60 steps
MOVES = 100  # the largest number of moves per plane in one quadratic program


class CuttingPlanes:
    """The tangent planes b_k + a_k . w of one function R. The first plane is zero everywhere."""

    def __init__(self, risk: Risk, features: int, gap: float) -> None:
        """Create a solver that has only the zero plane.

        risk: function that returns R and its subgradient. features: the number of features d. gap: a search ends when
        (primal - dual) / primal is at most `gap`. The weights w then differ from the optimal weights w* by
        |w - w*|^2 <= 2 gap primal.
        """
        self.risk, self.gap = risk, gap
        self.slopes, self.constants = np.zeros((1, features)), np.zeros(1)
        self.alpha, self.idle = np.ones(1), np.zeros(1, np.int64)  # alpha: the shares of the planes, with sum 1

    def solve(self, C: float) -> np.ndarray:
        """Return the (d,) weights for one value of C.

        The search starts with the planes of the previous call and with their shares.
        """
        best, least, since = np.zeros(self.slopes.shape[1]), np.inf, 0
        w = -C * self._mixed()
        while since < STALLED:
            value, slope = self.risk(w)
            primal = 0.5 * float(w @ w) + C * value
            since = 0 if primal < (1.0 - 0.1 * self.gap) * least else since + 1
            if primal < least:
                best, least = w, primal
            self._add(slope, value - float(slope @ w))
            accuracy = 0.1 * self.gap * least / C
            kernel = np.einsum("id,jd->ij", self.slopes, self.slopes)
            ascend(kernel, self.constants, self.alpha, C, accuracy)
            mixed = self._mixed()
            w = -C * mixed
            dual = C * float(self.alpha @ self.constants) - 0.5 * C * C * float(mixed @ mixed)
            if least - dual <= self.gap * least:
                break
            self._drop_idle()
        return best

    def _mixed(self) -> np.ndarray:
        return np.einsum("k,kd->d", self.alpha, self.slopes)

    def _add(self, slope: np.ndarray, constant: float) -> None:
        self.slopes = np.vstack([self.slopes, slope])
        self.constants, self.alpha = np.append(self.constants, constant), np.append(self.alpha, 0.0)
        self.idle = np.append(self.idle, 0)

    def _drop_idle(self) -> None:
        self.idle = np.where(self.alpha > 0.0, 0, self.idle + 1)
        kept = self.idle < IDLE
        kept[0] = True
        self.slopes, self.constants = self.slopes[kept], self.constants[kept]
        self.alpha, self.idle = self.alpha[kept], self.idle[kept]


@compiled("f8[:,:], f8[:], f8[:] out, f8, f8")
def ascend(kernel, constants, alpha, C, accuracy):
    """Maximise constants . alpha - C / 2 alpha' kernel alpha over the shares alpha >= 0 with sum 1, in place.

    The height of a plane is its value at the current weights. Each step moves a part of the share of one plane to
    another plane: from the lowest plane with a positive share to the plane with the largest gain (Fan, Chen & Lin
    2005). The steps end when no plane is higher than the lowest plane with a positive share by more than `accuracy`.

    kernel: (k, k) inner products of the slopes of the planes. constants, alpha: (k,).
    """
    count = len(alpha)
    height = constants.copy()
    for i in range(count):
        if alpha[i] > 0.0:
            for j in range(count):
                height[j] -= C * alpha[i] * kernel[j, i]
    for _ in range(MOVES * count):
        low = -1
        for i in range(count):
            if alpha[i] > 0.0 and (low < 0 or height[i] < height[low]):
                low = i
        high, most, highest = -1, 0.0, 0.0
        for i in range(count):
            rise = height[i] - height[low]
            if rise > 0.0:
                curve = max(C * (kernel[i, i] + kernel[low, low] - 2.0 * kernel[i, low]), 1e-300)
                gain = rise * min(rise / curve, alpha[low])
                highest = max(highest, rise)
                if gain > most:
                    high, most = i, gain
        if high < 0 or highest <= accuracy:
            return
        curve = max(C * (kernel[high, high] + kernel[low, low] - 2.0 * kernel[high, low]), 1e-300)
        step = min((height[high] - height[low]) / curve, alpha[low])
        alpha[high] += step
        alpha[low] = alpha[low] - step if step < alpha[low] else 0.0
        for i in range(count):
            height[i] -= C * step * (kernel[i, high] - kernel[i, low])


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


GAP = param(1e-3, "relative duality gap; SVMrank and SVMmap stop at an absolute gap of .001", gt=0, lt=1)


class RankSVMStructParams(RankSVMParams):
    gap: float = GAP


@register("ranksvm_struct")
class RankSVMStruct(RankSVM):
    """RankSVM with the same objective as `ranksvm_l1_dual`, minimised without listing the pairs.

    C multiplies the loss of each pair, as in the other RankSVMs. The option -c of SVMrank equals C times the number of
    queries.
    """

    Params = RankSVMStructParams
    summary = "RankSVM-Struct: linear RankSVM, L1 loss, by cutting planes (Joachims 2006)"
    space: ClassVar[Mapping[str, Dimension]] = {
        "weighting": Choice(("pair", "query"), "both forms in use"),
        "C": Choice([(2.0**e,) for e in range(-18, 3)], "one value of the grid"),
    }

    @classmethod
    def _solver(cls, train: Collection, params: RankSVMStructParams, seed: int) -> Callable[[float], np.ndarray]:

        risk = PairRisk(with_grades_to_order(train, cls.name), params.weighting)
        return CuttingPlanes(risk, train.features.shape[1], params.gap).solve


class SVMMAPParams(ModelParams):
    C: Grid[PositiveFloat] = param(
        tuple(2.0**e for e in range(-4, 15)),
        SPACING + "from nearly no fit to where the weights no longer change",
        min_length=1,
    )
    gap: float = GAP
    select_by: str = param("map", "LETOR's protocol: the validation part's MAP", pattern=CRITERION)


@register("svm_map")
class SVMMAP(RankSVM):
    Params = SVMMAPParams
    summary = "SVM-MAP: a structural SVM whose margin is average precision (Yue et al. 2007)"
    space: ClassVar[Mapping[str, Dimension]] = {
        "C": Choice([(2.0**e,) for e in range(-4, 15)], "one value of the grid")
    }

    @classmethod
    def _solver(cls, train: Collection, params: SVMMAPParams, seed: int) -> Callable[[float], np.ndarray]:

        risk = MAPRisk(with_grades_to_order(train, cls.name), cls.name)
        return CuttingPlanes(risk, train.features.shape[1], params.gap).solve
