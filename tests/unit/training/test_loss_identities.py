"""Tests of properties that the papers state of their losses: limits, bounds, decompositions and small examples."""

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.special import expit, log_softmax

from gradrank.measures.metrics import ndcg_at
from gradrank.training.losses.listwise import order_likelihood, returns
from gradrank.training.losses.smooth_ndcg import rank_distributions, sinkhorn, soft_sort
from gradrank.training.ndcg_gains import ALL_RANKS, gains_of, ideal_shares
from gradrank.training.registry import find_loss

OFFSETS = np.array([0, 6, 13, 14])
LABELS = np.random.default_rng(5).integers(0, 4, 14).astype(np.int32)
SCORES = np.random.default_rng(6).normal(size=14)


def cost_of(name, scores=SCORES, labels=LABELS, offsets=OFFSETS, **settings):
    return find_loss(name)(scores, np.asarray(labels, np.int32), np.asarray(offsets), **settings)[0]


def one_query(name, scores, labels, **settings):
    return cost_of(name, np.asarray(scores, float), labels, [0, len(labels)], **settings)


def ndcg(k, scores=SCORES, labels=LABELS, offsets=OFFSETS):
    return ndcg_at(scores, labels, offsets, k=k, convention="standard", empty=0.0)


@pytest.mark.parametrize(
    ("name", "settings", "ranks"),
    [
        ("approx_ndcg", {"temperature": 1e-4}, 99),
        ("gumbel_approx_ndcg", {"temperature": 1e-4}, 99),
        ("smoothrank", {"temperature": 1e-6}, 99),
        ("smoothrank", {"temperature": 1e-6, "cutoff": 3}, 3),
        ("pirank", {"temperature": 1e-3}, 99),
        ("pirank", {"temperature": 1e-3, "cutoff": 2}, 2),
        ("neural_ndcg", {"temperature": 1e-3}, 99),
        ("neural_ndcg", {"temperature": 1e-3, "cutoff": 2}, 2),
    ],
)
def test_smooth_losses_tend_to_ndcg(name, settings, ranks):
    assert cost_of(name, **settings) == pytest.approx(-ndcg(ranks).sum(), abs=1e-9)


@pytest.mark.parametrize("ranks", [3, 99])
def test_softrank_tends_to_what_ndcg_lacks(ranks):
    assert cost_of("softrank", delta=1e-4, cutoff=ranks) == pytest.approx((1.0 - ndcg(ranks)).sum(), abs=1e-9)


def test_softrank_s_rank_distributions_add_up_to_one():
    scores = SCORES[:6]
    for j in range(6):
        whole = rank_distributions(scores, j, math.sqrt(2.0), 6)
        np.testing.assert_allclose(whole.sum(axis=1), 1.0, rtol=1e-14)
        cut = rank_distributions(scores, j, math.sqrt(2.0), 3)
        np.testing.assert_array_equal(cut, whole[:, :3])
    equal = rank_distributions(np.zeros(3), 1, 1.0, 3)[-1]
    np.testing.assert_allclose(equal, [0.25, 0.5, 0.25])


def test_lambdaloss_decomposes_ndcg_exactly():
    """1 - NDCG = sum of wrong pairs' (G_i - G_j) d + sum over all pairs of min(G_i, G_j) d - (sum G - 1)."""
    share = ideal_shares(LABELS, OFFSETS, ALL_RANKS)
    for (a, b), expected in zip(pairwise(OFFSETS), 1.0 - ndcg(99), strict=True):
        ranked = a + np.argsort(-SCORES[a:b])
        wrong, least, crucial = 0.0, 0.0, 0.0
        for first in range(b - a):
            for second in range(first + 1, b - a):
                m, above, below = second - first, share[ranked[first]], share[ranked[second]]
                d = 1.0 / math.log2(1 + m) - 1.0 / math.log2(2 + m)
                wrong += max(below - above, 0.0) * d
                crucial += abs(below - above) * d
                least += min(above, below) * d
        assert wrong + least - (share[a:b].sum() - 1.0) == pytest.approx(expected, abs=1e-12)
        # As sigma falls, every pair costs log2(2) = 1: what is left of NDCG-Loss2 are its weights.
        assert one_query("lambdaloss", SCORES[a:b], LABELS[a:b], weighting="loss2", sigma=1e-12) == (
            pytest.approx(crucial, abs=1e-9)
        )


