"""Steps of trained nets: products, cosines and attention per document, files, quantiles, encodings of features."""

import gradrank

gradrank.pin()

# isort: split
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gradrank.training.nets.embeddings import CosineOfTurns, encoding_arrays
from gradrank.training.nets.layer_functions import affine, attend_within, linear_per_token, selu
from gradrank.training.nets.layers import WIDE, Dense
from gradrank.training.nets.net_files import load_net
from gradrank.training.nets.scorer import quantiles, robust_standardisation
from gradrank.training.nets.steps import cosine_of_turns
from random_forms import random_features, random_steps


def drawn(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("inputs", [1, 3, 4, 7])
def test_a_row_of_a_product_does_not_depend_on_the_other_rows(inputs, dtype):
    x, weights, biases = drawn(11, inputs, dtype=dtype), drawn(inputs, 5, seed=1, dtype=dtype), drawn(5, dtype=dtype)
    whole = affine(x, weights, biases)
    np.testing.assert_allclose(whole, x @ weights + biases, rtol=1e-5, atol=1e-5)
    for start in range(len(x)):
        for stop in range(start + 1, len(x) + 1):
            assert np.array_equal(affine(x[start:stop], weights, biases), whole[start:stop])


def test_products_with_weights_per_token():
    x, weights = drawn(6, 3, 5), drawn(3, 5, 2, seed=1)
    np.testing.assert_allclose(linear_per_token(x, weights), np.einsum("ntw,twv->ntv", x, weights), atol=1e-5)


def test_cosines_are_exact_to_single_precision_and_equal_in_torch_and_numpy():
    turns = np.linspace(-5.0, 5.0, 200_001).astype(np.float32)
    found = cosine_of_turns(turns)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.cos(2.0 * np.pi * turns.astype(np.float64)), rtol=0, atol=2.5e-7)
    assert cosine_of_turns(torch.from_numpy(turns)).numpy().tobytes() == found.tobytes()


def test_the_derivative_of_cosines_is_that_of_finite_differences():
    turns = torch.linspace(-2.0, 2.0, 41, dtype=torch.float64).add(0.013).requires_grad_()
    assert torch.autograd.gradcheck(CosineOfTurns.apply, (turns,), eps=1e-6, atol=1e-5)


def test_selu_is_that_of_torch():
    x = np.r_[drawn(100) * 5.0, 0.0, -100.0, 100.0].astype(np.float32)
    np.testing.assert_allclose(selu(x), torch.nn.functional.selu(torch.from_numpy(x)).numpy(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("queries", [1, 5])
def test_attention_within_documents_is_that_of_torch_and_of_each_document_alone(queries):
    query, key, value = drawn(3, queries, 6), drawn(3, 5, 6, seed=1), drawn(3, 5, 6, seed=2)
    found = attend_within(query, key, value, 2)
    heads = [torch.from_numpy(x).unflatten(2, (2, 3)).transpose(1, 2) for x in (query, key, value)]
    expected = torch.nn.functional.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-6)
    for i in range(3):
        assert np.array_equal(attend_within(query[i : i + 1], key[i : i + 1], value[i : i + 1], 2)[0], found[i])


def test_a_saved_net_of_steps_has_equal_scores_and_scores_of_parts(tmp_path):
    net, features = random_steps(np.random.default_rng(0), outputs=2, log_limit=2.0), np.tile(random_features(), (9, 1))
    scores = net.scores(features)
    net.save(tmp_path / "net.safetensors")
    assert np.array_equal(load_net(tmp_path / "net.safetensors").scores(features), scores)
    assert np.array_equal(net.scores(features[137:139]), scores[137:139])
    assert net.scores(features[:0]).shape == (0,)


def test_a_weight_of_two_counts_like_two_rows_in_quantiles():
    features, weights = drawn(30, 2), np.random.default_rng(1).integers(1, 4, 30)
    levels = np.linspace(0.0, 1.0, 13)
    repeated = quantiles(np.repeat(features, weights, axis=0), levels)
    assert np.array_equal(quantiles(features, levels, weights.astype(float)), repeated)
    ranks = np.quantile(features, levels, axis=0, method="inverted_cdf").T
    assert np.array_equal(quantiles(features, levels), ranks)


def test_robust_scales_of_features_whose_quartiles_are_equal():
    features = np.zeros((9, 3), np.float32)
    features[:, 0], features[0, 1] = np.arange(9), 6.0
    median, scale = robust_standardisation(features)
    assert median.tolist() == [4.0, 0.0, 0.0] and scale.tolist() == [4.0, 3.0, 1.0]


def test_the_piecewise_linear_encoding_of_features_with_different_numbers_of_bins():
    edges = np.array([[0.0, 1.0, 3.0, 4.0], [0.0, 0.0, 2.0, 2.0], [5.0, 5.0, 5.0, 5.0]])
    unit, offset, low, high = encoding_arrays(edges)

    def encoded(value):
        return np.clip(value * unit + offset, low, high).round(6).tolist()

    assert encoded(2.0) == [[1.0, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    assert encoded(-1.0) == [[-1.0, 0.0, 0.0], [0.0, 0.0, -0.5], [0.0, 0.0, 0.0]]
    assert encoded(6.0) == [[1.0, 1.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize(("inputs", "outputs"), [(WIDE, WIDE), (300, WIDE + 1), (WIDE - 1, 300), (300, 64)])
def test_only_layers_that_are_wide_on_both_sides_have_numpys_products(inputs, outputs):
    layer = Dense.glorot(inputs, outputs, torch.Generator().manual_seed(1))
    x = torch.rand((60, inputs), generator=torch.Generator().manual_seed(2), requires_grad=True)
    of_torch = torch.nn.functional.linear(x, layer.weight, layer.bias)
    of_numpy = x.detach().numpy() @ layer.weight.detach().numpy().T
    expected = of_numpy if min(inputs, outputs) >= WIDE else of_torch.detach().numpy()
    found = layer(x)
    assert np.array_equal(found.detach().numpy(), expected)
    slopes = [torch.autograd.grad(y.square().sum(), [x, layer.weight, layer.bias]) for y in (found, of_torch)]
    for one, two in zip(*slopes, strict=True):
        np.testing.assert_allclose(one.numpy(), two.numpy(), rtol=1e-4, atol=1e-4)
