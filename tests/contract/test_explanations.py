"""Explanations of models: contributions sum to the difference, and exact and sampled values agree.

The method of an explanation depends on the scoring form, which models with the same training function and scorer share.
"""

import numpy as np

from gradrank.explanations.pairs import explain_pair
from gradrank.explanations.shapley import Pair, sampled_shapley
from gradrank.training.contract.test_models import every_form, fitted, random_part
from gradrank.training.trained_fold import TrainedFold


@every_form
def test_contributions_sum_to_the_difference_and_equal_sampled_values(cls):
    trained = TrainedFold(fitted(cls), {"features": 5})
    features = random_part(3, sizes=(8,)).features
    found, reversed_pair = explain_pair(trained, features, 0, 5), explain_pair(trained, features, 5, 0)
    size = 1e-5 * max(1.0, np.abs(found.scores).max())
    assert abs(found.contributions.sum() - found.difference) <= size
    assert np.allclose(found.contributions, -reversed_pair.contributions, rtol=0, atol=size)
    sampled, errors, _ = sampled_shapley(Pair(trained, features, 0, 5), found.difference, seed=1)
    assert np.all(np.abs(found.contributions - sampled) <= 5.0 * np.hypot(errors, found.errors) + size)
