"""The RankNet of a term report: a net with 64 and 32 ReLU units, trained by Adam on pairs of documents.

The report does not state the input of the net. With `reading: difference`, the input is x_i - x_j, and the output g
gives the probability p_ij = sigmoid(g(x_i - x_j)). Such a net is not antisymmetric, so each pair is scored in both
directions. P_ij = (p_ij + 1 - p_ji) / 2 then satisfies P_ij + P_ji = 1. With `reading: siamese`,
P_ij = sigmoid(f(x_i) - f(x_j)), as in Burges et al. 2005. With `reading: pointwise`, the net is trained on single
documents: sigmoid(f(x)) is the probability that the document is relevant, and documents are sorted by f.

The target of a pair is 1 if its first document is the better one, otherwise 0. With `targets: half_one`, the target of
the second case is 1/2. This is the report's (1 + S) / 2, where S is 1 if the first document is more relevant, otherwise
0.

With `scoring: row_sums`, as in the report, the score of document i of a query is the sum over j of P_ij. This score
depends on all documents of the query. With `scoring: plain`, the score depends only on the document. For a siamese net,
this score is f(x). For a difference net, this score is (g(x) - g(-x)) / 2 on standardised x: the logit of the pair of
the document and the mean document, averaged over both directions. For the other readings, both settings give the same
ranking.

The net is trained by binary cross-entropy and Adam in NumPy. A training step consists of a few small matrix products.
With torch, a step takes three times as long, and importing torch takes a second.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import PositiveInt

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError
from gradrank.base.files import write_json
from gradrank.data.collection import Collection
from gradrank.data.pairs import Pairs
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.model_files import Content, damaged, read_content
from gradrank.training.nets.net_ranker import NetRanker
from gradrank.training.scoring_form import Combined, NetForm, NoScoringForm, ScoringForm
from gradrank.training.search_space import Choice, Dimension, LogUniform
from gradrank.training.selection import CRITERION
from gradrank.training.solvers.adam import Adam, glorot
from gradrank.training.training_queries import weighted_pairs, with_pairs_to_order

if TYPE_CHECKING:
    from gradrank.training.nets.net import Net


class Examples(NamedTuple):
    """Training examples: pairs of documents, or single documents.

    first: (b,) row numbers. second: (b,) row numbers of the other documents; None if the examples are single documents.
    target: (b,) probabilities that the first document is better, or that the single document is relevant. weight: (b,)
    factors of the cross-entropy; None if all are 1.
    """

    first: np.ndarray
    second: np.ndarray | None
    target: np.ndarray
    weight: np.ndarray | None

    def select(self, rows: slice) -> "Examples":
        """Return some of the examples."""
        second, weight = (None if values is None else values[rows] for values in (self.second, self.weight))
        return Examples(self.first[rows], second, self.target[rows], weight)


class PairNet:
    """A net with ReLU between its layers. All weights and biases are views of one float32 vector.

    The logit of a pair is f(x_i) - f(x_j) if `siamese` is True, otherwise g(x_i - x_j). The logit of a single document
    is f(x).
    """

    def __init__(self, widths: list[int], siamese: bool, rng: np.random.Generator) -> None:
        """Create a net with random weights.

        widths: the number of inputs, the number of units of each hidden layer, and 1. rng: source of the weights.
        """
        self.siamese = siamese
        shapes = list(pairwise(widths))
        size = sum((inputs + 1) * outputs for inputs, outputs in shapes)
        self.vector, self.slope, self.is_weight = (np.zeros(size, np.float32) for _ in range(3))
        self.weights, self.biases = _views(self.vector, shapes)
        self.weight_slopes, self.bias_slopes = _views(self.slope, shapes)
        for marked, weights in zip(_views(self.is_weight, shapes)[0], self.weights, strict=True):
            inputs, outputs = weights.shape
            weights[:] = glorot(inputs, outputs, rng)  # the default of Keras
            marked[:] = 1.0

    @np.errstate(over="ignore", invalid="ignore")  # the caller checks that scores are finite
    def differentiate(self, features: np.ndarray, examples: Examples) -> float:
        """Return the sum of the cross-entropy over b examples, and write the gradient of its mean to `slope`.

        features: (n, d) float32 standardised features.
        """
        target, weight = examples.target, examples.weight
        x = features[examples.first]
        is_siamese = self.siamese and examples.second is not None
        if examples.second is not None:
            second = features[examples.second]
            x = np.concatenate([x, second]) if self.siamese else x - second
        inputs = [x]
        for weights, biases in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = np.maximum(x @ weights + biases, 0.0)
            inputs.append(x)
        logit = (x @ self.weights[-1] + self.biases[-1])[:, 0]
        if is_siamese:
            logit = logit[: len(target)] - logit[len(target) :]
        cost = np.logaddexp(0.0, logit) - target * logit
        slope = (np.exp(-np.logaddexp(0.0, -logit)) - target) / len(target)
        if weight is not None:
            cost, slope = weight * cost, weight * slope
        delta = slope.astype(np.float32)[:, None]
        if is_siamese:
            delta = np.concatenate([delta, -delta])
        for layer in range(len(inputs) - 1, -1, -1):
            np.matmul(inputs[layer].T, delta, out=self.weight_slopes[layer])
            delta.sum(axis=0, out=self.bias_slopes[layer])
            if layer:
                delta = (delta @ self.weights[layer].T) * (inputs[layer] > 0.0)
        return float(cost.sum())


def _views(vector: np.ndarray, shapes: list[tuple[int, int]]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the weights of each layer and the biases of each layer, as views of one vector.

    shapes: the numbers of inputs and outputs of each layer. The weights of a layer are (inputs, outputs), and its
    biases are (outputs,).
    """
    weights, biases, start = [], [], 0
    for inputs, outputs in shapes:
        middle, end = start + inputs * outputs, start + (inputs + 1) * outputs
        weights.append(vector[start:middle].reshape(inputs, outputs))
        biases.append(vector[middle:end])
        start = end
    return weights, biases


