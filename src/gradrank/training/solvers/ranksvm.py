"""Solvers of linear RankSVM: in the primal, in the dual, and with the hinge loss on a smoothed loss.

The sums over the crucial pairs that violate the margin are computed without listing the pairs. Crucial pairs are pairs
of documents of one query with different grades. A pair violates the margin if the better document does not score at
least 1 higher than the worse document. Let the documents of each grade be sorted by score, and consider one document of
a different grade. The documents of a grade with which this document violates the margin are then a prefix or a suffix
(Lee & Lin 2014, Large-scale linear RankSVM). So the sums for a Newton step take O(n log n + L n) for n documents of L
grades, not O(pairs). Pairs from the user's file are stored as a list, and their sums take O(pairs).

Solver of RankSVM in the primal by Newton's method.

The solver minimises R(w) + C sum_p tau_p max(0, 1 - w.(x_better - x_worse))^2 over w. With the penalty `l2`, R(w) is
|w|^2/2 (Keerthi & DeCoste 2005). With the penalty `l1`, R(w) is |w|_1, and the steps are proximal Newton steps (Yuan,
Ho & Lin 2012). The loss is piecewise quadratic. So once the pairs that violate the margin are the same as at the
optimum, the next step reaches the optimum.

Solver of RankSVM in the dual by coordinate descent (Hsieh et al. 2008, Algorithm 1).

The solver minimises |w|^2/2 + C sum_p tau_p loss(w.(x_better - x_worse)) over w. The loss `l1` is
loss(o) = max(0, 1 - o), and `l2` is its square. The feature differences of pairs are computed when needed and not
stored.

Solver of RankSVM with the hinge loss in the primal, by L-BFGS-B on a smoothed loss.

The solver minimises R(w) + C sum_p tau_p max(0, 1 - o_p) over w, where o_p = w.(x_better - x_worse). With the penalty
`l2`, R(w) is |w|^2/2. With the penalty `l1`, R(w) is |w|_1, and w is the difference of two vectors without negative
elements, so that the penalty is linear.

The hinge loss has no derivative at its kink. It is replaced by [s(1) - s(1 - width)] / (2 width), where s(m) =
max(0, m - o)^2 (the Huber loss of Chapelle 2007, Training a support vector machine in the primal). This function is
lower than the hinge loss by at most width/2. Each s(m) is a sum over the pairs that violate the margin m, so no pair is
listed. The width shrinks in steps, and each solution starts the next step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.collection import Collection
from gradrank.data.order import descending
from gradrank.training.ndcg_gains import ideal_dcg_beta
from gradrank.training.solvers.linear import blocks, times_in_blocks, transposed_times_in_blocks


@dataclass(frozen=True)
class GradeGroups:
    """The documents of each query grouped by grade, and the weights of the crucial pairs.

    rows: (n,) int64 row numbers, sorted by query and grade. starts: (groups + 1,) int64; group g has the documents
    rows[starts[g]:starts[g+1]].
    grade: (groups,) float64, the grade of each group. first: (q+1,) int64; query i has the groups first[i]:first[i+1].
    weight: (q,) float64, the weight of each pair of a query. The weight is 0 if the query has no crucial pair.
    by_gap: whether the weight of a pair is also multiplied by its grade difference.
    """

    rows: np.ndarray
    starts: np.ndarray
    grade: np.ndarray
    first: np.ndarray
    weight: np.ndarray
    by_gap: bool

    @property
    def offsets(self) -> np.ndarray:
        """The (q+1,) offsets of the queries."""
        return self.starts[self.first]

    def of_queries(self, first: int, end: int) -> "GradeGroups":
        """Return the groups of the queries `first` to `end` - 1, for arrays with the rows of these queries."""
        groups = slice(self.first[first], self.first[end] + 1)
        starts = self.starts[groups]
        return GradeGroups(
            rows=self.rows[starts[0] : starts[-1]] - starts[0],
            starts=starts - starts[0],
            grade=self.grade[groups][:-1],
            first=self.first[first : end + 1] - groups.start,
            weight=self.weight[first:end],
            by_gap=self.by_gap,
        )

    def violations(self, scores: np.ndarray) -> "Sums":
        """Return a function of values and target that calls `violation_sums` with the (n,) scores."""
        return partial(violation_sums, self, sort_groups(self, scores), scores)


@dataclass(frozen=True)
class WeightedPairs:
    """A list of pairs.

    better, worse: (p,) int32 row numbers. tau: (p,) float64 weights. offsets: (q+1,) int64 offsets of the queries.
    """

    better: np.ndarray
    worse: np.ndarray
    tau: np.ndarray
    offsets: np.ndarray

    def of_queries(self, first: int, end: int) -> "WeightedPairs":
        """Return the pairs of the queries `first` to `end` - 1, for arrays with the rows of these queries."""
        start, stop = self.offsets[first], self.offsets[end]
        own = (self.better >= start) & (self.better < stop)
        shift, offsets = self.better.dtype.type(start), self.offsets[first : end + 1] - start
        return WeightedPairs(self.better[own] - shift, self.worse[own] - shift, self.tau[own], offsets)

    def violations(self, scores: np.ndarray) -> "Sums":
        """Return a function of values and target. It computes the sums of `violation_sums` over the listed pairs."""
        violated = scores[self.better] - scores[self.worse] < 1.0
        return partial(_listed_sums, self.better[violated], self.worse[violated], self.tau[violated])


# A function from (n, m) values and a target to the sums that `violation_sums` returns.
Sums = Callable[[np.ndarray, float], tuple[np.ndarray, np.ndarray]]


def weight_pairs(collection: Collection, weighting: str) -> WeightedPairs:
    """Convert the pairs `collection.pairs` to preferences with the weights tau.

    A pair with target P becomes two preferences, whose weights have the factors P and 1 - P. weighting: if `pair`, tau
    is the weight of the preference. If `query`, tau is this weight divided by the total weight of the query's
    preferences. In both cases, tau is multiplied by the weight of the query.
    """
    preferences = collection.pairs.directed()
    tau = np.ones(len(preferences)) if preferences.weight is None else preferences.weight
    if weighting == "query":
        tau = tau / np.bincount(preferences.query, tau, collection.queries)[preferences.query]
    if collection.query_weights is not None:
        tau = tau * collection.query_weights[preferences.query]
    return WeightedPairs(preferences.better, preferences.worse, tau, collection.offsets)


def weight_crucial_pairs(collection: Collection, weighting: str) -> WeightedPairs:
    """Return the crucial pairs `collection.pairs` with the weights tau of `group_by_grade`."""
    grades, pairs = group_by_grade(collection, weighting), collection.pairs
    tau = grades.weight[pairs.query]
    if grades.by_gap:
        tau = tau * (collection.labels[pairs.better] - collection.labels[pairs.worse])
    return WeightedPairs(pairs.better, pairs.worse, tau, collection.offsets)


def group_by_grade(collection: Collection, weighting: str) -> GradeGroups:
    """Return the documents grouped by grade, with the weights tau of the crucial pairs.

    The weights depend on `weighting`:

        pair: tau = 1
        query: tau = 1 / (number of crucial pairs of the query)
        ndcg: tau = (grade difference) / (K DCG_beta(ideal)), where K is the number of queries with a crucial pair. The
            sum of tau over the inverted pairs is then the mean of 1 - NDCG_beta (Jin et al. 2018).

    tau is multiplied by the weight of the query, and K is then the sum of these weights.
    """
    query, labels, queries = collection.query_of_row, collection.labels, collection.queries
    rows = np.lexsort((labels, query))
    new_group = np.r_[True, (np.diff(query[rows]) != 0) | (np.diff(labels[rows]) != 0)]
    starts = np.flatnonzero(new_group)
    first = np.searchsorted(query[rows][starts], np.arange(queries + 1))
    sizes = np.diff(np.r_[starts, collection.rows]).astype(np.float64)
    of_group = query[rows][starts]
    documents = np.bincount(of_group, sizes, queries)
    pairs = (documents**2 - np.bincount(of_group, sizes**2, queries)) / 2
    weights = np.ones(queries) if collection.query_weights is None else collection.query_weights
    if weighting == "ndcg":
        total = weights[pairs > 0].sum() * ideal_dcg_beta(labels, collection.offsets)
    else:
        total = pairs if weighting == "query" else np.ones(queries)
    return GradeGroups(
        rows=rows,
        starts=np.r_[starts, collection.rows],
        grade=labels[rows][starts].astype(np.float64),
        first=first,
        weight=np.divide(weights, total, out=np.zeros(queries), where=pairs > 0),
        by_gap=weighting == "ndcg",
    )


def sort_groups(grades: GradeGroups, scores: np.ndarray) -> np.ndarray:
    """Return the (n,) int64 row numbers, sorted by query, grade and ascending score."""
    return _sort_groups(grades.rows, grades.starts, scores)


def violation_sums(
    grades: GradeGroups, order: np.ndarray, scores: np.ndarray, values: np.ndarray, target: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return sums of tau (values_better - values_worse - target) over the pairs with score_better - score_worse < 1.

    order: sort_groups(grades, scores). scores: (n,) float64. values: (n, m) float64.

    The first result contains the (n, m) sums per document. The term of a pair is added for its better document and
    subtracted for its worse document. The second result contains the (m,) sums over all pairs.
    """
    g = grades
    return _violation_sums(order, g.starts, g.grade, g.first, g.weight, g.by_gap, scores, values, target)