def test_lambdaloss_2_bounds_what_ndcg_lacks_where_one_document_is_relevant():
    for at in range(6):
        labels = (np.arange(6) == at).astype(np.int32)
        lack = 1.0 - ndcg(99, SCORES[:6], labels, np.array([0, 6]))[0]
        for sigma in (1.0, 5.0):
            assert one_query("lambdaloss", SCORES[:6], labels, weighting="loss2", sigma=sigma) >= lack


def test_lambdaloss_2_and_lambdarank_make_2_plus_plus():
    data, plain = (SCORES, LABELS, OFFSETS), find_loss("lambdaloss")
    base, steep = plain(*data, weighting="loss2"), plain(*data, weighting="loss2++", mu=3.0)
    rank = find_loss("lambdarank")(*data)
    assert steep[0] == pytest.approx(3.0 * base[0] + rank[0] / math.log(2.0), rel=1e-12)
    np.testing.assert_allclose(steep[1], 3.0 * base[1] + rank[1] / math.log(2.0), rtol=1e-10, atol=1e-13)


def test_listmle_of_two_documents_is_ranknet_s_cost():
    for difference in (-3.0, 0.0, 2.5):
        data = ([difference, 0.0], [1, 0])
        assert one_query("listmle", *data) == pytest.approx(one_query("ranknet", *data), rel=1e-14)


def test_listmle_s_likelihoods_of_all_orders_add_up_to_one():
    costs = [one_query("listmle", SCORES[:4], order) for order in permutations(range(4))]
    assert np.exp(-np.array(costs)).sum() == pytest.approx(1.0, rel=1e-12)


def test_listmle_draws_the_order_of_equal_grades():
    costs = {
        round(one_query("listmle", [0.0, 1.0, 3.0], [1, 1, 0], rng=np.random.default_rng(seed)), 12)
        for seed in range(20)
    }
    assert len(costs) == 2


def test_position_aware_listmle_weighs_the_first_ranks_most():
    """Three documents: 2^(3-r) - 1 is 3, 1, 0."""
    s = np.array([0.3, -1.0, 0.7])
    terms = [np.logaddexp.reduce(s) - s[0], np.logaddexp(s[1], s[2]) - s[1]]
    assert one_query("listmle", s, [2, 1, 0], positions=True) == pytest.approx(0.75 * terms[0] + 0.25 * terms[1])
    assert np.isfinite(one_query("listmle", np.zeros(3000), np.arange(3000) % 5, positions=True))


def test_softmax_with_one_relevant_document_is_its_log_likelihood():
    labels = np.array([0, 0, 1, 0, 0, 0])
    likelihood = -log_softmax(SCORES[:6])[2]
    for name in ("softmax", "unique_softmax"):
        assert one_query(name, SCORES[:6], labels) == pytest.approx(likelihood, rel=1e-13)
    assert one_query("softmax", SCORES[:6], 2 * labels) == pytest.approx(2.0 * likelihood, rel=1e-13)
    assert one_query("unique_softmax", SCORES[:6], 2 * labels) == pytest.approx(3.0 * likelihood, rel=1e-13)


def test_unique_softmax_by_a_loop_over_pairs():
    s, y = SCORES[:6], LABELS[:6]
    expected = sum((2.0 ** y[i] - 1.0) * (np.logaddexp.reduce([s[i], *s[y < y[i]]]) - s[i]) for i in range(6))
    assert one_query("unique_softmax", s, y) == pytest.approx(expected, rel=1e-13)


