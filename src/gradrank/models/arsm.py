"""ARSM-L2R (Dadaneh, Boluki, Zhou & Qian 2020): a net that is trained directly on a ranking measure.

For each document, the net returns the probabilities of several levels. In training, a level is drawn per document, and
documents are ranked by level. The measure need not be differentiable, because ARSM estimates the gradient of the
expected measure from the drawn levels. The defaults deviate from the paper to make the training more stable (see
ARSMParams).

The expected value of a ranking measure is that of documents that are ranked by level, the highest level first. The
documents of a level are in random order, and the expectation is over these orders.

The ARSM gradient of a ranking measure: augment, REINFORCE, swap, merge (Yin, Yue & Zhou 2019).

The level z in 0..C-1 of a document is drawn from softmax(phi) by a race between the C levels. With e ~ Exp(1)^C, the
vector pi = e / sum(e) has the distribution Dirichlet(1_C), and z = argmin_c(ln pi_c - phi_c). The value
ln pi_c - phi_c is called the race of level c; the smallest race wins. Documents are ranked by level, the highest first.
The measure need not be differentiable. If pi_c and pi_k are swapped in all documents of a query, the levels become
z^(c<->k). L_ck is the loss of these levels. The following expectation equals the gradient of the expected loss:

    dE[loss]/dphi_jc = E[ sum_k (L_ck - mean_m L_mk) (1/C - pi_jk) ].

The estimate is the sum for a single draw of pi, so it is unbiased.

The net has one hidden tanh layer, in NumPy. For a net of this size, NumPy is as fast as torch. Importing torch takes a
second.
"""

import re
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Self

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError
from gradrank.base.files import write_json
from gradrank.data.collection import Collection
from gradrank.data.order import rows_of
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.model_files import Content, read_content
from gradrank.training.nets.net_ranker import NetRanker
from gradrank.training.scoring_form import Combined, NetForm
from gradrank.training.search_space import Choice, LogUniform
from gradrank.training.selection import CRITERION
from gradrank.training.solvers.adam import glorot
from gradrank.training.training_queries import relative_weights, with_grades_to_order

if TYPE_CHECKING:
    from gradrank.training.nets.net import Net


class Measure(NamedTuple):
    """A ranking measure of the form scale * sum over ranks of discount * gain. Larger values are better.

    gain: (n,) float64 gains of the documents. scale: (q,) float64 factors of the queries. cumulated: float64 array in
    which element r is the sum of the discounts of the first r ranks; r runs up to the length of the longest query.
    cutoff: the discount is 0 after this rank. precision: if True, the measure is AP. Then the discount is 1 / rank, and
    the term of a rank is multiplied by the number of relevant documents down to this rank.
    """

    gain: np.ndarray
    scale: np.ndarray
    cumulated: np.ndarray
    cutoff: int
    precision: bool

    def of(self, rows: np.ndarray, queries: np.ndarray) -> "Measure":
        """Return the measure of a subset of the queries.

        rows: row numbers of the documents of these queries. queries: numbers of the queries.
        """
        return self._replace(gain=self.gain[rows], scale=self.scale[queries])


def measure_of(name: str, labels: np.ndarray, offsets: np.ndarray, discount: str = "letor4") -> Measure:
    """Return the measure `ndcg@K`, `p@K` or `ap` of a collection. Grades of 1 or more are relevant.

    For a query with n < K documents, `ndcg@K` is NDCG@n.

    labels: (n,) grades. offsets: (q+1,). discount: the discount of NDCG. `letor4` is 1 at rank 1 and 1 / log2(rank)
    from rank 2 on. `standard` is 1 / log2(1 + rank).

    Raises GradrankError if `name` is not one of these measures.
    """
    match = re.fullmatch(r"(ndcg|p)@([1-9]\d*)|ap", name)
    if match is None:
        raise GradrankError(f"measure {name!r}: unknown. Fix: use 'ndcg@K', 'p@K' or 'ap', as in 'ndcg@10'")
    rank = np.arange(1, np.diff(offsets).max() + 1)
    cutoff = len(rank) if name == "ap" else int(match[2])
    relevant = (labels > 0).astype(np.float64)
    if name == "ap":
        gain, weights = relevant, 1.0 / rank
        best = np.add.reduceat(relevant, offsets[:-1])
    elif match[1] == "p":
        gain, weights = relevant, (rank <= cutoff).astype(np.float64)
        best = np.full(len(offsets) - 1, float(cutoff))
    else:
        place = np.maximum(rank, 2) if discount == "letor4" else rank + 1
        gain, weights = 2.0**labels - 1.0, (rank <= cutoff) / np.log2(place)
        best = np.array([np.sort(gain[a:b])[::-1] @ weights[: b - a] for a, b in pairwise(offsets)])
    scale = np.divide(1.0, best, out=np.zeros(len(best)), where=best > 0)
    return Measure(gain, scale, np.r_[0.0, np.cumsum(weights)], cutoff, name == "ap")