@compiled("i4[:], i4[:], f8[:], f8[:,:], f8")
def _listed_sums(better, worse, tau, values, target):
    width = values.shape[1]
    out, total = np.zeros_like(values), np.zeros(width)
    for p in range(len(better)):
        i, j = better[p], worse[p]
        for c in range(width):
            term = tau[p] * (values[i, c] - values[j, c] - target)
            out[i, c] += term
            out[j, c] -= term
            total[c] += term
    return out, total


@compiled("i8[:], i8[:], f8[:]")
def _sort_groups(rows, starts, scores):
    out = np.empty(len(rows), np.int64)
    for g in range(len(starts) - 1):
        group = rows[starts[g] : starts[g + 1]]
        falling = np.empty(len(group))
        for i in range(len(group)):
            falling[i] = -scores[group[i]]
        for place, i in enumerate(descending(falling)):
            out[starts[g] + place] = group[i]
    return out


@compiled("i8[:], i8[:], f8[:], i8[:], f8[:], b1, f8[:], f8[:,:], f8")
def _violation_sums(order, starts, grade, first, weight, by_gap, scores, values, target):
    width = values.shape[1]
    out, total, running = np.zeros_like(values), np.zeros(width), np.empty(width)
    for q in range(len(first) - 1):
        for high in range(first[q] + 1, first[q + 1]):
            for low in range(first[q], high):
                tau = weight[q] * (grade[high] - grade[low] if by_gap else 1.0)
                # As the better document's score falls, the worse documents that violate the margin are a growing
                # suffix.
                running[:] = 0.0
                j = starts[low + 1] - 1
                for i in range(starts[high + 1] - 1, starts[high] - 1, -1):
                    better = order[i]
                    while j >= starts[low] and scores[better] - scores[order[j]] < 1.0:
                        running += values[order[j]]
                        j -= 1
                    count = starts[low + 1] - 1 - j
                    for c in range(width):
                        term = tau * (count * (values[better, c] - target) - running[c])
                        out[better, c] += term
                        total[c] += term
                # As the worse document's score rises, the better documents that violate the margin are a growing
                # prefix.
                running[:] = 0.0
                i = starts[high]
                for j in range(starts[low], starts[low + 1]):
                    worse = order[j]
                    while i < starts[high + 1] and scores[order[i]] - scores[worse] < 1.0:
                        running += values[order[i]]
                        i += 1
                    count = i - starts[high]
                    for c in range(width):
                        out[worse, c] -= tau * (running[c] - count * (values[worse, c] + target))
    return out, total


