"""The scorers: each option gives equal scores in torch, NumPy, files and exports, and members train alone."""

import gradrank

gradrank.pin()

# isort: split
from functools import cache
from importlib.util import find_spec
from types import NoneType, UnionType
from typing import Literal, get_args, get_origin

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gradrank.export.format import ExportedModel, NotExpressible
from gradrank.export.lookup import find_format, format_names
from gradrank.training.form_scores import form_scores
from gradrank.training.nets import torch_training
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.torch_training import create_scorer, mean_loss
from gradrank.training.registry import find_loss, models, scorer_names
from gradrank.training.scorers.realmlp import coslog4, flat_cosine
from made_rankings import linear_grades, noisy_copies, silent

SMALL = {"hidden": (8, 8, 6), "width": 8, "heads": 2, "feed_forward": 6, "blocks": 2, "submodels": 3}
SMALL |= {"embedding_width": 3, "embedding_bins": 5, "frequencies": 3}
TRAINING = {"epochs": 1, "batch_queries": 3, "learning_rate": 0.05}  # large steps, which move every number
# The model and the options with which each other option is tested. `ordinal` has two outputs.
BASES = [("softmax", {}), ("ordinal", {"embedding": "piecewise_linear"}), ("softmax", {"embedding": "pbld"})]
EVERYWHERE = {"onnx", "safetensors"}  # formats for every net
FORMATS = [name for name in format_names() if name != "onnx" or (find_spec("onnx") and find_spec("onnxruntime"))]


def params_of(scorer, **changes):
    return models()["softmax"].Params(scorer=scorer, **SMALL | changes)


def other_values(field):
    """Return values of an option that are not its default."""
    kinds = [kind for kind in get_args(field.annotation) if kind is not NoneType]
    kind = kinds[0] if get_origin(field.annotation) is UnionType else field.annotation
    if get_origin(kind) is Literal:
        return [value for value in kinds if value != field.default]
    return {bool: [not field.default], int: [4], float: [0.25]}.get(kind, [(4, 4)])


OPTIONS = {name: field for name, field in ScorerParams.model_fields.items() if name not in ("device", "scorer")}
SWITCHES = [{}, *({name: value} for name, field in OPTIONS.items() for value in other_values(field))]


def moved_scorer(data, params, outputs=1):
    """Return an untrained scorer, with every number of its layers moved off its initial value, without dropout."""
    scorer, _ = create_scorer(data.features, params, seed=3, outputs=outputs)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for each in scorer.layers.parameters():
            each += 0.1 * torch.randn(each.shape, generator=generator)
    scorer.layers.eval()
    return scorer


def assert_equal_everywhere(model, scorer, data, folder):
    """Compare the scores of the net in torch, as a form, from its file, and from the files of all formats."""
    scorer.layers.eval()
    expected = scorer.outputs(np.arange(data.rows), data.offsets).detach().numpy().reshape(data.rows, -1)
    np.testing.assert_allclose(model.net.outputs(data.features, data.offsets), expected, rtol=1e-4, atol=1e-4)
    scores = model.score(data.features, data.offsets)
    (folder / "model").mkdir(parents=True)
    model.save(folder / "model")
    again = type(model).load(folder / "model")
    assert np.array_equal(again.score(data.features, data.offsets), scores)
    form, names = again.scoring_form(data.features.shape[1]), tuple("abcd")
    np.testing.assert_allclose(form_scores(form, data.features, data.offsets), scores, rtol=1e-6)
    written = set()
    for name in FORMATS:
        model_format = find_format(name)
        out = folder / f"{name}{model_format.extension}"
        try:
            path, *_ = model_format.write(ExportedModel(form, names, folder=folder / "model"), out)
        except NotExpressible:
            continue
        written.add(name)
        tolerance = model_format.tolerance_of(form) * max(1.0, np.abs(scores).max())
        found = model_format.read(path).scores(data.features, data.offsets)
        np.testing.assert_allclose(found, scores, rtol=0, atol=tolerance, err_msg=name)
    assert written >= EVERYWHERE & set(FORMATS)


def trained(base, scorer, switch):
    """Return a small model that was trained for one epoch, and the bytes of its net."""
    name, options = base
    cls = models()[name]
    params = cls.Params(**SMALL | TRAINING | options | switch | {"scorer": scorer})
    model = cls.fit(noisy_copies(0, 7, 5, 4, 1.0), noisy_copies(1, 4, 5, 4, 1.0), params, 1, silent)
    tensors, steps = model.net.tensors()
    return model, str(steps).encode() + b"".join(tensor.tobytes() for tensor in tensors.values())


@pytest.mark.parametrize("scorer", scorer_names())
def test_each_option_gives_equal_scores_in_torch_numpy_files_and_exports(scorer, tmp_path, monkeypatch):
    """A new option is tested without a new test. If it leaves the net of a scorer as it is, the net is not repeated."""
    created = []

    def create(*given):
        created.append(create_scorer(*given))
        return created[-1]

    monkeypatch.setattr(torch_training, "create_scorer", create)
    for base in BASES:
        seen = set()
        for switch in SWITCHES:
            model, content = trained(base, scorer, switch)
            if content not in seen:
                seen.add(content)
                data, folder = noisy_copies(0, 7, 5, 4, 1.0), tmp_path / f"{BASES.index(base)}-{len(seen)}"
                assert_equal_everywhere(model, created[-1][0], data, folder)


def test_each_option_changes_the_net_of_a_scorer():
    """The test above tells nothing about an option without an effect on the small nets."""
    default = cache(lambda base, scorer: trained(BASES[base], scorer, {})[1])
    idle = [
        switch
        for switch in SWITCHES[1:]
        if not any(
            trained(BASES[base], scorer, switch)[1] != default(base, scorer)
            for scorer in ("net", *scorer_names())
            for base in range(len(BASES))
        )
    ]
    assert not idle


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
    assert decayed == {
        name for name, each in before.items() if each.ndim == 2 and not name.startswith("parts.1.parts.0.")
    }
