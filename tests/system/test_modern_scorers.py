"""The scorers tabm, realmlp and ft_transformer and the embeddings, compared with the packages of their authors.

For copied weights, outputs are equal. Trained with the squared error on a table of scikit-learn, the errors are within
the range of the packages' errors over seeds. Takes half a minute.
"""

from functools import partial

import gradrank

gradrank.pin()

# isort: split
import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes

from gradrank.training.nets.embeddings import Periodic, PiecewiseLinear
from gradrank.training.nets.layers import Norm
from gradrank.training.nets.torch_training import create_scorer
from gradrank.training.registry import models
from gradrank.training.scorers.ft_transformer import TokenDense
from gradrank.training.scorers.tabm import EnsembleLayer, MemberOutputs

EXACT = {"rtol": 0, "atol": 1e-6}
SEEDS = range(4)


def params_of(scorer, **changes):
    """Return small parameters. The other values are the defaults of the model of the scorer."""
    sizes = {
        "tabm": {"hidden": (16, 12), "submodels": 5},
        "realmlp": {"hidden": (16, 12)},
        "ft_transformer": {"width": 16, "heads": 4, "feed_forward": 20, "blocks": 3},
    }
    return models()[scorer].Params(**sizes[scorer] | changes)


def features_of(rows=60):
    return np.random.default_rng(0).normal(size=(rows, 4)).astype(np.float32)


def created(scorer, seed=3, **changes):
    """Return an untrained scorer without dropout."""
    scorer, _ = create_scorer(features_of(), params_of(scorer, **changes), seed=seed)
    scorer.layers.eval()
    return scorer


def copy(source, target):
    assert source.shape == target.shape
    with torch.no_grad():
        target.copy_(source)


def outputs_of(scorer):
    """Return the outputs of torch, after a check that those of the exported net are equal."""
    found = scorer.outputs(np.arange(60)).detach().numpy().reshape(60, -1)
    np.testing.assert_allclose(scorer.export().outputs(features_of()), found, rtol=1e-5, atol=1e-6)
    return found


def prepared(scorer):
    """Return the preprocessed features of all documents."""
    return scorer.inputs.of_rows(np.arange(len(scorer.inputs.features)))


def parts_of(layers, kind):
    """Return the parts of some layers that have a class, in their order."""
    return [part for part in layers.modules() if isinstance(part, kind)]


def tabm_of(package, scorer, params):
    """Return the package's net with the weights of the scorer."""
    sizes = {"n_blocks": len(params.hidden), "d_block": params.hidden[0], "k": params.submodels}
    net = package.TabM.make(n_num_features=scorer.inputs.features.shape[1], d_out=1, **sizes)
    for block, layer in zip(net.backbone.blocks, parts_of(scorer.layers, EnsembleLayer), strict=True):
        for name, own in {"weight": layer.weight, "r": layer.first, "s": layer.second, "bias": layer.bias}.items():
            copy(own, getattr(block[0], name))
    (output,) = parts_of(scorer.layers, MemberOutputs)
    copy(output.weight, net.output.weight)
    copy(output.bias, net.output.bias)
    return net.eval()


def test_tabm_has_the_outputs_of_the_package_tabm():
    package = pytest.importorskip("tabm")
    scorer = created("tabm", hidden=(16, 16))
    net = tabm_of(package, scorer, params_of("tabm", hidden=(16, 16)))
    expected = net(prepared(scorer))[:, :, 0].detach().numpy()
    np.testing.assert_allclose(outputs_of(scorer), expected, **EXACT)


def test_ft_transformer_has_the_outputs_of_the_package_rtdl_revisiting_models():
    package = pytest.importorskip("rtdl_revisiting_models")
    scorer, params = created("ft_transformer"), params_of("ft_transformer")
    net = package.FTTransformer(
        n_cont_features=4,
        cat_cardinalities=[],
        d_out=1,
        n_blocks=params.blocks,
        d_block=params.width,
        attention_n_heads=params.heads,
        attention_dropout=0.2,
        ffn_d_hidden=params.feed_forward,
        ffn_d_hidden_multiplier=None,
        ffn_dropout=0.1,
        residual_dropout=0.0,
    ).eval()
    copy(scorer.tokens.first_token, net.cls_embedding.weight)
    copy(scorer.tokens.weight, net.cont_embeddings.weight)
    copy(scorer.tokens.bias, net.cont_embeddings.bias)
    for block, own in zip(net.backbone.blocks, scorer.blocks, strict=True):
        *before, between = (norm.norm for norm in parts_of(own, Norm))
        attention = block["attention"]
        layers = [attention.W_q, attention.W_k, attention.W_v, attention.W_out]
        pairs = [*zip(parts_of(own, TokenDense), [*layers, block["ffn"].linear1, block["ffn"].linear2], strict=True)]
        pairs += [(between, block["ffn_normalization"]), *((norm, block["attention_normalization"]) for norm in before)]
        for source, target in pairs:
            target.load_state_dict(source.state_dict())
    net.backbone.output.normalization.load_state_dict(parts_of(scorer.layers, Norm)[-1].norm.state_dict())
    net.backbone.output.linear.load_state_dict(parts_of(scorer.layers, TokenDense)[-1].state_dict())
    expected = net(prepared(scorer), None).detach().numpy()
    np.testing.assert_allclose(outputs_of(scorer), expected, **EXACT)


