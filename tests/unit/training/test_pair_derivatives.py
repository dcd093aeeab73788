"""Tests of the derivatives of pair losses against the gradients of the losses and finite differences."""

import numpy as np
import pytest

from gradrank.training.losses.swap_weighted import lambdaloss, lambdarank, yeti
from gradrank.training.solvers.pair_derivatives import lambda_derivatives, yeti_derivatives

OFFSETS = np.array([0, 7, 8, 20, 20, 23])
LABELS = np.random.default_rng(1).integers(0, 4, 23).astype(np.int32)
SCORES = np.random.default_rng(2).normal(size=23)
DATA = (SCORES, LABELS, OFFSETS)


def rng(seed=7):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("mu", [0.5, 10.0])
@pytest.mark.parametrize("sigma", [1.0, 2.0])
@pytest.mark.parametrize("cutoff", [3, 10_000])
def test_slopes_are_the_loss_s(mu, sigma, cutoff):
    slopes, _ = lambda_derivatives(LABELS, OFFSETS, rng(), mu=mu, sigma=sigma, cutoff=cutoff)(SCORES)
    _, gradient = lambdaloss(*DATA, mu=mu, sigma=sigma, cutoff=cutoff)
    np.testing.assert_allclose(slopes, gradient * np.log(2.0), rtol=1e-12, atol=1e-15)


def test_without_mu_they_are_lambdarank_s():
    slopes, _ = lambda_derivatives(LABELS, OFFSETS, rng(), mu=0.0)(SCORES)
    np.testing.assert_allclose(slopes, lambdarank(*DATA)[1], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("draws", "cutoff"), [(1, 10_000), (10, 10_000), (10, 3)])
def test_yeti_slopes_are_the_loss_s(draws, cutoff):
    slopes, _ = yeti_derivatives(LABELS, OFFSETS, rng(), draws=draws, cutoff=cutoff)(SCORES)
    _, gradient = yeti(*DATA, rng=rng(), draws=draws, cutoff=cutoff)
    np.testing.assert_allclose(slopes, gradient, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("of", [lambda_derivatives, yeti_derivatives])
@pytest.mark.parametrize("draws", [1, 4])
def test_curvatures_are_the_slopes_derivatives(of, draws):
    """Both sides use the same random draws, and the steps are too small to change an order."""
    _, curvatures = of(LABELS, OFFSETS, rng(), draws=draws)(SCORES)
    step = 1e-6
    for i in range(len(SCORES)):
        moved = step * (np.arange(len(SCORES)) == i)
        up, down = (of(LABELS, OFFSETS, rng(), draws=draws)(SCORES + sign * moved)[0][i] for sign in (1, -1))
        assert (up - down) / (2 * step) == pytest.approx(curvatures[i], rel=1e-6, abs=1e-9)


def test_noise_makes_weights_the_mean_over_orders():
    several = lambda_derivatives(LABELS, OFFSETS, rng(3), mu=1.0, draws=5)(SCORES)[0]
    one = lambda_derivatives(LABELS, OFFSETS, rng(3), mu=1.0, draws=1)  # its generator goes on from call to call
    np.testing.assert_allclose(several, np.mean([one(SCORES)[0] for _ in range(5)], axis=0), rtol=1e-12)