def test_soft_sort_is_a_permutation_when_cold_and_doubly_stochastic_after_sinkhorn():
    cold = soft_sort(SCORES[:6], 6, 1e-3)
    np.testing.assert_allclose(cold, np.eye(6)[np.argsort(-SCORES[:6])], atol=1e-12)
    warm = soft_sort(SCORES[:6], 6, 1.0)
    np.testing.assert_allclose(warm.sum(axis=1), 1.0)
    rows, columns = sinkhorn(warm)
    shared = rows[-1][:, None] * warm * columns[-1]
    np.testing.assert_allclose(shared.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(shared.sum(axis=0), 1.0, atol=1e-4)  # all of its 50 steps are taken
    assert abs(warm.sum(axis=0) - 1.0).max() > 1e-2


def test_squared_differences_of_all_pairs_are_n_times_the_centred_squares():
    s, y = SCORES[:6], LABELS[:6]
    d = y - s
    pairs = sum((d[i] - d[j]) ** 2 for i in range(6) for j in range(i))
    assert one_query("pairwise_mse", s, y) == pytest.approx(pairs, rel=1e-13)
    assert one_query("query_rmse", s, y) == pytest.approx(pairs / 6.0, rel=1e-13)
    assert one_query("pointwise_rmse", s, y) == pytest.approx(math.sqrt((d**2).mean()), rel=1e-13)


@pytest.mark.parametrize("grid", [0.0, 0.5])  # scores exactly a margin apart or equal, and not
def test_hinge_and_fidelity_by_a_loop_over_pairs(grid):
    scores = np.round(SCORES * 2.0) * grid if grid else SCORES
    for name, pair in (("pairwise_hinge", lambda o: max(0.0, 1.0 - o)), ("frank", lambda o: 1.0 - math.sqrt(expit(o)))):
        expected = sum(
            pair(scores[i] - scores[j])
            for a, b in pairwise(OFFSETS)
            for i in range(a, b)
            for j in range(a, b)
            if LABELS[i] > LABELS[j]
        )
        assert cost_of(name, scores) == pytest.approx(expected, rel=1e-12)


def test_two_documents_are_neighbours_in_every_order_of_yeti():
    """Their exchange changes NDCG by 1/D(1) - 1/D(2), the reciprocal rank by a half."""
    ranknet = one_query("ranknet", [0.4, 1.0], [1, 0])
    for measure, weight in (("ndcg", 1.0 - 1.0 / math.log2(3.0)), ("mrr", 0.5)):
        drawn = one_query("yeti", [0.4, 1.0], [1, 0], measure=measure, rng=np.random.default_rng(1), draws=50)
        assert drawn == pytest.approx(weight * ranknet, rel=1e-12)


def test_yeti_s_reciprocal_rank_ends_at_the_first_relevant_document():
    def pair(o):
        return math.log1p(math.exp(-o))

    # In order of score 0, 1, 0, 1: of the neighbours, (1, 2) and (2, 3) hold the first relevant one.
    assert one_query("yeti", [4.0, 3.0, 2.0, 1.0], [0, 1, 0, 1], measure="mrr") == pytest.approx(
        pair(-1.0) * (1 - 1 / 2) + pair(1.0) * (1 / 2 - 1 / 3)
    )


def test_yeti_s_orders_are_by_logistic_noise():
    """With odds r apart, one of two documents is ahead with probability r (r - 1 - ln r) / (r - 1)^2."""
    ahead = math.e * (math.e - 2.0) / (math.e - 1.0) ** 2
    # The third document is last, and misses its neighbour by 60 or 61: the first where the second is ahead of it.
    weight = 1.0 / math.log2(3.0) - 1.0 / math.log2(4.0)
    drawn = one_query("yeti", [0.0, 1.0, -60.0], [0, 0, 1], rng=np.random.default_rng(0), draws=3000)
    assert drawn / weight == pytest.approx(61.0 - ahead, abs=0.04)


def test_mdprank_is_in_expectation_the_gradient_of_dcg():
    scores, labels, offsets = np.array([0.3, -0.5, 1.0]), np.array([2, 0, 1], np.int32), np.array([0, 3])

    def orders(scores):
        for order in map(np.array, permutations(range(3))):
            cost, _ = order_likelihood(scores, offsets, order, np.ones(3))
            dcg = returns(gains_of(labels)[order], offsets)
            yield math.exp(-cost), dcg[0], order_likelihood(scores, offsets, order, dcg)[1]

    exact = sum(p * gradient for p, _, gradient in orders(scores))
    for i, step in enumerate(np.eye(3) * 1e-6):
        rise, fall = (sum(p * -dcg for p, dcg, _ in orders(moved)) for moved in (scores + step, scores - step))
        assert exact[i] == pytest.approx((rise - fall) / 2e-6, abs=1e-8)
    rng = np.random.default_rng(0)
    drawn = [find_loss("mdprank")(scores, labels, offsets, rng=rng)[1] for _ in range(20_000)]
    np.testing.assert_allclose(np.mean(drawn, axis=0), exact, atol=0.05)
