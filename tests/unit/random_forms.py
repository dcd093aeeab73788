"""Random scoring forms and features, for the tests of model formats."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from gradrank.data.normalisation import Normaliser
from gradrank.training.nets.net import Net
from gradrank.training.nets.steps import (
    Activation,
    Affine,
    Attention,
    Clip,
    Concat,
    Cosine,
    DocumentAttention,
    First,
    Flatten,
    Gate,
    LayerNorm,
    Linear,
    Prepend,
    Scale,
    Shift,
    SmoothClip,
    Sum,
)
from gradrank.training.scoring_form import Combined, KernelForm, LinearForm, NetForm, QuadraticForm, Tree, TreesForm

WIDTH = 5  # features
OFFSETS = np.array([0, 12, 13, 20, 40])


def random_tree(rng, leaves=8, thresholds=None):
    """Return a random tree with a given number of leaves. thresholds: the values to choose from; None for any."""
    feature, threshold, left, right, value = [-1], [0.0], [-1], [-1], [0.0]
    ends = [0]
    for _ in range(leaves - 1):
        node = ends.pop(rng.integers(len(ends)))
        feature[node] = int(rng.integers(WIDTH))
        threshold[node] = float(rng.normal() if thresholds is None else rng.choice(thresholds))
        left[node], right[node] = len(feature), len(feature) + 1
        ends += [left[node], right[node]]
        for column, empty in ((feature, -1), (threshold, 0.0), (left, -1), (right, -1), (value, 0.0)):
            column.extend([empty, empty])
    for node in ends:
        value[node] = float(rng.normal())
    return Tree(
        np.array(feature),
        np.array(threshold),
        np.array(left),
        np.array(right),
        rng.random(len(feature)) < 0.5,
        np.array(value),
    )


def random_trees(rng, count=7, thresholds=None):
    """Return a sum of random trees, the first of which is a single leaf."""
    trees = [random_tree(rng, leaves, thresholds) for leaves in (1, *rng.integers(2, 12, count - 1))]
    return TreesForm(tuple(trees), float(rng.normal()))


def drawn(rng, *shape):
    return rng.normal(0.0, 0.5, shape).astype(np.float32)


def random_net(rng, outputs=1, dtype=np.float32, activation="relu", log_limit=None, hidden=(6, 4)):
    """Return a net of layers."""
    shapes = list(pairwise([WIDTH, *hidden, outputs]))
    weights = [rng.normal(size=shape).astype(dtype) for shape in shapes]
    biases = [rng.normal(size=shape[1]).astype(dtype) for shape in shapes]
    net = Net.of_layers(weights, biases, rng.normal(size=WIDTH), rng.uniform(0.5, 2.0, WIDTH), activation)
    return replace(net, log_limit=log_limit)


def random_attention(rng, outputs=1, log_limit=None, width=8):
    """Return a net with attention to the other documents, a norm, a gate and clipped inputs."""

    def affine(inputs, outputs):
        return Affine(drawn(rng, inputs, outputs), drawn(rng, outputs))

    attention = DocumentAttention(*((affine(width, width),) for _ in range(3)), heads=2)
    blocks = [Sum((), (LayerNorm(*drawn(rng, 2, width)), attention, affine(width, width))) for _ in range(2)]
    gate = Gate((affine(WIDTH, 4), Activation("tanh")), (affine(WIDTH, width), *blocks, affine(width, 4)))
    inputs = SmoothClip(2.0), Scale(drawn(rng, WIDTH, 1)), Flatten()
    steps = (*inputs, gate, Activation("relu"), affine(4, outputs))
    return Net(steps, rng.normal(size=WIDTH), rng.uniform(0.5, 2.0, WIDTH), log_limit)


def random_steps(rng, members=3, outputs=1, log_limit=None):
    """Return an ensemble with weights of its own on attention over the features."""
    heads = 2
    query, key, value = ((Linear(drawn(rng, 4, 4)), Shift(drawn(rng, 1, 4))) for _ in range(3))
    attention = Attention((First(), *query), key, value, heads)
    edges = np.abs(drawn(rng, WIDTH, 2))
    steps = (
        SmoothClip(3.0),
        Concat(
            (Scale(drawn(rng, WIDTH, 2)), Cosine()),
            (Scale(drawn(rng, WIDTH, 2)), Shift(drawn(rng, WIDTH, 2)), Clip(-edges, edges)),
        ),
        Linear(drawn(rng, WIDTH, 4, 4)),
        Activation("relu"),
        Prepend(drawn(rng, 4)),
        Sum((First(),), (LayerNorm(drawn(rng, 4), drawn(rng, 4)), attention)),
        Sum((), (Linear(drawn(rng, 4, 6)), Activation("reglu"), Linear(drawn(rng, 3, 4)))),
        Flatten(),
        Scale(drawn(rng, members, 4)),
        Linear(drawn(rng, 4, 5)),
        Sum((Scale(drawn(rng, members, 5)),), (Activation("selu"), Scale(drawn(rng, members, 5)))),
        Linear(drawn(rng, members, 5, outputs)),
        Shift(drawn(rng, members, outputs)),
    )
    return Net(steps, rng.normal(size=WIDTH), rng.uniform(0.5, 2.0, WIDTH), log_limit)


def random_kernel(rng, name):
    from gradrank.models.ranknet_kernel import Kernel

    landmarks = rng.normal(size=(9, WIDTH)).astype(np.float32)
    return KernelForm(
        Kernel(name, 0.3, 3), landmarks, rng.normal(size=9), rng.normal(size=WIDTH), rng.uniform(0.5, 2.0, WIDTH)
    )


def random_forms(seed=0):
    """Return a dict of random forms of every kind. key: a description."""
    rng = np.random.default_rng(seed)
    square = np.triu(rng.normal(size=(WIDTH + 1, WIDTH + 1)))
    nets = NetForm(random_net(rng, 3)), NetForm(random_net(rng, 3, np.float64))
    return {
        "linear": LinearForm(rng.normal(size=WIDTH), 0.5),
        "quadratic": QuadraticForm(square, rng.uniform(0.5, 2.0, WIDTH)),
        "quadratic of one row": QuadraticForm(square[:1], rng.uniform(0.5, 2.0, WIDTH)),
        "trees": random_trees(rng),
        "one leaf": random_trees(rng, 1),
        "no trees": TreesForm((), 0.25),
        "net": NetForm(random_net(rng)),
        "linear net": NetForm(random_net(rng, hidden=())),
        "float64 net": NetForm(random_net(rng, dtype=np.float64, activation="tanh")),
        "net with logarithms": NetForm(random_net(rng, log_limit=1.0)),
        "attention": NetForm(random_attention(rng)),
        "attention with logarithms": NetForm(random_attention(rng, log_limit=30.0)),
        "steps": NetForm(random_steps(rng, members=1, log_limit=1.0)),
        "ensemble of steps": Combined((NetForm(random_steps(rng)),), np.full(3, 1 / 3)),
        "ensemble with outputs": Combined((NetForm(random_steps(rng, outputs=2)),), np.full(6, 1 / 3), "logistic"),
        "rbf": random_kernel(rng, "rbf"),
        "polynomial": random_kernel(rng, "polynomial"),
        "sum of nets": Combined((NetForm(random_net(rng)), NetForm(random_net(rng))), np.array([0.5, -0.5])),
        "sum of trees and a line": Combined((random_trees(rng), LinearForm(rng.normal(size=WIDTH))), np.ones(2)),
        "logistic of trees": Combined((random_trees(rng), random_trees(rng)), np.array([1.0, 2.0]), "logistic"),
        "logistic of one ensemble": Combined((random_trees(rng),), np.ones(1), "logistic"),
        "softmax of trees": Combined((random_trees(rng), random_trees(rng)), np.arange(2.0), "softmax"),
        "softmax of outputs": Combined(nets[:1], np.arange(3.0), "softmax"),
        "likeliest output": Combined(nets[1:], np.array([3.0, -1.0, 2.0]), "argmax"),
        "attention with outputs": Combined((NetForm(random_attention(rng, 3)),), np.ones(3), "logistic"),
    }


def random_features(seed=1, scale=1.0):
    """Return the (40, WIDTH) features of the queries of OFFSETS. Two documents are equal."""
    features = np.random.default_rng(seed).normal(0.0, scale, (OFFSETS[-1], WIDTH)).astype(np.float32)
    features[3] = features[1]
    return features


def random_normaliser(method, seed=2):
    """Return a normaliser with one constant feature for `global`; None for no method."""
    if method is None:
        return None
    if method == "query":
        return Normaliser("query")
    features = random_features(seed, 3.0) + 1.0
    features[:, 2] = 4.0
    return Normaliser.of_training_part(features)
