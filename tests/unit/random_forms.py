"""Random scoring forms and features, for the tests of model formats."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from gradrank.data.normalisation import Normaliser
from gradrank.training.nets.attention_net import AttentionNet
from gradrank.training.nets.net import Net
from gradrank.training.nets.step_net import StepNet
from gradrank.training.nets.steps import (
    Activation,
    Attention,
    Clip,
    Concat,
    Cosine,
    First,
    Flatten,
    LayerNorm,
    Linear,
    Prepend,
    Scale,
    Shift,
    SmoothClip,
    Sum,
)
from gradrank.training.scoring_form import (
    AttentionForm,
    Combined,
    KernelForm,
    LinearForm,
    NetForm,
    QuadraticForm,
    StepsForm,
    Tree,
    TreesForm,
)

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


def random_net(rng, outputs=1, dtype=np.float32, activation="relu", log_limit=None, norms=False, hidden=(6, 4)):
    sizes = [WIDTH, *hidden, outputs]
    shapes = list(pairwise(sizes))
    norm = [rng.normal(1.0, 0.1, n).astype(dtype) for n in hidden] if norms else []
    return Net(
        [rng.normal(size=shape).astype(dtype) for shape in shapes],
        [rng.normal(size=shape[1]).astype(dtype) for shape in shapes],
        rng.normal(size=WIDTH),
        rng.uniform(0.5, 2.0, WIDTH),
        activation,
        log_limit,
        norm,
        [array - 1.0 for array in norm],
    )


def random_attention(rng, outputs=1, log_limit=None, tower=False, width=8, blocks=2):
    shapes = {"embed": (WIDTH, width), "output": (width, outputs)} | ({"context": (width, width)} if tower else {})
    norms = ["norm"]
    for block in (f"blocks.{i}" for i in range(blocks)):
        shapes |= {f"{block}.{part}": (width, width) for part in ("query", "key", "value", "joined")}
        shapes |= {f"{block}.inner": (width, 2 * width), f"{block}.outer": (2 * width, width)}
        norms += [f"{block}.norm_before", f"{block}.norm_between"]
    arrays = {}
    for name, shape in shapes.items():
        arrays[f"{name}.weights"] = rng.normal(0.0, 0.5, shape).astype(np.float32)
        arrays[f"{name}.biases"] = rng.normal(0.0, 0.5, shape[1]).astype(np.float32)
    for name in norms:
        arrays[f"{name}.weights"] = rng.normal(1.0, 0.1, width).astype(np.float32)
        arrays[f"{name}.biases"] = rng.normal(0.0, 0.1, width).astype(np.float32)
    net = random_net(rng, width, norms=True, log_limit=log_limit) if tower else None
    return AttentionNet(arrays, rng.normal(size=WIDTH), rng.uniform(0.5, 2.0, WIDTH), log_limit, 2, net)


def random_steps(rng, members=3, outputs=1, log_limit=None):
    """Return a net that has each kind of step: an ensemble with weights of its own on attention over the features."""

    def drawn(*shape):
        return rng.normal(0.0, 0.5, shape).astype(np.float32)

    heads = 2
    query, key, value = ((Linear(drawn(4, 4)), Shift(drawn(1, 4))) for _ in range(3))
    attention = Attention((First(), *query), key, value, heads)
    edges = np.abs(drawn(WIDTH, 2))
    steps = (
        SmoothClip(3.0),
        Concat(
            (Scale(drawn(WIDTH, 2)), Cosine()), (Scale(drawn(WIDTH, 2)), Shift(drawn(WIDTH, 2)), Clip(-edges, edges))
        ),
        Linear(drawn(WIDTH, 4, 4)),
        Activation("relu"),
        Prepend(drawn(4)),
        Sum((First(),), (LayerNorm(drawn(4), drawn(4)), attention)),
        Sum((), (Linear(drawn(4, 6)), Activation("reglu"), Linear(drawn(3, 4)))),
        Flatten(),
        Scale(drawn(members, 4)),
        Linear(drawn(4, 5)),
        Sum((Scale(drawn(members, 5)),), (Activation("selu"), Scale(drawn(members, 5)))),
        Linear(drawn(members, 5, outputs)),
        Shift(drawn(members, outputs)),
    )
    return StepNet(steps, rng.normal(size=WIDTH), rng.uniform(0.5, 2.0, WIDTH), log_limit, members)


def random_input_steps(rng):
    """Return steps that map WIDTH features to as many inputs."""
    return SmoothClip(2.0), Scale(rng.normal(size=(WIDTH, 1)).astype(np.float32)), Cosine()


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
        "net with norms": NetForm(random_net(rng, activation="tanh", norms=True)),
        "net with logarithms": NetForm(random_net(rng, log_limit=1.0)),
        "attention": AttentionForm(random_attention(rng)),
        "attention with a tower": AttentionForm(random_attention(rng, tower=True, log_limit=30.0)),
        "net with input steps": NetForm(replace(random_net(rng), input_steps=random_input_steps(rng))),
        "attention with input steps": AttentionForm(
            replace(random_attention(rng, tower=True), input_steps=random_input_steps(rng))
        ),
        "steps": StepsForm(random_steps(rng, members=1, log_limit=1.0)),
        "ensemble of steps": Combined((StepsForm(random_steps(rng)),), np.full(3, 1 / 3)),
        "ensemble with outputs": Combined((StepsForm(random_steps(rng, outputs=2)),), np.full(6, 1 / 3), "logistic"),
        "rbf": random_kernel(rng, "rbf"),
        "polynomial": random_kernel(rng, "polynomial"),
        "sum of nets": Combined((NetForm(random_net(rng)), NetForm(random_net(rng))), np.array([0.5, -0.5])),
        "sum of trees and a line": Combined((random_trees(rng), LinearForm(rng.normal(size=WIDTH))), np.ones(2)),
        "logistic of trees": Combined((random_trees(rng), random_trees(rng)), np.array([1.0, 2.0]), "logistic"),
        "logistic of one ensemble": Combined((random_trees(rng),), np.ones(1), "logistic"),
        "softmax of trees": Combined((random_trees(rng), random_trees(rng)), np.arange(2.0), "softmax"),
        "softmax of outputs": Combined(nets[:1], np.arange(3.0), "softmax"),
        "likeliest output": Combined(nets[1:], np.array([3.0, -1.0, 2.0]), "argmax"),
        "attention with outputs": Combined((AttentionForm(random_attention(rng, 3)),), np.ones(3), "logistic"),
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