def test_embeddings_have_the_outputs_of_the_package_rtdl_num_embeddings():
    package = pytest.importorskip("rtdl_num_embeddings")
    generator, x = torch.Generator().manual_seed(0), torch.from_numpy(features_of())
    edges = np.quantile(features_of(), np.linspace(0.0, 1.0, 8), axis=0).T.astype(np.float32)
    edges[1, 2:4] = edges[1, 2]  # a feature with fewer bins
    bins = [torch.from_numpy(np.unique(row)) for row in edges]

    own = PiecewiseLinear(edges, 6, generator)
    theirs = package.PiecewiseLinearEmbeddings(bins, 6, activation=True, version="A")
    copy(own.linear.weight, theirs.linear.weight)
    copy(own.linear.bias, theirs.linear.bias)
    np.testing.assert_allclose(own(x).detach(), theirs(x).detach(), **EXACT)

    own = PiecewiseLinear(edges, 6, generator, is_version_b=True)
    theirs = package.PiecewiseLinearEmbeddings(bins, 6, activation=False, version="B")
    torch.nn.init.normal_(own.weight, generator=generator)
    for source, target in [(own.slope, theirs.linear0.weight), (own.bias, theirs.linear0.bias)]:
        copy(source, target)
    copy(own.weight, theirs.linear.weight)
    np.testing.assert_allclose(own(x).detach(), theirs(x).detach(), rtol=1e-6, atol=2e-6)

    params = params_of("tabm", embedding="periodic", embedding_width=6, frequencies=5, frequency_scale=0.3)
    own = Periodic(4, params, generator, has_biases=False)
    theirs = package.PeriodicEmbeddings(4, 6, n_frequencies=5, lite=False)
    copy(own.frequencies, theirs.periodic.weight)
    copy(own.linear.weight, theirs.linear.weight)
    copy(own.linear.bias, theirs.linear.bias)
    np.testing.assert_allclose(own(x).detach(), theirs(x).detach(), **EXACT)


def realmlp_of(config):
    """Return a function from (n, 4) features to the outputs of pytabkit's net, and the net's named parameters."""
    data, base = pytest.importorskip("pytabkit.models.data.data"), pytest.importorskip("pytabkit.models.nn_models.base")
    from pytabkit.models.nn_models.models import NNFactory
    from pytabkit.models.training.coord import HyperparamManager

    info = data.TensorInfo
    infos = {"x_cont": info(feat_shape=[4]), "x_cat": info(cat_sizes=[]), "y": info(cat_sizes=[0])}

    def table(x):
        empty = torch.zeros((len(x), 0), dtype=torch.long)
        return data.DictDataset({"x_cont": x, "x_cat": empty, "y": torch.zeros(len(x), 1)}, infos)

    with base.set_hp_context(HyperparamManager(**config)):
        net, _ = NNFactory(**config).create(infos).fit_transform(table(torch.from_numpy(features_of())))
    net.eval()
    return lambda x: net(table(x)).tensors["x_cont"], [each for _, each in net.named_parameters()]


def test_realmlp_has_the_outputs_of_the_package_pytabkit():
    """With equal inputs: the package's quantiles are interpolated, so the raw features of both nets differ."""
    defaults = pytest.importorskip("pytabkit.models.sklearn.default_params").DefaultParams.RealMLP_TD_CLASS
    params = params_of("realmlp", inputs="standardised")
    config = defaults | {"hidden_sizes": list(params.hidden), "use_ls": False, "tfms": []}
    net, theirs = realmlp_of(config)
    scorer = created("realmlp", inputs="standardised")
    (embedding,) = parts_of(scorer.row, Periodic)
    # The package has the features after all embeddings, and gradrank has each one after its own embedding.
    order = np.r_[[4 * feature + at for feature in range(4) for at in range(3)], 3, 7, 11, 15]
    own = [embedding.frequencies[:, None], embedding.linear.weight, embedding.phases[:, None]]
    own += [embedding.linear.bias[:, None], scorer.factors.factors[None, order], scorer.dense[0].weights[order]]
    for layer in range(3):
        own += [scorer.dense[layer].weights] if layer else []
        own += [scorer.dense[layer].biases[None]]
        own += [scorer.activations[layer].bends[None]] if layer < 2 else []
    for source, target in zip(own, theirs, strict=True):
        copy(source, target)
    np.testing.assert_allclose(outputs_of(scorer), net(prepared(scorer)).detach().numpy(), rtol=0, atol=2e-6)


