"""RankBoost's O(n d) round against its definition over explicit pairs, its bound, and its edges."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradrank.data.collection import Collection
from gradrank.data.pairs import crucial_pairs
from gradrank.models.rankboost import RankBoost, RankBoostParams, boost
from gradrank.training.solvers.weighted_terms import stump_thresholds
from made_rankings import silent

seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(["uniform", "ndcg_beta"])
small = settings(max_examples=40, deadline=None)


def collection(seed: int, queries=8, documents=9, features=3, grades=4, values=6) -> Collection:
    """Queries of 2 to `documents` documents with a crucial pair each; few values, so that ties occur."""
    rng = np.random.default_rng(seed)
    offsets = np.r_[0, np.cumsum(rng.integers(2, documents + 1, queries))]
    labels = rng.integers(0, grades, offsets[-1]).astype(np.int32)
    labels[offsets[:-1]] = (labels[offsets[:-1] + 1] + 1) % grades
    x = rng.integers(0, values, (offsets[-1], features)) + 0.5 * labels[:, None] * (rng.random(features) < 0.5)
    return Collection(x.astype(np.float32), labels, offsets, np.arange(queries))


def first_weights(data: Collection, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(better, worse, D_1) over the explicit pairs."""
    pairs = crucial_pairs(data.labels, data.offsets)
    weights = np.ones(len(pairs))
    if kind == "ndcg_beta":
        ideal = [np.sort(data.labels[a:b]) @ np.arange(b - a) for a, b in pairwise(data.offsets)]
        weights = (data.labels[pairs.better] - data.labels[pairs.worse]) / np.array(ideal)[pairs.query]
    return pairs.better, pairs.worse, weights / weights.sum()


@small
@given(seeds, kinds, st.booleans(), st.sampled_from([2, 256]))
def test_every_round_is_the_definition_over_pairs_and_thresholds(seed, kind, negative, thresholds):
    """r, alpha, D and the loss as Freund et al. 2003 print them: O(pairs * thresholds) a round."""
    data = collection(seed)
    better, worse, d = first_weights(data, kind)
    params = RankBoostParams(
        rounds=12, thresholds=thresholds, negative_weights=negative, pair_weights=kind, select_by="map"
    )
    stumps = [
        (feature, threshold)
        for feature, column in enumerate(data.features.T)
        for threshold in stump_thresholds(column, thresholds)
    ]
    loss = 1.0
    for term, reported in boost(data, params):
        r = {}
        for feature, threshold in stumps:
            h = data.features[:, feature] > threshold
            r[feature, threshold] = (d * (h[better].astype(float) - h[worse])).sum()
        strongest = max((abs if negative else float)(value) for value in r.values())
        chosen = r[term.feature, term.threshold]
        assert (abs(chosen) if negative else chosen) == pytest.approx(strongest, abs=1e-11)
        assert term.weight == pytest.approx(0.5 * np.log((1 + chosen) / (1 - chosen)), rel=1e-8)
        h = (data.features[:, term.feature] > term.threshold).astype(float)
        d = d * np.exp(term.weight * (h[worse] - h[better]))
        assert d.sum() <= np.sqrt(1 - chosen**2) + 1e-12  # Freund et al. 2003, section 3.2: Z <= sqrt(1 - r^2)
        loss *= d.sum()
        d /= d.sum()
        assert reported == pytest.approx(loss, rel=1e-9)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.integers(1, 12))
def test_thresholds_are_values_below_the_largest(values, count):
    column = np.array(values, np.float32)
    cuts = stump_thresholds(column, count)
    assert len(cuts) <= count and (np.diff(cuts) > 0).all()
    assert set(cuts) <= set(values) - {max(values)}
    if len(set(values)) <= count + 1:
        assert len(cuts) == len(set(values)) - 1


def test_thresholds_cut_a_continuous_feature_into_equal_shares():
    column = np.random.default_rng(0).permutation(10_000).astype(np.float32)
    shares = np.diff(np.r_[-1, stump_thresholds(column, 99), 9_999])
    assert shares.min() >= 99 and shares.max() <= 101


def test_a_faultless_stump_ends_training_with_a_finite_weight():
    labels = np.array([1, 0, 0, 2, 1, 1], np.int32)
    x = np.array([[9, 1, 0, 9, 1, 0]], np.float32).T
    data = Collection(x, labels, np.array([0, 3, 6]), np.array([1, 2]))
    model = RankBoost.fit(data, data, RankBoostParams(), 0, silent)
    assert model.terms == [(0, pytest.approx(7.25, abs=0.01), 1.0)]


def test_margins_beyond_float64_end_training():
    """Grades 2, 1, 0 need two stumps, which alternate and raise both margins by .27 per round without end."""
    labels = np.array([2, 1, 0], np.int32)
    data = Collection(labels[:, None].astype(np.float32), labels, np.array([0, 3]), np.array([1]))
    losses = [loss for _, loss in boost(data, RankBoostParams(rounds=20_000))]
    assert len(losses) < 20_000 and np.isfinite(losses).all() and losses[-1] < 1e-100
