"""The scorers with members, recipes, tokens and embeddings: exported nets agree with torch, and members train alone."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gradrank.training.nets.net_files import load_net
from gradrank.training.nets.torch_training import create_scorer, mean_loss
from gradrank.training.registry import find_loss, models
from gradrank.training.scorers.realmlp import coslog4, flat_cosine
from made_rankings import linear_grades

SIZES = {
    "tabm": {"hidden": (8, 6), "submodels": 3},
    "realmlp": {"hidden": (8, 6)},
    "ft_transformer": {"width": 8, "heads": 2, "feed_forward": 6, "blocks": 3},
    "net": {"hidden": (8,), "norm": "layer"},
    "attention": {"width": 8},
    "dasalc": {"hidden": (8,), "width": 8},
    "linear": {},
}
EMBEDDINGS = ["none", "piecewise_linear", "periodic", "pbld"]


def params_of(scorer, **changes):
    return models()["softmax"].Params(scorer=scorer, **SIZES[scorer] | {"embedding_width": 4} | changes)


def moved_scorer(data, params, outputs=1):
    """Return an untrained scorer, with every number of its layers moved off its initial value, without dropout."""
    scorer, _ = create_scorer(data.features, params, seed=3, outputs=outputs)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for each in scorer.layers.parameters():
            each += 0.1 * torch.randn(each.shape, generator=generator)
    scorer.layers.eval()
    return scorer


@pytest.mark.parametrize("inputs", ["standardised", "robust"])
@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize("scorer", SIZES)
def test_exported_nets_agree_with_torch(scorer, embedding, inputs, tmp_path):
    data = linear_grades(1, 9, 8)
    created = moved_scorer(data, params_of(scorer, embedding=embedding, inputs=inputs), outputs=2)
    expected = created.outputs(np.arange(data.rows), data.offsets).detach().numpy().reshape(data.rows, -1)
    net = created.export()
    np.testing.assert_allclose(net.outputs(data.features, data.offsets), expected, rtol=1e-4, atol=1e-5)
    net.save(tmp_path / "net.safetensors")
    again = load_net(tmp_path / "net.safetensors")
    assert np.array_equal(again.scores(data.features, data.offsets), net.scores(data.features, data.offsets))


@pytest.mark.parametrize("scorer", ["tabm", "ft_transformer", "realmlp"])
def test_scores_of_a_document_do_not_depend_on_its_query(scorer):
    data = linear_grades(1, 9, 8)
    net = moved_scorer(data, params_of(scorer)).export()
    assert not net.scores_whole_queries
    assert np.array_equal(net.scores(data.features[5:6]), net.scores(data.features)[5:6])


@pytest.mark.parametrize("name", ["softmax", "ordinal"])
def test_each_member_is_trained_on_its_own_loss(name):
    """The cost is the mean of the members' costs, and the gradient is that of finite differences."""
    data, loss = linear_grades(1, 3, 5), find_loss(name)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(data.rows, 4, loss.outputs(data.labels)))
    cost, gradient = mean_loss(loss, values, data.labels, data.offsets, rng)
    own = [values[:, member, 0] if name == "softmax" else values[:, member] for member in range(4)]
    assert cost == pytest.approx(np.mean([loss(each, data.labels, data.offsets)[0] for each in own]))
    for _ in range(10):
        at, step = tuple(rng.integers(values.shape)), 1e-5
        costs = []
        for sign in (1, -1):
            moved = values.copy()
            moved[at] += sign * step
            costs.append(mean_loss(loss, moved, data.labels, data.offsets, rng)[0])
        assert gradient[at] == pytest.approx((costs[0] - costs[1]) / (2 * step), rel=1e-5, abs=1e-7)


def test_members_of_tabm_differ_before_the_training_and_the_score_is_their_mean():
    data = linear_grades(1, 9, 8)
    scorer, _ = create_scorer(data.features, params_of("tabm"), seed=3)
    net = scorer.export()
    outputs = net.outputs(data.features)
    assert outputs.shape == (data.rows, 3) and np.ptp(outputs, axis=1).min() > 1e-4
    np.testing.assert_allclose(net.scores(data.features), outputs.mean(axis=1), rtol=1e-5, atol=1e-6)


def test_tabm_without_a_hidden_layer_is_an_error():
    with pytest.raises(ValueError, match=r"hidden is empty.*Fix: add a width"):
        params_of("tabm", hidden=())


def test_the_initial_layers_of_realmlp_have_outputs_with_the_standard_deviation_1():
    data = linear_grades(1, 40, 8)
    scorer, _ = create_scorer(data.features, params_of("realmlp", hidden=()), seed=3, outputs=7)
    outputs = scorer.outputs(np.arange(data.rows)).detach().numpy()
    np.testing.assert_allclose(outputs.std(axis=0), 1.0, rtol=1e-5)
    assert (outputs.min(axis=0) < 0.0).all() and (outputs.max(axis=0) > 0.0).all()  # 0 is a convex combination


def test_the_schedules_of_realmlp():
    assert [coslog4(t) for t in (0.0, 1 / 15, 3 / 15, 7 / 15, 1.0)] == pytest.approx([0.0] * 5, abs=1e-12)
    assert coslog4((2**3.5 - 1) / 15) == pytest.approx(1.0)
    assert [flat_cosine(t) for t in (0.0, 0.5, 0.75, 1.0)] == pytest.approx([1.0, 1.0, 0.5, 0.0])
    data = linear_grades(1, 9, 8)
    scorer, optimiser = create_scorer(data.features, params_of("realmlp", dropout=0.4), seed=3)
    scorer.start_step(optimiser, 1.0)
    assert scorer.noise.dropout == 0.0 and all(group["lr"] == 0.0 for group in optimiser.param_groups)


def test_weight_decay_of_ft_transformer_leaves_tokens_norms_and_biases():
    data = linear_grades(1, 9, 8)
    params = params_of("ft_transformer", weight_decay=0.5, learning_rate=1.0)
    scorer, optimiser = create_scorer(data.features, params, seed=3)
    before = {name: each.detach().clone() for name, each in scorer.layers.named_parameters()}
    for each in scorer.layers.parameters():
        each.grad = torch.zeros_like(each)
    optimiser.step()
    decayed = {name for name, each in scorer.layers.named_parameters() if not torch.equal(each, before[name])}
    assert decayed == {name for name, each in before.items() if each.ndim == 2 and not name.startswith("0.")}