@compiled()
def by_level(levels, gain, C):
    """Return the (C,) number of documents per level, and the (C,) sum of gains per level. levels, gain: (n,)."""
    documents, gains = np.zeros(C, np.int64), np.zeros(C)
    for j in range(len(levels)):
        documents[levels[j]] += 1
        gains[levels[j]] += gain[j]
    return documents, gains


@compiled()
def expected_value(documents, gains, measure):
    """Return the expected measure of a query, before multiplication by the scale.

    documents, gains: (C,), from `by_level`.
    """
    return sums_above(documents, gains, measure)[0][0]


@compiled()
def sums_above(documents, gains, measure):
    """Return three (C + 1,) arrays with sums over each level and all higher levels.

    The arrays are the sums of the contributions to the measure before multiplication by the scale, the sums of the
    numbers of documents, and the sums of the gains. The last element of each array, above the highest level, is 0.

    documents, gains: (C,), from `by_level`.
    """
    C = len(documents)
    value, above, gain_above = np.zeros(C + 1), np.zeros(C + 1, np.int64), np.zeros(C + 1)
    for level in range(C - 1, -1, -1):
        n, gain, before, gain_before = documents[level], gains[level], above[level + 1], gain_above[level + 1]
        value[level] = value[level + 1] + term(n, gain, before, gain_before, measure)
        above[level], gain_above[level] = before + n, gain_before + gain
    return value, above, gain_above


@compiled()
def changed_values(highest, documents, gains, sums, measure):
    """Return the (m,) expected measures of a query after each of m changes of levels.

    The measures are not yet multiplied by the scale.

    highest: (m,) the highest level that each change affects, or -1 if the change affects no level. Higher levels
    contribute as before. documents, gains: (m, C) numbers of documents and sums of gains per level after each change.
    sums: the result of `sums_above` before the changes.
    """
    value, above, gain_above = sums
    values = np.full(len(highest), value[0])
    for i in range(len(highest)):
        top = highest[i] + 1
        if top > 0 and above[top] < measure.cutoff:
            total, so_far, gain_so_far = value[top], above[top], gain_above[top]
            for level in range(highest[i], -1, -1):
                n, gain = documents[i, level], gains[i, level]
                total += term(n, gain, so_far, gain_so_far, measure)
                so_far += n
                gain_so_far += gain
                if so_far >= measure.cutoff:
                    break
            values[i] = total
    return values


@compiled()
def term(n, gain, above, gain_above, measure):
    """Return the contribution of one level to the measure of a query, before multiplication by the scale.

    The n documents of the level have the ranks a+1 to a+n. At each of these ranks, the expected gain is G / n. For AP,
    if the document at rank a+i is relevant, the expected number of relevant documents down to this rank is
    G_above + 1 + (i - 1)(G - 1)/(n - 1) (McSherry & Najork 2008).

    n: number of documents of the level. gain: G, the sum of the gains of these documents. above: a, the number of
    documents of all higher levels. gain_above: G_above, the sum of the gains of the documents of all higher levels.
    """
    if gain <= 0.0:
        return 0.0
    weight = measure.cumulated[above + n] - measure.cumulated[above]
    if measure.precision:
        spread = (gain - 1.0) / (n - 1.0) if n > 1 else 0.0
        weight = (gain_above + 1.0) * weight + spread * (n - (above + 1.0) * weight)
    return gain / n * weight


