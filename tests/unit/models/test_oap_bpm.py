"""OAP-BPM: a committee of PRanks, each on its own part of one stream, and the mean of their weights."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gradrank.data.collection import Collection
from gradrank.models.oap_bpm import OAPBPM
from gradrank.models.prank import PRank, feature_unit
from gradrank.training.selection import measure
from gradrank.training.solvers.perceptron import committee_epoch, prank_epoch


def linear_prank(x, unit, grades, rows, levels):
    """(d,) weights and (k-1,) thresholds of one PRank over the stream `rows`."""
    squared_scale = PRank.squared_scale(x.shape[1], PRank.Params())
    weights, thresholds = np.zeros_like(squared_scale), np.zeros(levels - 1)
    prank_epoch(x, unit, grades, rows, squared_scale, weights, thresholds)
    return weights[0, 1:], thresholds


def drawn(seed: int, n=300, levels=4):
    """Sparse features and grades: quantiles of the same noisy linear form at every seed."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6)).astype(np.float32)
    x[rng.random(x.shape) < 0.3] = 0.0
    value = x @ [2.0, 1.0, -1.0, 0.5, 0.2, 0.0] + 3.0 * rng.normal(size=n)
    return x, np.digitize(value, np.quantile(value, np.arange(1, levels) / levels)).astype(np.int32)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.sampled_from([0.3, 0.5, 0.7, 1.0]))
def test_each_member_is_a_prank_on_the_documents_that_it_saw(seed, members, share):
    """The coins are replayed: member m sees document i where draw (i, m) of the stream is below the share."""
    x, grades = drawn(seed)
    unit = feature_unit(x)
    rows = np.random.default_rng(seed).permutation(len(x))
    weights, thresholds = np.zeros((x.shape[1], members)), np.zeros((members, 3))
    rng = np.random.default_rng(seed + 1)
    _, seen = committee_epoch(x, unit, grades, rows, share, rng, weights, thresholds)

    coins = np.random.default_rng(seed + 1).random((len(x), members)) < share
    assert seen == coins.sum()
    for m in range(members):
        w, b = linear_prank(x, unit, grades, rows[coins[:, m]], 4)
        np.testing.assert_allclose(weights[:, m], w, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(thresholds[m], b)
        assert (np.diff(thresholds[m]) >= 0).all()


def collection(seed: int, queries=40, documents=20) -> Collection:
    x, grades = drawn(seed, queries * documents)
    return Collection(x, grades, np.arange(queries + 1) * documents, np.arange(queries))


def fit(train, vali, seed=0, **params):
    history: list[dict[str, float]] = []
    model = OAPBPM.fit(train, vali, OAPBPM.Params(**params), seed, lambda step, **v: history.append(v))
    return model, history


def test_a_committee_that_sees_everything_is_prank():
    train, vali = collection(2), collection(3)
    model, history = fit(train, vali, members=3, tau=(1.0,), epochs=30, patience=30, seed=5)
    alone: list[dict[str, float]] = []
    prank = PRank.fit(train, vali, PRank.Params(epochs=30, patience=30), 5, lambda step, **v: alone.append(v))
    told = [{"tau": 1.0, "members": 3, "epoch": epoch} for epoch in range(1, 31)]
    assert [row | own for row, own in zip(alone, told, strict=True)] == history
    np.testing.assert_allclose(model.weights, prank.weights, rtol=1e-12)


def test_the_number_of_perceptrons_is_chosen_on_validation():
    """The first N of a committee are the committee of N: the same stream and the same coins."""
    train, vali = collection(6), collection(7)
    model, history = fit(train, vali, members=[2, 9, 4], tau=(0.5,), epochs=6, select_by="ndcg@5")
    assert [(row["epoch"], row["members"]) for row in history] == [
        (epoch, number) for epoch in range(1, 7) for number in (2, 9, 4)
    ]
    values = [row["vali_ndcg@5"] for row in history]
    best = history[int(np.argmax(values))]
    reached = measure("ndcg@5", model.score(vali.features, vali.offsets), vali.labels, vali.offsets)
    assert reached == max(values) and len(set(values)) > 6
    alone, own = fit(train, vali, members=9, tau=(0.5,), epochs=6, select_by="ndcg@5")
    assert own == [row for row in history if row["members"] == 9]
    if best["members"] == 9:
        np.testing.assert_array_equal(alone.weights, model.weights)


def test_patience_counts_epochs_not_numbers():
    data = collection(9)
    _, history = fit(data, collection(10), members=[3, 5], tau=(0.5,), patience=2, select_by="ndcg@5")
    values = [row["vali_ndcg@5"] for row in history]
    assert len(values) == np.argmax(values) + 1 + 2 * 2 < 200