def draw_pairs(pairs: Pairs, most: int, targets: str, rng: np.random.Generator) -> Examples:
    """Return the pairs of one epoch: `most` pairs without replacement, or all pairs if there are fewer.

    For each pair, the order of the two documents is random. If the better document is first, the probability that the
    first document is better is that of the pair, by default 1. Otherwise it is 1 minus this probability. targets:
    `zero_one` if this probability P is the target, or `half_one` if the target is (1 + P) / 2.
    """
    size = min(most, len(pairs))
    drawn = rng.choice(len(pairs), size, replace=False)
    target = as_is = rng.integers(0, 2, size)
    ahead = np.where(as_is, pairs.better[drawn], pairs.worse[drawn])
    behind = np.where(as_is, pairs.worse[drawn], pairs.better[drawn])
    if pairs.target is not None:
        target = np.where(as_is, pairs.target[drawn], 1.0 - pairs.target[drawn])
    if targets == "half_one":
        target = (1.0 + target) / 2.0
    return Examples(ahead, behind, target, None if pairs.weight is None else pairs.weight[drawn])


def draw_documents(relevant: np.ndarray, weights: np.ndarray | None, most: int, rng: np.random.Generator) -> Examples:
    """Return the documents of one epoch: `most` documents without replacement, or all documents if there are fewer.

    relevant: (n,) targets, 1 for a relevant document and 0 for another one. weights: (n,) factors of the cross-entropy;
    None if all are 1.
    """
    drawn = rng.choice(len(relevant), min(most, len(relevant)), replace=False)
    return Examples(drawn, None, relevant[drawn], None if weights is None else weights[drawn])


def train_epochs(
    net: PairNet, x: np.ndarray, draw: Callable[[], Examples], batch: int, learning_rate: float, l2: float
) -> Iterator[float]:
    """Train `net` for as many epochs as the caller requests, and yield the mean cross-entropy of each epoch.

    The mean does not include the penalty. x: (n, d) float32 standardised features. draw: returns the examples of an
    epoch. batch: number of examples per step. l2: factor of the penalty l2 |W|^2 on the weights. The biases are not
    penalised.
    """
    adam = Adam([net.vector], learning_rate)
    penalty = np.float32(2.0 * l2) * net.is_weight
    while True:
        examples = draw()
        size, cost = len(examples.target), 0.0
        for start in range(0, size, batch):
            cost += net.differentiate(x, examples.select(slice(start, start + batch)))
            adam.step([net.slope + penalty * net.vector])
        yield cost / size


def difference_row_sums(
    h: np.ndarray, weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], offsets: np.ndarray
) -> np.ndarray:
    """Return, for each document i, the sum of P_ij over all documents j of its query, including j = i.

    P_ij = (p_ij + 1 - p_ji) / 2, where p_ij = sigmoid(g(x_i - x_j)). The result is (n,) float64. The first layer of the
    net is linear in the difference, so the product of its weights with a document is computed only once. The memory is
    O(n) for queries of any size.

    h: (n, k) float32, the products x W of the features with the weights of the first layer. weights: the float32
    weights of each further layer, (inputs, outputs). biases: the float32 biases of every layer. offsets: (q+1,).
    """
    widths = np.array([len(bias) for bias in biases])
    further = np.concatenate([np.empty(0, np.float32), *(weight.ravel() for weight in weights)])
    return _difference_row_sums(h, further, np.concatenate(biases), widths, offsets)