def arsm_gradient(
    phi: np.ndarray, races: np.ndarray, offsets: np.ndarray, measure: Measure
) -> tuple[float, np.ndarray]:
    """Return the loss of the drawn levels, and an unbiased (n, C) estimate of the gradient of the expected loss.

    The loss is the negative measure, summed over queries. The gradient is with respect to phi.

    phi: (n, C) logits. races: (n, C) draws from Exp(1), called e above. offsets: (q+1,).
    """
    pi = races / races.sum(axis=1, keepdims=True)
    return _gradient(phi, np.log(pi), pi, offsets, *measure)


def entropy_gradient(phi: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the (n, C) gradient of the negative entropy of softmax(phi) with respect to phi.

    The entropy is averaged over the documents of each query and summed over queries. If this gradient, times a weight,
    is added to the gradient of the loss, documents do not concentrate on a few levels too early (Williams & Peng 1991).

    phi: (n, C) logits. offsets: (q+1,).
    """
    log_p = phi - phi.max(axis=1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
    p = np.exp(log_p)
    entropy = -(p * log_p).sum(axis=1, keepdims=True)
    sizes = np.diff(offsets)
    return p * (log_p + entropy) / np.repeat(sizes, sizes)[:, None]


@compiled("f8[:,:], f8[:,:], f8[:,:], i8[:], f8[:], f8[:], f8[:], i8, b1")
def _gradient(phi, log_pi, pi, offsets, gain, scale, cumulated, cutoff, precision):
    measure = Measure(gain, scale, cumulated, cutoff, precision)
    n, C = phi.shape
    loss, gradient = 0.0, np.zeros((n, C))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        swapped = swapped_values(phi[a:b], log_pi[a:b], gain[a:b], measure)
        swapped *= -scale[q]
        loss += swapped[0, 0]
        for k in range(C):
            swapped[k] -= np.mean(swapped[k])  # row k is L_ck for all c, because L is symmetric
        for j in range(a, b):
            for k in range(C):
                weight = 1.0 / C - pi[j, k]
                for c in range(C):
                    gradient[j, c] += swapped[k, c] * weight
    return loss, gradient


@compiled("f8[:,:], f8[:,:], f8[:], f8[:], f8[:], i8, b1")
def values_of_swaps(phi, log_pi, gain, scale, cumulated, cutoff, precision):
    """Return the result of `swapped_values` for one query. This function can be called from Python.

    gain, scale, cumulated, cutoff, precision: the fields of a Measure.
    """
    return swapped_values(phi, log_pi, gain, Measure(gain, scale, cumulated, cutoff, precision))


@compiled()
def swapped_values(phi, log_pi, gain, measure):
    """Return the symmetric (C, C) matrix of the measures of one query after each swap.

    Element (c, k) is the measure of the levels z^(c<->k), not yet multiplied by the scale. On the diagonal it is the
    measure of the drawn levels z. The histogram of the drawn levels is computed only once. For each swap, the histogram
    is updated for the documents whose level changes, about one document in eight. Only the levels up to the highest
    changed level are then evaluated again.

    phi, log_pi: (n, C). gain: (n,).
    """
    n, C = phi.shape
    winners, races, least, most = draw(phi, log_pi)
    documents, gains = by_level(winners[:, 0], gain, C)
    sums = sums_above(documents, gains, measure)
    values = np.full((C, C), sums[0][0])
    moved, moved_gains, highest = np.empty((C, C), np.int64), np.empty((C, C)), np.empty(C, np.int64)
    for c in range(C):
        highest[:] = -1
        for j in range(n):
            before, bar = winners[j, 0], races[j, 0]
            # A swap that includes the winning level can change the level of the document. Other swaps change it only if
            # the race of c or of k becomes smaller than the winning race. For most documents, the bounds `least` and
            # `most` show that this happens for no swap of c.
            first, last = c + 1, C
            if before != c and least[j] - phi[j, c] >= bar and log_pi[j, c] - most[j] >= bar:
                first, last = max(first, before), before + 1
            for k in range(first, last):
                at_c, at_k = log_pi[j, k] - phi[j, c], log_pi[j, c] - phi[j, k]
                if c == before or k == before or at_c < bar or at_k < bar:
                    level = level_after_swap(c, k, at_c, at_k, winners[j], races[j])
                    if highest[k] < 0:
                        for each in range(C):
                            moved[k, each], moved_gains[k, each] = documents[each], gains[each]
                    highest[k] = max(highest[k], before, level)
                    moved[k, before] -= 1
                    moved[k, level] += 1
                    moved_gains[k, before] -= gain[j]
                    moved_gains[k, level] += gain[j]
        rest = slice(c + 1, C)
        values[c, rest] = changed_values(highest[rest], moved[rest], moved_gains[rest], sums, measure)
        values[rest, c] = values[c, rest]
    return values


@compiled()
def draw(phi, log_pi):
    """Return four arrays that determine how the level of each document changes after a swap.

    winners: (n, 3) the levels of the three smallest races, in ascending order of the races. races: (n, 3) these races.
    least: (n,) the smallest ln pi of the levels that did not win. most: (n,) the largest phi of the levels that did not
    win. If there are only two levels, the third level is -1 and its race is infinite.

    The arguments phi and log_pi are (n, C).
    """
    n, C = phi.shape
    winners, races = np.empty((n, 3), np.int64), np.empty((n, 3))
    least, most = np.empty(n), np.empty(n)
    for j in range(n):
        first, second, third = -1, -1, -1
        best, better, good = np.inf, np.inf, np.inf
        for c in range(C):
            race = log_pi[j, c] - phi[j, c]
            if race < best:
                third, second, first = second, first, c
                good, better, best = better, best, race
            elif race < better:
                third, second = second, c
                good, better = better, race
            elif race < good:
                third, good = c, race
        winners[j, 0], winners[j, 1], winners[j, 2] = first, second, third
        races[j, 0], races[j, 1], races[j, 2] = best, better, good
        low, high = np.inf, -np.inf
        for c in range(C):
            if c != first:
                low, high = min(low, log_pi[j, c]), max(high, phi[j, c])
        least[j], most[j] = low, high
    return winners, races, least, most


@compiled()
def level_after_swap(c, k, at_c, at_k, winners, races):
    """Return the level of a document after pi_c and pi_k are swapped.

    The level is c, k, or the level with the smallest race among the other levels.

    at_c, at_k: the races of c and k after the swap. winners, races: (3,) from `draw`, before the swap.
    """
    rest = 0
    if c == winners[0] or k == winners[0]:
        rest = 2 if c + k - winners[0] == winners[1] else 1
    level, least = winners[rest], races[rest]
    if at_c < least:
        level, least = c, at_c
    if at_k < least:
        level = k
    return level


class TanhNet:
    """The net tanh(x W1 + b1) W2 + b2. `parameters` is [W1, b1, W2, b2] in float32. The biases are initially zero."""

    def __init__(self, inputs: int, hidden: int, outputs: int, rng: np.random.Generator) -> None:
        w1, w2 = glorot(inputs, hidden, rng), glorot(hidden, outputs, rng)
        self.parameters = [w1, np.zeros(hidden, np.float32), w2, np.zeros(outputs, np.float32)]

    def forward(self, x: np.ndarray) -> np.ndarray:
        """Return the (n, outputs) outputs of the net, and store `x` and the hidden layer for `backward`.

        x: (n, inputs) float32.
        """
        w1, b1, w2, b2 = self.parameters
        self.x, self.hidden = x, x @ w1
        self.hidden += b1
        np.tanh(self.hidden, out=self.hidden)
        return self.hidden @ w2 + b2

    def backward(self, gradient: np.ndarray) -> list[np.ndarray]:
        """Return the gradient of the loss with respect to each of `parameters`, in the same order.

        This method can be called only once per call of `forward`, because it overwrites the hidden layer.

        gradient: (n, outputs) float32, the gradient of the loss with respect to the outputs of the last `forward`.
        """
        outer = self.hidden.T @ gradient
        # The operations are in place, because allocating arrays of this size takes longer than the computation.
        slope = np.square(self.hidden, out=self.hidden)
        np.subtract(1.0, slope, out=slope)
        inner = gradient @ self.parameters[2].T
        inner *= slope
        return [self.x.T @ inner, inner.sum(axis=0), outer, gradient.sum(axis=0)]


ROWS = 512  # documents per block of scoring, so that the outputs of 500 hidden units fit into the CPU cache


Combination = Literal["level", "square", "upper_half", "likeliest"]


class ScoringContent(Content):
    combination: Combination


class ARSMParams(ModelParams):
    """The parameters of ARSM-L2R. With the defaults, the training is more stable than with the settings of the paper.

    The settings that the paper states are `learning_rate: 0.0001, discount: standard, entropy: 0, draws: 1,
    averaged: 0, least_steps: 1, epochs: 2000, patience: 2000`. These settings are the variant `arsm_paper` of the study
    `arsm` in params.yaml.
    """

    levels: int = param(20, "C (the paper, experiments)", ge=2, le=255)
    hidden: int = param(500, "tanh units of the hidden layer (the paper, experiments)", ge=1)
    loss: str = param(
        "ndcg@10",
        "the measure that is maximised: ndcg@K, p@K or ap; the paper allows any",
        pattern=r"^(ap|(ndcg|p)@[1-9]\d*)$",
    )
    discount: Literal["letor4", "standard"] = param(
        "letor4",
        "discount of the maximised NDCG: 1 / log2 r from rank 2 on, as in LETOR's evaluation; standard: "
        "1 / log2(1 + r) (the paper)",
    )
    entropy: float = param(
        0.3,
        "weight of the mean entropy of the level of a document, added to the measure (Williams & Peng 1991). Without "
        "it (the paper), six of ten irrelevant documents have the same level and most levels are unused. Best mean "
        "validation MAP on MQ2007's folds 1 and 3 of 0 to 1.5, nearly equal above .1",
        ge=0,
    )
    draws: int = param(
        3,
        "draws of the levels per step, whose gradients are averaged (the paper: 1): less noise for a third more time",
        ge=1,
    )
    combination: Combination = param(
        "level",
        "score from the probabilities p_c of the levels: the expected level, sum c p_c (the paper); sum c^2 p_c; the "
        "probability of the upper half of the levels; or the most likely level",
    )
    learning_rate: float = param(1e-3, "Kingma & Ba 2015, section 2: Adam's default (the paper: 1e-4)", gt=0)
    averaged: float = param(
        8.0,
        "epochs over which the weights of the scoring net are averaged; 0: weights of the last step (the paper)",
        ge=0,
    )
    batch_queries: int = param(50, "queries per step", ge=1)
    least_steps: int = param(
        10,
        "smallest number of steps per epoch; an epoch makes several passes over a small collection (the paper: one "
        "pass). Mean validation NDCG@10 of OHSUMED, whose pass has 2 steps, rises for 300 passes",
        ge=1,
    )
    epochs: int = param(60, "largest number of epochs; the best on validation is kept (the paper: 2000)", ge=1)
    patience: int = param(
        30, "training ends after this many epochs without a better one (the paper: no such rule)", ge=1
    )
    select_by: str = param("ndcg@10", "validation measure that selects the epoch", pattern=CRITERION)


@register("arsm")
class ARSM(NetRanker[ARSMParams]):
    """A ranker whose score is the expected level, sum_c c p_c, where p = softmax(phi(x)) over the levels c = 1..C.

    The parameter `combination` can select a different score.
    """

    Params = ARSMParams
    uses_weights = "queries"
    summary = "ARSM-L2R: a tanh net trained on NDCG itself by the ARSM gradient (Dadaneh et al. 2020)"
    space: ClassVar = {
        "learning_rate": LogUniform(1e-4, 1e-2, "from the paper's to ten times Adam's default"),
        "entropy": Choice(
            (0.0, 0.1, 0.3, 1.0), "none, as in the paper, to the largest weight that leaves the measure dominant"
        ),
        "levels": Choice(
            (5, 10, 20, 40), "around the paper's 20; according to the paper, more levels than grades help"
        ),
        "hidden": Choice((100, 500), "the paper's 500, and a fifth of it"),
        "combination": Choice(("level", "square", "upper_half"), "the paper's score, and others from the same p_c"),
    }
    # The settings of the paper, except for its 2,000 epochs, because no other method has such a budget.
    published: ClassVar = {
        "learning_rate": 1e-4,
        "discount": "standard",
        "entropy": 0.0,
        "draws": 1,
        "averaged": 0.0,
        "least_steps": 1,
        "epochs": 300,
    }

    def __init__(self, net: "Net", combination: str = "level") -> None:
        """Create a ranker from a net whose C outputs are phi. combination: as in ARSMParams."""
        super().__init__(net)
        self.combination = combination

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: ARSMParams, seed: int, callback: Callback) -> Self:
        """Train the net and return the model of the best epoch.

        Raises GradrankError if no query has two different grades or if the training diverges.
        """
        from threadpoolctl import threadpool_limits

        train = with_grades_to_order(train, cls.name)
        with threadpool_limits(1, "blas"):  # with more threads, sums would be computed in a different order
            epochs = cls._epochs(train, params, seed)
            return best_of(epochs, vali, params.select_by, callback, params.patience).kept

    @classmethod
    def _epochs(cls, train: Collection, params: ARSMParams, seed: int) -> Iterator[Candidate]:
        """Yield one candidate per epoch. Its loss is the mean over queries of the loss of the drawn levels.

        The gradient of a query is multiplied by the relative weight of the query. The reported loss is not weighted.
        """
        from gradrank.training.nets.net import Net, standardisation, standardised
        from gradrank.training.solvers.adam import Adam, Average

        mean, scale = standardisation(train.features, train.weights)
        weights = relative_weights(train)
        features = standardised(train.features, mean, scale)
        measure = measure_of(params.loss, train.labels, train.offsets, params.discount)
        rng = np.random.default_rng(seed)
        net = TanhNet(features.shape[1], params.hidden, params.levels, rng)
        adam = Adam(net.parameters, params.learning_rate)
        steps = -(-train.queries // params.batch_queries)
        passes = -(-params.least_steps // steps)
        average = Average(net.parameters, max(1.0, params.averaged * passes * steps))
        for epoch in range(1, params.epochs + 1):
            loss = 0.0
            orders = (rng.permutation(train.queries) for _ in range(passes))
            for batch in chain.from_iterable(np.array_split(order, steps) for order in orders):
                rows, offsets = rows_of(batch, train.offsets)
                phi = net.forward(features[rows])
                gradient = params.entropy * entropy_gradient(phi, offsets)
                for _ in range(params.draws):
                    races = rng.standard_exponential(phi.shape)
                    drawn_loss, drawn = arsm_gradient(phi, races, offsets, measure.of(rows, batch))
                    gradient += drawn / params.draws
                    loss += drawn_loss / params.draws
                if weights is not None:
                    gradient *= np.repeat(weights[batch], np.diff(offsets))[:, None]
                adam.step(net.backward((gradient / len(batch)).astype(np.float32)))
                average.step()
            parameters = [p.copy() for p in average.means]
            if not all(np.isfinite(p).all() for p in parameters):
                raise GradrankError(
                    f"{cls.name}: training diverged in epoch {epoch}, weights are not finite. Fix: lower "
                    f"learning_rate, now {params.learning_rate:g}"
                )
            trained = Net.of_layers(parameters[::2], parameters[1::2], mean, scale, "tanh")
            yield Candidate(cls(trained, params.combination), loss / (passes * train.queries))

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        blocks = range(0, max(len(features), 1), ROWS)  # the score of a document does not depend on other documents
        return np.concatenate([self._combined(features[start : start + ROWS]) for start in blocks])

    def _combined(self, features: np.ndarray) -> np.ndarray:
        """Return the (n,) scores that `combination` computes from the probabilities of the levels."""
        phi = self.net.outputs(features).astype(np.float64)
        if self.combination == "likeliest":
            return phi.argmax(axis=1) + 1.0
        p = np.exp(phi - phi.max(axis=1, keepdims=True))
        return (p * self._worth(phi.shape[1])).sum(axis=1) / p.sum(axis=1)

    def _worth(self, levels: int) -> np.ndarray:
        """Return the (C,) factors with which `combination` multiplies the probabilities of the levels."""
        level = np.arange(1, levels + 1)
        return {"level": level, "square": level**2, "upper_half": level > levels / 2}[self.combination]

    def scoring_form(self, features: int) -> Combined:
        form = NetForm(self.net)
        if self.combination == "likeliest":
            return Combined((form,), np.arange(1.0, form.outputs + 1), "argmax")
        return Combined((form,), self._worth(form.outputs).astype(np.float64), "softmax")

    def save(self, folder: Path) -> None:
        super().save(folder)
        write_json(folder / "scoring.json", {"combination": self.combination})

    @classmethod
    def load(cls, folder: Path) -> Self:
        from gradrank.training.nets.net_files import load_net

        stored = read_content(folder / "scoring.json", ScoringContent)
        return cls(load_net(folder / "net.safetensors"), stored.combination)
