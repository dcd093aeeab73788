"""The pair net: its gradient against torch, its probabilities and row sums by brute force over all pairs."""

from dataclasses import replace
from functools import partial
from itertools import islice, pairwise

import numpy as np
import pytest

from gradrank.data.pairs import Pairs
from gradrank.models.ranknet_report import Examples, PairNet, RankNetReport, draw_documents, draw_pairs, train_epochs
from gradrank.training.nets.net import Net
from made_rankings import linear_grades

READINGS = ["difference", "siamese"]


def random_model(reading, scoring="row_sums", hidden=(64, 32), seed=0):
    """Untrained, with biases: nothing in it favours antisymmetry."""
    rng = np.random.default_rng(seed)
    widths = [4, *hidden, 1]
    weights = [rng.normal(0.0, 0.2, pair).astype(np.float32) for pair in pairwise(widths)]
    biases = [rng.normal(size=width).astype(np.float32) for width in widths[1:]]
    return RankNetReport(Net.of_layers(weights, biases, rng.normal(size=4), rng.uniform(0.5, 2.0, 4)), reading, scoring)


def logit(model, x):
    """The net's output for a standardised input, in float64."""
    *layers, (last, bias, _) = model.net.layers
    for weights, biases, _ in layers:
        x = np.maximum(x @ weights.astype(float) + biases, 0.0)
    return (x @ last.astype(float) + bias)[0]


def standard(model, x):
    return (x.astype(float) - model.net.mean) / model.net.scale


def probability(model, first, second):
    """P that the document `first` ranks above `second`, in float64, from the definition."""

    def sigmoid(o):
        return 1.0 / (1.0 + np.exp(-o))

    first, second = standard(model, first), standard(model, second)
    if model.reading == "siamese":
        return sigmoid(logit(model, first) - logit(model, second))
    return (sigmoid(logit(model, first - second)) + 1.0 - sigmoid(logit(model, second - first))) / 2.0


@pytest.mark.parametrize("hidden", [(64, 32), (5,), (3, 9, 4)])
@pytest.mark.parametrize("reading", READINGS)
def test_scores_are_row_sums_over_all_pairs_of_the_query(reading, hidden):
    model, part = random_model(reading, hidden=hidden), linear_grades(0, queries=1, documents=11)
    offsets = np.array([0, 4, 5, 11])
    expected = np.concatenate(
        [
            [sum(probability(model, x, y) for y in part.features[a:b]) for x in part.features[a:b]]
            for a, b in pairwise(offsets)
        ]
    )
    np.testing.assert_allclose(model.score(part.features, offsets), expected, rtol=1e-4)


@pytest.mark.parametrize("reading", READINGS)
def test_the_plain_score_is_of_the_document_alone(reading):
    model, part = random_model(reading, "plain"), linear_grades(0, queries=2, documents=6)
    xs = [standard(model, x) for x in part.features]
    back = 0.0 if reading == "siamese" else np.array([logit(model, -x) for x in xs])
    expected = np.array([logit(model, x) for x in xs]) - back
    scores = model.score(part.features, part.offsets)
    np.testing.assert_allclose(scores, expected if reading == "siamese" else expected / 2.0, atol=1e-4)
    np.testing.assert_array_equal(model.score(part.features, np.array([0, 12])), scores)