@compiled("f4[:,:], f4[:], f4[:], i8[:], i8[:]")
def _difference_row_sums(h, weights, biases, widths, offsets):
    """Return the result of `difference_row_sums`, computed from concatenated arrays.

    weights: the concatenated weights of all layers except the first. biases: the concatenated biases of all layers.
    widths: (layers,) number of outputs of each layer.
    """
    sums = np.empty(len(h))
    widest = widths.max()
    x, below = np.empty(widest, h.dtype), np.empty(widest, h.dtype)
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        row, column = np.zeros(b - a), np.zeros(b - a)
        for i in range(a, b):
            for j in range(a, b):
                for k in range(h.shape[1]):
                    x[k] = h[i, k] - h[j, k] + biases[k]
                first, bias = 0, widths[0]  # where the weights and the biases of the layer start
                for layer in range(1, len(widths)):
                    inputs, outputs = widths[layer - 1], widths[layer]
                    x, below = below, x
                    x[:outputs] = biases[bias : bias + outputs]
                    for k in range(inputs):
                        if below[k] > 0.0:
                            factors = weights[first + k * outputs : first + (k + 1) * outputs]
                            for m in range(outputs):
                                x[m] += below[k] * factors[m]
                    first, bias = first + inputs * outputs, bias + outputs
                p = _sigmoid(x[0])
                row[i - a] += p
                column[j - a] += p
        sums[a:b] = (row - column + (b - a)) / 2.0
    return sums


@compiled("f8[:], i8[:]")
def siamese_row_sums(scores, offsets):
    """Return, for each document i, the sum of sigmoid(f(x_i) - f(x_j)) over all documents j of its query.

    The sum includes j = i. The result is (n,) float64.

    scores: (n,) f(x). offsets: (q+1,).
    """
    sums = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(offsets[q], offsets[q + 1]):
                sums[i] += _sigmoid(scores[i] - scores[j])
    return sums


@compiled()
def _sigmoid(x):
    e = np.exp(-abs(float(x)))
    return (1.0 if x >= 0.0 else e) / (1.0 + e)


SPACE: dict[str, Dimension] = {
    "learning_rate": LogUniform(1e-4, 1e-2, "a decade on either side of Adam's default"),
    "hidden": Choice(
        ((32, 16), (64, 32), (128, 64)), "layers half as wide as in the report, as wide, and twice as wide"
    ),
    "scoring": Choice(("row_sums", "plain"), "the report's form, and the output of the net"),
}


Reading = Literal["difference", "siamese", "pointwise"]
Scoring = Literal["row_sums", "plain"]


class ScoringContent(Content):
    reading: Reading
    scoring: Scoring


class RankNetReportParams(ModelParams):
    hidden: tuple[PositiveInt, ...] = param((64, 32), "ReLU units per hidden layer (the report)", min_length=1)
    reading: Reading = param(
        "difference",
        "the report trains on pair differences; siamese: Burges et al. 2005; pointwise: single documents, with the "
        "probability that the document is relevant",
    )
    targets: Literal["zero_one", "half_one"] = param(
        "zero_one",
        "target of a pair whose first document is better: 1, and of one whose first document is worse: 0, as in Burges "
        "et al. 2005; half_one: 1 and 1/2, the report's (1 + S) / 2 for S of 1 and 0",
    )
    scoring: Scoring = param(
        "row_sums", "the report sums the rows of the matrix of pair probabilities; plain: the output of the net"
    )
    epochs: int = param(10, "the report", ge=1)
    batch_pairs: int = param(32, "the report", ge=1)
    pairs_per_epoch: int = param(
        50_000,
        "a random sample per epoch, to save time; the report does not state one. An epoch of all 300,000 pairs of "
        "an MQ2007 fold takes six times as long. For `reading: pointwise`, the number of documents per epoch",
        ge=1,
    )
    learning_rate: float = param(1e-3, "Kingma & Ba 2015, section 2: Adam's default", gt=0)
    l2: float = param(0.0, "the report, without L2", ge=0)
    select_by: str = param("map", "LETOR's protocol: the epoch by the validation part's MAP", pattern=CRITERION)


class RankNetReportL2Params(RankNetReportParams):
    l2: float = param(0.01, "the report, with L2; penalty l2 |W|^2 on the weights, as in Keras", ge=0)