def diabetes():
    """Return the standardised features and targets of 300 training rows and 142 test rows."""
    x, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    x, y = x[order].astype(np.float32), ((y[order] - y.mean()) / y.std()).astype(np.float32)
    mean, scale = x[:300].mean(axis=0), x[:300].std(axis=0)
    return (x - mean) / scale, y


def error_after_training(outputs, parameters_of_step, y, epochs=40, seed=0):
    """Train with the squared error of each member on batches of 50 of the 300 rows, and return the error on the rest.

    outputs: function from row numbers to (n, members) outputs. parameters_of_step: function from the progress to the
    optimiser, which sets the schedules.
    """
    y, shuffle = torch.from_numpy(y), np.random.default_rng(seed)
    for epoch in range(epochs):
        for number, rows in enumerate(np.array_split(shuffle.permutation(300), 6)):
            optimiser = parameters_of_step((epoch + number / 6) / epochs)
            optimiser.zero_grad()
            (outputs(rows) - y[rows, None]).square().mean().backward()
            optimiser.step()
    with torch.no_grad():
        return float((outputs(np.arange(300, 442)).mean(dim=1) - y[300:]).square().mean())


def own_error(name, seed, **changes):
    x, y = diabetes()
    params = params_of(name, inputs="standardised", **changes)
    scorer, optimiser = create_scorer(x, params, seed)

    def step(progress):
        scorer.layers.train()
        scorer.start_step(optimiser, progress)
        return optimiser

    def outputs(rows):
        if len(rows) > 100:
            scorer.layers.eval()
        return scorer.outputs(rows).flatten(1)

    return error_after_training(outputs, step, y, seed=seed)


def package_error(net, forward, optimiser, seed):
    """Return the error of a package's net, whose outputs are forward(features)."""
    x, y = diabetes()

    def outputs(rows):
        net.train(len(rows) <= 100)
        return forward(torch.from_numpy(x[rows])).flatten(1)

    return error_after_training(outputs, lambda progress: optimiser, y, seed=seed)


def assert_similar(own, theirs):
    """Check that the ranges of the errors overlap, and that the means differ by less than the larger range."""
    widest = max(np.ptp(own), np.ptp(theirs), 0.02)
    assert abs(np.mean(own) - np.mean(theirs)) < widest, (own, theirs)
    assert max(own) < 0.75  # the mean of the targets has the error 1


def test_tabm_is_trained_as_by_its_package():
    package = pytest.importorskip("tabm")
    changes = {"hidden": (32, 32), "submodels": 8}
    own, theirs = [own_error("tabm", seed, **changes) for seed in SEEDS], []
    for seed in SEEDS:
        torch.manual_seed(seed)
        net = package.TabM.make(n_num_features=10, d_out=1, n_blocks=2, d_block=32, k=8)
        optimiser = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=3e-4)
        theirs.append(package_error(net, net, optimiser, seed))
    assert_similar(own, theirs)


def test_ft_transformer_is_trained_as_by_its_package():
    package = pytest.importorskip("rtdl_revisiting_models")
    changes = {"width": 16, "heads": 4, "feed_forward": 21, "blocks": 2, "learning_rate": 1e-3}
    own, theirs = [own_error("ft_transformer", seed, **changes) for seed in SEEDS], []
    for seed in SEEDS:
        torch.manual_seed(seed)
        defaults = package.FTTransformer.get_default_kwargs(3) | {"n_blocks": 2, "d_block": 16, "attention_n_heads": 4}
        net = package.FTTransformer(n_cont_features=10, cat_cardinalities=[], d_out=1, **defaults)
        optimiser = torch.optim.AdamW(net.make_parameter_groups(), lr=1e-3, weight_decay=1e-5)
        theirs.append(package_error(net, partial(net, x_cat=None), optimiser, seed))
    assert_similar(own, theirs)


@pytest.mark.filterwarnings("ignore:::pytabkit", "ignore:::pytorch_lightning", "ignore:::lightning_fabric")
def test_realmlp_is_trained_as_by_its_package():
    """The package trains itself, with the same activation, learning rate, epochs and batches."""
    package = pytest.importorskip("pytabkit")
    x, y = diabetes()
    own, theirs = [own_error("realmlp", seed, hidden=(32, 32), learning_rate=0.04) for seed in SEEDS], []
    for seed in SEEDS:
        settings = {"hidden_sizes": [32, 32], "act": "selu", "lr": 0.04, "n_epochs": 40, "batch_size": 50}
        settings |= {"tfms": [], "normalize_output": False, "clamp_output": False}
        model = package.RealMLP_TD_Regressor(device="cpu", random_state=seed, n_threads=1, val_fraction=0.0, **settings)
        model.fit(x[:300], y[:300])
        theirs.append(float(np.square(model.predict(x[300:]).ravel() - y[300:]).mean()))
    assert_similar(own, theirs)