STEPS = 100  # maximum number of Newton steps; three to eight are usual
CONVERGED = 1e-12  # the norm of the (sub)gradient at the solution, relative to its norm at w = 0
ROUNDING = 1e-13  # relative rounding error of the objective; near the optimum, the decrease can be smaller


def solve_primal(
    features: np.ndarray, pairs: GradeGroups | WeightedPairs, C: float, start: np.ndarray, penalty: str = "l2"
) -> np.ndarray:
    """Return the (d,) weights of RankSVM with the squared hinge loss.

    features: (n, d) float32. start: (d,) initial weights, such as the solution for a smaller C. penalty: "l2" or "l1".
    The time per step is O(n log n + L n d + n d^2) for L grades, or O(p d + n d^2) for a list of p pairs. All numbers
    are computed in float64, from copies of blocks of rows.
    """
    zero = np.zeros(features.shape[1])
    enough = CONVERGED * float(np.linalg.norm(_violation(zero, C * _loss(features, pairs, zero)[1], penalty)))
    w = start
    loss, gradient, scores = _loss(features, pairs, w)
    for _ in range(STEPS):
        gradient = C * gradient
        if np.linalg.norm(_violation(w, gradient, penalty)) <= enough:
            break
        hessian = 2.0 * C * _curvature(features, pairs, scores)
        if penalty == "l2":
            direction = np.linalg.solve(hessian + np.eye(len(w)), -(w + gradient))
            slope = (w + gradient) @ direction
        else:
            direction = _lasso(w, gradient - hessian @ w, hessian, enough) - w
            slope = gradient @ direction + np.abs(w + direction).sum() - np.abs(w).sum()
        before, step = _penalty(w, penalty) + C * loss, 1.0
        while True:
            candidate = w + step * direction
            loss, gradient, scores = _loss(features, pairs, candidate)
            after = _penalty(candidate, penalty) + C * loss
            if after <= before * (1.0 + ROUNDING) + 1e-4 * step * slope:  # Armijo
                break
            step /= 2.0
        w = candidate
    return w


