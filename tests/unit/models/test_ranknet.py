"""Linear RankNet at its optimum, the net against torch, and the training loop's promises."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from gradrank.models.lambdarank import LambdaRank
from gradrank.models.ranknet import RankNetTwoLayer
from gradrank.training.losses.pairwise import ranknet
from gradrank.training.nets.net import standardisation, standardised
from gradrank.training.nets.torch_training import create_scorer
from gradrank.training.solvers.linear import l2_path
from made_rankings import linear_grades, silent


@pytest.mark.parametrize("l2", [0.3, 0.01])
def test_linear_ranknet_is_logistic_regression_on_differences(l2):
    train = linear_grades(0, 40, 12)
    pairs = train.pairs
    x = train.features.astype(np.float64)
    differences = x[pairs.better] - x[pairs.worse]
    sign = np.where(np.arange(len(pairs)) % 2, 1.0, -1.0)
    oracle = LogisticRegression(C=1.0 / (l2 * len(pairs) * np.log(2.0)), fit_intercept=False, tol=1e-8)
    oracle.fit(differences * sign[:, None], sign)
    *_, (weights, cost) = l2_path(x, train.labels, train.offsets, ranknet, (1.0, l2))
    np.testing.assert_allclose(weights, oracle.coef_[0], rtol=2e-3)
    expected = np.logaddexp(0.0, -differences @ oracle.coef_[0]).mean() / np.log(2.0)
    assert cost == pytest.approx(expected, rel=1e-3)


def scorer_of(features, **changes):
    """Untrained, as it starts."""
    params = RankNetTwoLayer.Params(**changes)
    return create_scorer(features, params, seed=3)[0]


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("norm", ["none", "layer"])
@pytest.mark.parametrize("inputs", ["standardised", "log1p"])
def test_net_agrees_with_torch(activation, norm, inputs):
    features = 30.0 * linear_grades(7, 40, 12).features
    scorer = scorer_of(features, hidden=(16, 8), activation=activation, norm=norm, inputs=inputs)
    expected = scorer.outputs(np.arange(len(features)))[:, 0].detach().numpy()
    np.testing.assert_allclose(scorer.export().scores(features), expected, rtol=1e-4, atol=1e-6)


def test_a_trained_batch_norm_is_part_of_the_exported_weights():
    features = linear_grades(7, 40, 12).features
    scorer = scorer_of(features, hidden=(16, 8), norm="batch")
    for _ in range(3):
        scorer.outputs(np.arange(len(features)))
    scorer.layers.eval()
    expected = scorer.outputs(np.arange(len(features)))[:, 0].detach().numpy()
    assert len(scorer.export().layers) == 3
    np.testing.assert_allclose(scorer.export().scores(features), expected, rtol=1e-4, atol=1e-5)


def test_dropout_and_noise_are_of_training_alone():
    features = linear_grades(7, 40, 12).features
    scorer = scorer_of(features, dropout=0.5, noise=0.1)
    rows = np.arange(len(features))
    assert not np.array_equal(scorer.outputs(rows).detach(), scorer.outputs(rows).detach())
    scorer.layers.eval()
    expected = scorer.outputs(rows)[:, 0].detach().numpy()
    np.testing.assert_allclose(scorer.export().scores(features), expected, rtol=1e-4, atol=1e-6)


def test_standardisation_of_a_constant_feature_is_finite():
    features = np.array([[1.0, 5.0], [3.0, 5.0]], np.float32)
    np.testing.assert_array_equal(
        standardised(features, *standardisation(features)), np.array([[-1, 0], [1, 0]], np.float32)
    )


def test_training_leaves_torchs_generator_alone():
    import torch

    state = torch.get_rng_state()
    LambdaRank.fit(linear_grades(13, 40, 12), linear_grades(14, 40, 12), LambdaRank.Params(epochs=1), 5, silent)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_scores_do_not_depend_on_how_many_rows_are_taken_at_a_time(activation, monkeypatch):
    data = linear_grades(6, 40, 12)
    net = scorer_of(data.features, hidden=(8, 5), activation=activation).export()
    inputs, scores = standardised(data.features, net.mean, net.scale), net.scores(data.features)
    monkeypatch.setattr("gradrank.training.nets.net.ROWS", 7)
    np.testing.assert_array_equal(standardised(data.features, net.mean, net.scale), inputs)
    np.testing.assert_array_equal(net.scores(data.features), scores)
