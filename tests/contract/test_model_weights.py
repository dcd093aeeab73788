"""The contract of a model about weights, tested for every registered model like the contract in test_models.

- A model that uses weights learns more from queries with larger weights. Weights of 1 have no effect, and a query of
  weight 0 is left out. In training without random numbers, an integer weight equals that many copies of the query.
- Weights that a model cannot use are refused.
"""

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from gradrank.base.errors import GradrankError
from gradrank.training.contract.test_models import (
    case,
    collection,
    every_model,
    first_models,
    quick,
    random_part,
    saved,
    score,
    training_code,
)
from gradrank.training.fit import fit as fit_with_weights
from gradrank.training.registry import models
from gradrank.training.selection import measure

weighted_models = pytest.mark.parametrize("cls", [case(cls) for cls in models().values() if cls.uses_weights])
# Without random samples of queries, documents and features, and without limits on the number of documents, which count
# copies but not weights.
WHOLE = {"batch_queries": 10_000, "dropout": 0.0, "noise": 0.0, "subsample": 1.0, "drop_rate": 0.0, "gap": 1e-9}
WHOLE |= {"min_data_in_leaf": 1, "num_leaves": 3, "bagging_freq": 0, "rounds": 5}
WHOLE |= {"reg_lambda": 0.0, "min_child_weight": 0.0}  # XGBoost divides weights by their mean
COPIES = 1e-5  # largest difference between scores with weights and with copies, relative to the largest score


def of_queries(part, weights):
    """Return `part` with the (q,) weights of its queries."""
    return replace(part, weights=np.asarray(weights, dtype=np.float64)[part.query_of_row])


def fit_weighted(cls, train, params=None):
    params = quick(cls) if params is None else params
    return fit_with_weights(cls, train, rounded(2), params, 1, lambda step, **values: None)


def rounded(seed):
    """Return a random part whose features have eleven values, so that trees have the same bins with copies."""
    part = random_part(seed)
    part.features[:] = np.round(part.features, 1)
    return part


def copied(part, times):
    """Return `part` with times[q] copies of each query q."""
    queries = np.repeat(np.arange(part.queries), times)
    rows = np.concatenate([np.arange(part.offsets[q], part.offsets[q + 1]) for q in queries])
    return collection(part.features[rows], part.labels[rows], np.diff(part.offsets)[queries])


@weighted_models
def test_weights_of_one_are_no_weights(cls, tmp_path):
    part = rounded(1)
    with_ones = fit_weighted(cls, of_queries(part, np.ones(part.queries)))
    assert saved(with_ones, tmp_path / "ones") == saved(fit_weighted(cls, part), tmp_path / "none")


@weighted_models
def test_a_query_of_weight_0_is_absent(cls, tmp_path):
    part = rounded(1)
    weights = np.arange(part.queries) % 3.0
    present = of_queries(part, weights).select_queries(weights > 0)
    with_zeros = fit_weighted(cls, of_queries(part, weights))
    assert saved(with_zeros, tmp_path / "zeros") == saved(fit_weighted(cls, present), tmp_path / "absent")


@weighted_models
def test_an_integer_weight_is_that_many_copies_where_training_has_no_random_numbers(cls):
    try:
        params = quick(cls, **{name: value for name, value in WHOLE.items() if name in cls.Params.model_fields})
    except ValidationError:  # as for random forests, which always have random samples
        params = quick(cls)
    if cls.uses_seed(params):
        pytest.skip("the random numbers of the training differ")
    train, test = rounded(1), random_part(3)
    times = np.random.default_rng(0).integers(1, 4, train.queries)
    scores = score(fit_weighted(cls, copied(train, times), params), test)
    weighted = score(fit_weighted(cls, of_queries(train, times), params), test)
    np.testing.assert_allclose(weighted, scores, rtol=0, atol=COPIES * np.abs(scores).max())


@pytest.mark.parametrize("cls", [cls for cls in first_models(training_code) if cls.values[0].uses_weights])
def test_queries_with_small_weights_have_little_effect(cls):
    good, bad, test = rounded(1), rounded(4), random_part(3)
    labels = np.r_[good.labels, 2 - bad.labels]  # the second half contradicts the first
    both = collection(np.r_[good.features, bad.features], labels, (12,) * (good.queries + bad.queries))
    weights = np.where(np.arange(both.queries) < good.queries, 1.0, 1e-3)
    model = fit_weighted(cls, of_queries(both, weights))
    alone = measure("ndcg@10", score(fit_weighted(cls, good), test), test.labels, test.offsets)
    assert measure("ndcg@10", score(model, test), test.labels, test.offsets) > alone - 0.05


@every_model
def test_weights_that_the_model_cannot_use_are_refused(cls):
    part = random_part(1)
    uneven = replace(part, weights=np.where(np.arange(part.rows) == 30, 2.0, 1.0))
    if cls.uses_weights is None:
        with pytest.raises(GradrankError, match=f"{cls.name}: does not use weights"):
            fit_weighted(cls, of_queries(part, np.arange(part.queries) + 1.0))
    elif cls.uses_weights == "queries":
        with pytest.raises(GradrankError, match=f"{cls.name}: query 3 has documents of different weights"):
            fit_weighted(cls, uneven)
    else:
        score(fit_weighted(cls, uneven), part)