def _loss(features, pairs, w):
    """Return the loss, its (d,) gradient with respect to w, and the (n,) scores.

    The loss is sum_p tau_p max(0, 1 - o_p)^2, where o_p is the score difference of pair p.
    """
    scores = times_in_blocks(features, w)
    slopes, total = pairs.violations(scores)(scores[:, None], 1.0)
    # With m_p = tau_p (o_p - 1), sum tau (1 - o)^2 = sum m o - sum m over the pairs that violate the margin.
    loss = float(scores @ slopes[:, 0] - total[0])
    return loss, 2.0 * transposed_times_in_blocks(features, slopes[:, 0]), scores


def _curvature(features: np.ndarray, pairs: GradeGroups | WeightedPairs, scores: np.ndarray) -> np.ndarray:
    """Return the (d, d) sum of tau (x_better - x_worse) (x_better - x_worse)' over the pairs that violate the margin.

    scores: (n,) scores of the documents.
    """
    from scipy.linalg.blas import dgemm  # pyright: ignore[reportAttributeAccessIssue] - as in linear.py

    out = np.zeros((features.shape[1], features.shape[1]))
    for block in blocks(features):
        # The queries that have rows in the block. A query at a border is computed for both blocks.
        first = np.searchsorted(pairs.offsets, block.start, side="right") - 1
        end = np.searchsorted(pairs.offsets, block.stop)
        rows = slice(pairs.offsets[first], pairs.offsets[end])
        values = features[rows].astype(np.float64)
        sums, _ = pairs.of_queries(first, end).violations(scores[rows])(values, 0.0)
        own = slice(block.start - rows.start, block.stop - rows.start)
        dgemm(1.0, sums[own].T, values[own].T, beta=1.0, c=out.T, trans_b=True, overwrite_c=True)
    return out


def _penalty(w: np.ndarray, penalty: str) -> float:
    return 0.5 * float(w @ w) if penalty == "l2" else float(np.abs(w).sum())


def _violation(w: np.ndarray, gradient: np.ndarray, penalty: str) -> np.ndarray:
    """Return the (d,) gradient of the objective. With the penalty `l1`, return the shortest subgradient.

    gradient: (d,) gradient of the loss, multiplied by C.
    """
    if penalty == "l2":
        return w + gradient
    return np.where(w == 0.0, _shrink(gradient), gradient + np.sign(w))


def _shrink(values: np.ndarray) -> np.ndarray:
    """Return the values after soft thresholding: their absolute values decrease by 1, but not below 0."""
    return np.sign(values) * np.maximum(np.abs(values) - 1.0, 0.0)


def _lasso(w: np.ndarray, linear: np.ndarray, hessian: np.ndarray, enough: float) -> np.ndarray:
    """Return the (d,) minimiser x of linear.x + x.hessian.x / 2 + |x|_1. The iteration starts from w.

    Each iteration begins with a sweep of coordinate descent, which finds the non-zero weights. Then it solves a linear
    system for the optimum with the current signs of x. It moves x to this optimum, or up to the point where the first
    sign changes. Coordinate descent alone needs 10^5 sweeps for correlated features. enough: norm of the subgradient at
    which the iteration ends.
    """
    x = w.copy()
    for _ in range(1000):
        _sweep_coordinates(x, linear, hessian)
        used = np.flatnonzero(x)
        slope = linear[used] + hessian[used] @ x + np.sign(x[used])
        move = np.linalg.lstsq(hessian[np.ix_(used, used)], -slope, rcond=None)[0]
        crossing = x[used] * (x[used] + move) < 0.0
        reach = np.where(crossing, -x[used] / np.where(crossing, move, 1.0), 1.0)
        step = reach.min(initial=1.0)
        x[used] = np.where(crossing & (reach == step), 0.0, x[used] + step * move)
        if step == 1.0 and np.linalg.norm(_violation(x, linear + hessian @ x, "l1")) <= enough:
            break
    return x