@register("ranknet_report")
class RankNetReport(NetRanker[RankNetReportParams]):
    reads_labels = "order"
    Params = RankNetReportParams
    summary = "RankNet (Burges et al. 2005) of the term report: 64-32 ReLU net on pair differences, sorted by row sums"
    needs_pairs = True
    uses_weights = "queries"
    space: ClassVar = SPACE

    def __init__(self, net: "Net", reading: str, scoring: str = "row_sums") -> None:
        """Create a ranker from a trained net. reading, scoring: as in RankNetReportParams."""
        super().__init__(net)
        self.reading, self.scoring = reading, scoring

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: RankNetReportParams, seed: int, callback: Callback
    ) -> Self:
        if params.reading != "pointwise":
            train = with_pairs_to_order(train, cls.name)
        epochs = cls._epochs(train, vali, params, seed)
        return best_of(epochs, vali, params.select_by, callback).kept

    @classmethod
    def _epochs(
        cls, train: Collection, vali: Collection, params: RankNetReportParams, seed: int
    ) -> Iterator[Candidate]:
        from gradrank.training.nets.net import Net, standardisation, standardised

        mean, scale = standardisation(train.features, train.weights)
        rng = np.random.default_rng(seed)
        net = PairNet([train.features.shape[1], *params.hidden, 1], params.reading == "siamese", rng)
        if params.reading == "pointwise":
            relevant = (train.labels > 0).astype(np.float64)
            draw = partial(draw_documents, relevant, train.weights, params.pairs_per_epoch, rng)
        else:
            draw = partial(draw_pairs, weighted_pairs(train), params.pairs_per_epoch, params.targets, rng)
        x = standardised(train.features, mean, scale)
        losses = train_epochs(net, x, draw, params.batch_pairs, params.learning_rate, params.l2)
        for epoch, loss in zip(range(1, params.epochs + 1), losses, strict=False):
            weights, biases = ([layer.copy() for layer in layers] for layers in (net.weights, net.biases))
            model = cls(Net.of_layers(weights, biases, mean, scale), params.reading, params.scoring)
            scores = model.score(vali.features, vali.offsets)
            if not (np.isfinite(scores).all() and np.isfinite(loss)):
                raise GradrankError(
                    f"{cls.name}: training diverged in epoch {epoch}, scores are not finite. Fix: lower "
                    f"learning_rate, now {params.learning_rate:g}, or l2, now {params.l2:g}"
                )
            yield Candidate(model, loss, scores)

    @property
    def scores_whole_queries(self) -> bool:
        return self.scoring == "row_sums"

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        from gradrank.training.nets.layer_functions import affine
        from gradrank.training.nets.net import standardised

        net = self.net
        if self.reading != "difference":
            scores = net.scores(features)
            return scores if self.scoring == "plain" else siamese_row_sums(scores, offsets)
        if self.scoring == "plain":
            return (net.scores(features) - replace(net, scale=-net.scale).scores(features)) / 2.0
        assert net.layers is not None
        (first, *further), biases, _ = zip(*net.layers, strict=True)
        h = affine(standardised(features, net.mean, net.scale), first, np.zeros_like(biases[0]))
        return difference_row_sums(h, tuple(further), biases, offsets)

    def scoring_form(self, features: int) -> ScoringForm:
        if self.scoring == "row_sums":
            raise NoScoringForm("its scores are sums over the pairs of a document with all documents of the query")
        form = super().scoring_form(features)
        if self.reading != "difference":
            return form
        assert isinstance(form, NetForm)
        mirrored = NetForm(replace(form.net, scale=-form.net.scale))  # g(-x)
        return Combined((form, mirrored), np.array([0.5, -0.5]))

    def save(self, folder: Path) -> None:
        super().save(folder)
        write_json(folder / "scoring.json", {"reading": self.reading, "scoring": self.scoring})

    @classmethod
    def load(cls, folder: Path) -> Self:
        from gradrank.training.nets.net_files import load_net

        stored, path = read_content(folder / "scoring.json", ScoringContent), folder / "net.safetensors"
        net = load_net(path)
        if net.layers is None:
            raise damaged(path, "expected a net of layers, found other steps")
        return cls(net, stored.reading, stored.scoring)


@register("ranknet_report_l2")
class RankNetReportL2(RankNetReport):
    Params = RankNetReportL2Params
    summary = "RankNet (Burges et al. 2005) of the term report, with L2: 64-32 ReLU net on pair differences, row sums"
    space: ClassVar = SPACE | {
        "l2": LogUniform(1e-5, 0.1, "from nearly no penalty to ten times the value of the report")
    }