@pytest.mark.parametrize("reading", [*READINGS, "pointwise"])
def test_gradient_by_autograd(reading):
    import torch

    rng = np.random.default_rng(0)
    net = PairNet([4, 6, 5, 1], reading == "siamese", rng)
    net.vector += rng.normal(0.0, 0.3, len(net.vector)).astype(np.float32)
    features = rng.normal(size=(32, 4)).astype(np.float32)
    target = rng.integers(0, 2, 16)
    rows = np.arange(16)
    cost = net.differentiate(features, Examples(rows, None if reading == "pointwise" else rows + 16, target, None))

    weights, biases = (
        [torch.tensor(p.astype(float), requires_grad=True) for p in part] for part in (net.weights, net.biases)
    )

    def output(x):
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            x = torch.relu(x @ w + b)
        return (x @ weights[-1] + biases[-1])[:, 0]

    first, second = (torch.tensor(x.astype(float)) for x in (features[:16], features[16:]))
    logits = {
        "difference": lambda: output(first - second),
        "siamese": lambda: output(first) - output(second),
        "pointwise": lambda: output(first),
    }
    logit = logits[reading]()
    expected = torch.nn.functional.binary_cross_entropy_with_logits(logit, torch.tensor(target.astype(float)))
    expected.backward()
    assert cost / 16 == pytest.approx(expected.item(), rel=1e-5)
    gradients = [np.zeros(p.shape) if p.grad is None else p.grad.numpy() for p in weights + biases]
    for ours, theirs in zip(net.weight_slopes + net.bias_slopes, gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_training_is_torchs_adam_with_the_penalty_on_weights_alone():
    import torch

    rng = np.random.default_rng(3)
    x, l2 = rng.normal(size=(2, 4)).astype(np.float32), 0.05
    net = PairNet([4, 6, 5, 1], False, rng)
    leaf = torch.tensor(net.vector, requires_grad=True)
    adam = torch.optim.Adam([leaf], lr=0.01)
    seen = []
    differentiate = net.differentiate

    def spy(*batch):
        cost = differentiate(*batch)
        seen.append(net.slope + 2.0 * l2 * net.is_weight * net.vector)
        return cost

    net.differentiate = spy
    draw = partial(draw_pairs, Pairs(*np.array([[0], [1], [0]])), 1, "zero_one", rng)
    list(islice(train_epochs(net, x, draw, 1, 0.01, l2), 20))
    for gradient in seen:
        leaf.grad = torch.tensor(gradient)
        adam.step()
    np.testing.assert_allclose(net.vector, leaf.detach().numpy(), atol=1e-5)
    assert net.is_weight.sum() == 4 * 6 + 6 * 5 + 5


def batches_of(draw, batch):
    """The examples of each training step of one epoch."""
    net, seen = PairNet([4, 3, 1], False, np.random.default_rng(0)), []
    net.differentiate = lambda _, examples: seen.append(examples) or 0.0
    next(train_epochs(net, np.zeros((10, 4), np.float32), draw, batch, 0.1, 0.0))
    return seen


def test_an_epoch_is_as_many_different_pairs_as_asked_for():
    pairs = Pairs(np.arange(1, 10), np.zeros(9, int), np.zeros(9, int))
    seen = batches_of(partial(draw_pairs, pairs, 7, "zero_one", np.random.default_rng(1)), 3)
    assert [len(examples.target) for examples in seen] == [3, 3, 1]
    first, second, target = (np.concatenate([examples[part] for examples in seen]) for part in range(3))
    assert set(target) == {0, 1}  # both classes, else the net learns to say 1
    winner = np.where(target, first, second)
    assert len(np.unique(winner)) == 7 and (winner > 0).all()


def test_an_epoch_of_documents_has_each_document_once_with_its_relevance():
    relevant, weights = np.array([0.0, 1.0, 0.0, 1.0, 1.0]), np.arange(1.0, 6.0)
    seen = batches_of(partial(draw_documents, relevant, weights, 50, np.random.default_rng(1)), 2)
    assert [len(examples.target) for examples in seen] == [2, 2, 1] and seen[0].second is None
    rows = np.concatenate([examples.first for examples in seen])
    assert sorted(rows) == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(np.concatenate([examples.target for examples in seen]), relevant[rows])
    np.testing.assert_array_equal(np.concatenate([examples.weight for examples in seen]), weights[rows])


@pytest.mark.parametrize("probability", [None, 0.8])
def test_targets_of_the_report_as_printed(probability):
    """(1 + P) / 2 in both orders; for a sure pair, 1 and 1/2."""
    one = np.zeros(1, int)
    pairs = Pairs(one, one + 1, one, None if probability is None else np.array([probability]))
    p = 1.0 if probability is None else probability
    seen = {}
    for seed in range(20):
        examples = draw_pairs(pairs, 1, "half_one", np.random.default_rng(seed))
        assert examples.second is not None and {examples.first[0], examples.second[0]} == {0, 1}
        seen[int(examples.first[0])] = examples.target[0]
    assert seen == pytest.approx({0: (1.0 + p) / 2.0, 1: (2.0 - p) / 2.0})


def test_the_pointwise_net_learns_which_documents_are_relevant():
    """Both settings of the scoring sort by the output of the net."""
    rng = np.random.default_rng(0)
    train = replace(linear_grades(0, queries=40, documents=20), labels=rng.integers(0, 3, 800))
    relevant = train.labels > 0
    train.features[:, 0] = relevant
    params = RankNetReport.Params(reading="pointwise", hidden=(8,), epochs=20, scoring="plain")
    model = RankNetReport.fit(train, train, params, 1, lambda *_, **__: None)
    scores = model.score(train.features, train.offsets)
    sums = RankNetReport(model.net, "pointwise").score(train.features, train.offsets)
    for a, b in pairwise(train.offsets):
        assert scores[a:b][relevant[a:b]].min() > scores[a:b][~relevant[a:b]].max()
        np.testing.assert_array_equal(np.argsort(sums[a:b]), np.argsort(scores[a:b]))
