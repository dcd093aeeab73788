"""AdaRank: its formulas, the bound on its training error, and the traps it is known for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradrank.data.collection import Collection
from gradrank.models.adarank import AdaRank, AdaRankNDCG, boost
from gradrank.training.selection import Criterion, measure
from made_rankings import noisy_copies, silent

seeds = st.integers(0, 2**32 - 1)
measures = st.sampled_from(["map", "ndcg@3", "ndcg@10"])
small = settings(max_examples=40, deadline=None)


def collection(seed: int, queries=12, documents=9, features=4, noise=1.0) -> Collection:
    return noisy_copies(seed, queries, documents, features, noise)


def ensemble_of(data: Collection, name: str, rounds) -> np.ndarray:
    """E(f_t, q) of the kept rounds, scored as a trained model would score."""
    ranker = AdaRank([kept.term for kept in rounds])
    return Criterion(name, data.labels, data.offsets).per_query(ranker.score(data.features, data.offsets))


@small
@given(seeds, measures)
def test_every_round_follows_the_paper(seed, name):
    """Xu & Li 2007, Figure 1: P from the ensemble so far, E of the chosen feature, alpha from both."""
    data = collection(seed)
    kept: list = []
    for found in boost(data, name, rounds=60):
        p = np.exp(-ensemble_of(data, name, kept)) if kept else np.ones(data.queries)
        p /= p.sum()
        np.testing.assert_allclose(found.weights, p, rtol=1e-12)
        feature = data.features[:, found.term.feature]
        np.testing.assert_array_equal(found.weak, Criterion(name, data.labels, data.offsets).per_query(feature))
        alpha = 0.5 * np.log((p * (1 + found.weak)).sum() / max((p * (1 - found.weak)).sum(), 1e-6))
        # Of a feature that orders all queries rightly alpha has no bound; it is held to that of one in a million.
        assert found.term.weight == pytest.approx(alpha, rel=1e-9 if alpha < 7 else 1e-6)
        kept.append(found)
        np.testing.assert_array_equal(found.ensemble, ensemble_of(data, name, kept))


@small
@given(seeds, measures)
def test_the_first_feature_is_the_best_of_all(seed, name):
    """The first of those that rank every query equally well."""
    data = collection(seed)
    values = [Criterion(name, data.labels, data.offsets).per_query(column) for column in data.features.T]
    chosen = next(boost(data, name, rounds=1)).term.feature
    # Where other values have the same mean, the last bit chooses, by the order of the sum.
    assert values[chosen].mean() == pytest.approx(max(each.mean() for each in values), rel=1e-12)
    assert not any(np.array_equal(each, values[chosen]) for each in values[:chosen])


def test_one_strong_feature_is_not_chosen_in_every_round():
    """With the rules of the paper alone, the same feature would be chosen in every round and P would not change."""
    data = collection(8, queries=60, documents=20, noise=1.5)
    data.features[:, 0] = data.labels + 0.5 * (data.features[:, 0] - data.labels)
    strong = Criterion("map", data.labels, data.offsets).per_query(data.features[:, 0])
    p = np.exp(-strong) / np.exp(-strong).sum()
    weak = [(p * Criterion("map", data.labels, data.offsets).per_query(x)).sum() for x in data.features.T]
    assert np.argmax(weak) == 0
    kept = list(boost(data, "map", rounds=100))
    assert {round.term.feature for round in kept} == {0, 1, 2, 3}
    assert kept[-1].ensemble.mean() > strong.mean() + 0.01


@pytest.mark.parametrize("model", [AdaRank, AdaRankNDCG])
def test_queries_without_relevant_documents_change_nothing(model):
    train, vali = collection(9, queries=30), collection(10, queries=30)
    rng = np.random.default_rng(0)
    empty = 40  # one query of 40 irrelevant documents in the middle
    cut = train.offsets[15]
    more = Collection(
        np.insert(train.features, [cut] * empty, rng.normal(size=(empty, 4)), axis=0).astype(np.float32),
        np.insert(train.labels, [cut] * empty, 0),
        np.r_[train.offsets[:16], train.offsets[15:] + empty],
        np.insert(train.qids, 15, 99),
    )
    plain, padded = (model.fit(data, vali, model.Params(), 3, silent) for data in (train, more))
    assert plain.terms == padded.terms


@pytest.mark.parametrize("model", [AdaRank, AdaRankNDCG])
def test_the_order_of_a_file_that_lists_relevant_documents_first_is_not_learned(model):
    """A constant feature would be perfect there, as ties keep file order."""
    data = collection(11, queries=40, documents=15, noise=2.0)
    rows = np.lexsort((-data.labels, data.query_of_row))
    x = np.c_[np.ones(data.rows), data.features[rows]].astype(np.float32)
    ranked = Collection(x, data.labels[rows], data.offsets, data.qids)
    assert Criterion("map", ranked.labels, ranked.offsets).per_query(x[:, 0]).mean() == 1.0
    assert measure("map", x[:, 0], ranked.labels, ranked.offsets) < 0.8, "by which rounds are chosen"
    fitted = model.fit(ranked, collection_with_constant(12), model.Params(), 0, silent)
    assert 0 not in {term.feature for term in fitted.terms}


def collection_with_constant(seed: int) -> Collection:
    data = collection(seed, queries=40, documents=15, noise=2.0)
    x = np.c_[np.ones(data.rows), data.features].astype(np.float32)
    return Collection(x, data.labels, data.offsets, data.qids)


def test_a_faultless_feature_has_a_finite_weight():
    data = collection(15, noise=0.0)
    model = AdaRank.fit(data, data, AdaRank.Params(rounds=20), 0, silent)
    scores = model.score(data.features, data.offsets)
    assert np.isfinite(scores).all() and measure("map", scores, data.labels, data.offsets) == 1.0
