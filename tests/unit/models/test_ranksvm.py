"""RankSVM against pair lists, scikit-learn's LinearSVC and the optimality conditions."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradrank.data.collection import Collection
from gradrank.models.ranksvm import RankSVM, RankSVML1Dual, RankSVMNDCG, RankSVMNDCGL2Dual
from gradrank.training.solvers import linear
from gradrank.training.solvers.ranksvm import (
    WeightedPairs,
    group_by_grade,
    solve_dual,
    solve_primal,
    sort_groups,
    violation_sums,
)

WEIGHTINGS = ("pair", "query", "ndcg")


def collection(sizes, features=6, highest=3, seed=0) -> Collection:
    rng = np.random.default_rng(seed)
    rows = sum(sizes)
    return Collection(
        features=rng.random((rows, features)).astype(np.float32),
        labels=rng.integers(0, highest + 1, rows).astype(np.int32),
        offsets=np.r_[0, np.cumsum(sizes)].astype(np.int64),
        qids=np.arange(len(sizes)),
    )


def listed_pairs(data: Collection):
    """(better, worse, query) by comparing every two rows."""
    query, labels = data.query_of_row, data.labels
    crucial = (query[:, None] == query) & (labels[:, None] > labels)
    better, worse = np.nonzero(crucial)
    return better, worse, query[better]


def pair_weights(data: Collection, weighting: str) -> np.ndarray:
    """tau from its definition, a pair at a time."""
    better, worse, query = listed_pairs(data)
    gap = data.labels[better] - data.labels[worse]
    tau = np.ones(len(better))
    for q in set(query):
        own = query == q
        if weighting == "query":
            tau[own] = 1.0 / own.sum()
        if weighting == "ndcg":
            grades = np.sort(data.labels[data.query_of_row == q])[::-1]
            ideal = sum(y * (len(grades) - i) for i, y in enumerate(grades, start=1))
            tau[own] = gap[own] / (len(set(query)) * ideal)
    return tau


@pytest.fixture(scope="module")
def small() -> Collection:
    return collection([1, 2, 5, 30, 40, 17])


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    highest=st.integers(0, 4),
    weighting=st.sampled_from(WEIGHTINGS),
    target=st.sampled_from([0.0, 1.0]),
    seed=st.integers(0, 10**6),
)
def test_sums_over_violations_equal_the_listed_pairs(sizes, highest, weighting, target, seed):
    data = collection(sizes, highest=highest, seed=seed)
    rng = np.random.default_rng(seed)
    scores = rng.integers(-4, 5, data.rows) / 2.0  # ties, and margins of exactly 1
    values = rng.normal(size=(data.rows, 2))
    better, worse, _ = listed_pairs(data)
    tau = pair_weights(data, weighting) * (scores[better] - scores[worse] < 1.0)
    terms = tau[:, None] * (values[better] - values[worse] - target)
    expected = np.zeros_like(values)
    np.add.at(expected, better, terms)
    np.subtract.at(expected, worse, terms)

    grades = group_by_grade(data, weighting)
    sums, total = violation_sums(grades, sort_groups(grades, scores), scores, values, target)
    np.testing.assert_allclose(sums, expected, atol=1e-12)
    np.testing.assert_allclose(total, terms.sum(axis=0), atol=1e-12)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_the_primal_solver_is_linear_svc_on_signed_differences(small, penalty, weighting, C):
    from sklearn.svm import LinearSVC

    C = C if weighting == "pair" else 100.0 * C
    features = small.features.astype(np.float64)
    better, worse, _ = listed_pairs(small)
    sign = np.where(np.arange(len(better)) % 2, 1, -1)  # it refuses a single class
    reference = LinearSVC(
        penalty=penalty, C=C, dual=False, fit_intercept=False, tol=1e-12 if penalty == "l2" else 1e-9,
        max_iter=10**6,
    )  # fmt: skip
    differences = (features[better] - features[worse]) * sign[:, None]
    reference.fit(differences, sign, sample_weight=pair_weights(small, weighting))
    weights = solve_primal(features, group_by_grade(small, weighting), C, np.zeros(6), penalty)
    np.testing.assert_allclose(weights, reference.coef_[0], atol=1e-6)


def test_duplicate_and_constant_features_have_a_solution():
    data = collection([30, 30], features=3)
    features = np.c_[data.features, data.features[:, 0], np.ones(60)].astype(np.float64)
    grades = group_by_grade(data, "pair")
    l2 = solve_primal(features, grades, 1.0, np.zeros(5))
    assert l2[0] == pytest.approx(l2[3], abs=1e-9) and l2[4] == 0.0
    sparse = solve_primal(features, grades, 1.0, np.zeros(5), "l1")
    single = solve_primal(features[:, :3].copy(), grades, 1.0, np.zeros(3), "l1")
    assert sparse[0] + sparse[3] == pytest.approx(single[0], abs=1e-7) and sparse[4] == 0.0


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_dual_and_primal_agree(small, weighting):
    C = 1.0 if weighting == "pair" else 100.0
    features = small.features.astype(np.float64)
    better, worse, _ = listed_pairs(small)
    cost = C * pair_weights(small, weighting)
    weights, _ = solve_dual(features, better, worse, cost, "l2", np.zeros(len(better)), 1e-13, np.random.default_rng(0))
    primal = solve_primal(features, group_by_grade(small, weighting), C, np.zeros(6))
    np.testing.assert_allclose(weights, primal, atol=1e-6)


def test_the_l1_loss_dual_meets_the_kkt_conditions(small):
    features = small.features.astype(np.float64)
    better, worse, _ = listed_pairs(small)
    cost = 0.1 * np.linspace(0.5, 1.5, len(better))
    w, alpha = solve_dual(features, better, worse, cost, "l1", np.zeros(len(better)), 1e-10, np.random.default_rng(0))
    differences = features[better] - features[worse]
    margin = differences @ w
    np.testing.assert_allclose(w, alpha @ differences, atol=1e-10)
    assert (alpha >= 0.0).all() and (alpha <= cost).all()
    assert (margin[alpha == 0.0] >= 1.0 - 1e-4).all()
    assert (margin[alpha == cost] <= 1.0 + 1e-4).all()
    np.testing.assert_allclose(margin[(alpha > 0.0) & (alpha < cost)], 1.0, atol=1e-4)


@pytest.mark.parametrize("cls", [RankSVM, RankSVMNDCG, RankSVML1Dual, RankSVMNDCGL2Dual])
def test_C_is_chosen_on_validation(small, cls):
    """The history holds every C; the model is the best of them, the smallest where several are."""
    history = []
    model = cls.fit(small, small, cls.Params(C=(10.0, 0.1, 1e-6)), 0, lambda step, **v: history.append(v))
    assert [values["C"] for values in history] == [1e-6, 0.1, 10.0]
    best = max(values["vali_map"] for values in history)
    assert next(values["C"] for values in history if values["vali_map"] == best) == model.C


def test_a_query_of_12_000_documents_of_31_grades_is_learned():
    data = collection([12_000], features=5, highest=30)
    data.features[:, 2] += data.labels / 15.0
    model = RankSVMNDCG.fit(data, data, RankSVMNDCG.Params(C=(100.0,)), 0, lambda step, **v: None)
    assert np.argmax(model.weights) == 2


@pytest.mark.parametrize("features", [8, 136])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_the_weights_do_not_depend_on_the_blocks(monkeypatch, features, penalty):
    data = collection(np.random.default_rng(4).integers(1, 90, 300), features=features)
    assert data.rows > 3 * linear.ALIGNED
    grades = group_by_grade(data, "pair")
    whole = solve_primal(data.features, grades, 1e-3, np.zeros(features), penalty)
    monkeypatch.setattr(linear, "BLOCK", 1)
    assert len(linear.blocks(data.features)) > 2
    assert np.array_equal(solve_primal(data.features, grades, 1e-3, np.zeros(features), penalty), whole)


def test_a_solution_for_listed_pairs_is_the_one_for_grouped_pairs_in_several_blocks(monkeypatch):
    data = collection(np.random.default_rng(5).integers(1, 40, 700))
    better, worse, query = listed_pairs(data)
    tau = group_by_grade(data, "query").weight[query]
    listed = WeightedPairs(better.astype(np.int32), worse.astype(np.int32), tau, data.offsets)
    monkeypatch.setattr(linear, "BLOCK", 1)
    assert len(linear.blocks(data.features)) > 1
    found, expected = (
        solve_primal(data.features, pairs, 1.0, np.zeros(6)) for pairs in (listed, group_by_grade(data, "query"))
    )
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_training_and_scores_need_no_float64_copy_of_the_features():
    data = collection([100] * 1000, features=50)  # 20 MB as float32
    grades = group_by_grade(data, "pair")
    solve_primal(data.features[:100], group_by_grade(collection([100]), "pair"), 1.0, np.zeros(50))  # compiles
    tracemalloc.start()
    weights = solve_primal(data.features, grades, 1e-3, np.zeros(50))
    _, training = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    RankSVM(weights, 1e-3).score(data.features, data.offsets)
    _, scoring = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert training < 5 * data.features.nbytes  # blocks of features and of sums; copies took 6 times as much
    assert scoring < data.features.nbytes / 2