@compiled("f8[:] out, f8[:], f8[:,:]")
def _sweep_coordinates(x, linear, hessian):
    """Minimise over one coordinate of x at a time, in place. A coordinate without curvature becomes 0."""
    slope = linear + hessian @ x
    for c in range(len(x)):
        curve = hessian[c, c]
        best = curve * x[c] - slope[c]
        new = np.sign(best) * max(abs(best) - 1.0, 0.0) / curve if curve > 0.0 else 0.0
        slope += (new - x[c]) * hessian[c]
        x[c] = new


SWEEPS = 10_000  # maximum number of sweeps over all pairs


def solve_dual(
    features: np.ndarray,
    better: np.ndarray,
    worse: np.ndarray,
    cost: np.ndarray,
    loss: str,
    start: np.ndarray,
    gap: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the (d,) weights and the (p,) dual variables of RankSVM. The time per sweep is O(p d).

    features: (n, d) float32. better, worse: (p,) row numbers. cost: (p,) factors C tau_p of the loss. loss: "l1" or
    "l2". start: (p,) initial dual variables >= 0, and <= cost for `l1`. gap: the iteration ends when
    primal - dual <= gap * primal. This implies |w - w*|^2 <= 2 gap primal, where w* is the optimum. rng: determines the
    order of the pairs.
    """
    square = _squared_distances(features, better, worse)
    apart = np.flatnonzero(square > 0.0)  # pairs of equal documents have a constant loss
    better, worse, square, cost = better[apart], worse[apart], square[apart], cost[apart]
    # With the squared hinge loss, the dual has a term alpha^2 / (4 C tau) instead of an upper bound on alpha.
    ridge = 0.5 / cost if loss == "l2" else np.zeros(len(apart))
    limit = np.full(len(apart), np.inf) if loss == "l2" else cost
    curve = square + ridge
    alpha = start[apart]
    w = _weights(features, better, worse, alpha)

    def sweep(visits: np.ndarray) -> None:
        _sweep_pairs(features, better, worse, visits, curve, ridge, limit, alpha, w)

    for _ in range(SWEEPS):
        sweep(rng.permutation(len(apart)))
        # The few alphas strictly between their bounds converge slowly. Additional sweeps over these alphas, which take
        # as long as one full sweep, reduce the time to a tenth for large C (simplified shrinking, Hsieh et al. 2008).
        inside = np.flatnonzero((alpha > 0.0) & (alpha < limit))
        for _ in range(min(len(apart) // max(len(inside), 1), 20)):
            sweep(rng.permutation(inside))
        scores = times_in_blocks(features, w)
        hinge = np.maximum(1.0 - (scores[better] - scores[worse]), 0.0)
        primal = 0.5 * (w @ w) + cost @ (hinge**2 if loss == "l2" else hinge)
        dual = alpha.sum() - 0.5 * (w @ w) - 0.5 * (ridge @ alpha**2)
        if primal - dual <= gap * primal:
            break
    out = start.copy()
    out[apart] = alpha
    return w, out


def weights_after_visits(
    features: np.ndarray,
    better: np.ndarray,
    worse: np.ndarray,
    C: float,
    visits: Sequence[int],
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Return the (d,) weights during the first sweep, once for each number of visited pairs in `visits`.

    The loss is the hinge loss with tau = 1. The sweep starts from w = 0 and visits each pair once, in random order.
    visits: ascending numbers of pairs; a number larger than the number of pairs means the complete sweep. The other
    arguments are those of `solve_dual`.
    """
    square = _squared_distances(features, better, worse)
    apart = rng.permutation(np.flatnonzero(square > 0.0))
    alpha, w, weights = np.zeros(len(square)), np.zeros(features.shape[1]), []
    ridge, limit = np.zeros(len(square)), np.full(len(square), C)
    for before, until in pairwise([0, *visits]):
        _sweep_pairs(features, better, worse, apart[before:until], square, ridge, limit, alpha, w)
        weights.append(w.copy())
    return weights


@compiled("f4[:,:], i4[:], i4[:]")
def _squared_distances(features, better, worse):
    out = np.zeros(len(better))
    for p in range(len(better)):
        for c in range(features.shape[1]):
            out[p] += (np.float64(features[better[p], c]) - features[worse[p], c]) ** 2
    return out


@compiled("f4[:,:], i4[:], i4[:], f8[:]")
def _weights(features, better, worse, alpha):
    """Return the (d,) weights w = sum_p alpha_p (x_better - x_worse)."""
    w = np.zeros(features.shape[1])
    for p in range(len(better)):
        if alpha[p] > 0.0:
            for c in range(len(w)):
                w[c] += alpha[p] * (np.float64(features[better[p], c]) - features[worse[p], c])
    return w


@compiled("f4[:,:], i4[:], i4[:], i8[:], f8[:], f8[:], f8[:], f8[:] out, f8[:] out")
def _sweep_pairs(features, better, worse, visits, curve, ridge, limit, alpha, w):
    """Minimise the dual objective over one variable at a time, in the order of `visits`. Updates alpha and w."""
    for p in visits:
        high, low = features[better[p]], features[worse[p]]
        slope = ridge[p] * alpha[p] - 1.0
        for c in range(len(w)):
            slope += w[c] * (np.float64(high[c]) - low[c])
        new = min(max(alpha[p] - slope / curve[p], 0.0), limit[p])
        change = new - alpha[p]
        if change != 0.0:
            alpha[p] = new
            for c in range(len(w)):
                w[c] += change * (np.float64(high[c]) - low[c])


WIDTHS = (0.1, 0.02, 0.005)  # in units of the score differences
OPTIONS = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-10, "gtol": 1e-8}  # of an objective that is 1 at w = 0


def solve_smoothed_hinge(
    features: np.ndarray, pairs: GradeGroups | WeightedPairs, C: float, start: np.ndarray, penalty: str = "l2"
) -> np.ndarray:
    """Return the (d,) weights of RankSVM with the hinge loss. The time per evaluation is O(n log n + L n + n d).

    features: (n, d) float64. start: (d,) initial weights, such as the solution for a smaller C. penalty: "l2" or "l1".
    """
    w = start
    for width in WIDTHS:
        w = _minimise(features, pairs, C, w, penalty, width)
    return w


def _minimise(
    features: np.ndarray, pairs: GradeGroups | WeightedPairs, C: float, start: np.ndarray, penalty: str, width: float
) -> np.ndarray:
    """Return the minimiser of the objective with the smoothed loss. start: (d,) initial weights."""
    from scipy.optimize import minimize

    scale = 1.0 / (C * smoothed_hinge(features, pairs, np.zeros_like(start), width)[0])

    def ridge(w: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = smoothed_hinge(features, pairs, w, width)
        return scale * (0.5 * float(w @ w) + C * loss), scale * (w + C * gradient)

    def lasso(parts: np.ndarray) -> tuple[float, np.ndarray]:
        positive, negative = np.split(parts, 2)
        loss, gradient = smoothed_hinge(features, pairs, positive - negative, width)
        slopes = np.concatenate([1.0 + C * gradient, 1.0 - C * gradient])
        return scale * (float(parts.sum()) + C * loss), scale * slopes

    if penalty == "l2":
        return minimize(ridge, start, jac=True, method="L-BFGS-B", options=OPTIONS).x
    parts = np.concatenate([np.maximum(start, 0.0), np.maximum(-start, 0.0)])
    bounds = [(0.0, None)] * len(parts)
    positive, negative = np.split(
        minimize(lasso, parts, jac=True, method="L-BFGS-B", bounds=bounds, options=OPTIONS).x, 2
    )
    return positive - negative


def smoothed_hinge(
    features: np.ndarray, pairs: GradeGroups | WeightedPairs, w: np.ndarray, width: float
) -> tuple[float, np.ndarray]:
    """Return the sum of tau times the smoothed hinge loss, and its (d,) gradient with respect to w."""
    scores = features @ w
    (outer, outer_slopes), (inner, inner_slopes) = (_squares(pairs, scores, margin) for margin in (1.0, 1.0 - width))
    return (outer - inner) / (2.0 * width), features.T @ (outer_slopes - inner_slopes) / (2.0 * width)


def _squares(pairs: GradeGroups | WeightedPairs, scores: np.ndarray, margin: float) -> tuple[float, np.ndarray]:
    """Return sum_p tau_p max(0, margin - o_p)^2, and its (n,) derivatives with respect to the scores.

    The margin of `violations` is 1, so the scores are divided by `margin`.
    """
    slopes, total = pairs.violations(scores / margin)(scores[:, None], margin)
    # With m_p = tau_p (o_p - margin), tau (margin - o)^2 is m o - margin m.
    return float(scores @ slopes[:, 0] - margin * total[0]), 2.0 * slopes[:, 0]
