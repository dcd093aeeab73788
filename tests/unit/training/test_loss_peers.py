"""The losses' values on six documents beside those of toolkits: rax 0.4.0 (jax 0.10.2) and allRank 1.4.3, as recorded.

rax computed in float64, allRank in float32 or with float32 discounts.
"""

import numpy as np
import pytest

from gradrank.training.registry import find_loss

SCORES = np.array([1.2, -0.3, 0.8, 0.1, -1.5, 0.4])
LABELS = np.array([0, 2, 1, 0, 1, 2], np.int32)
ORDER = np.array([5, 2, 1, 0, 4, 3], np.int32)  # no ties: toolkits break them each in a way of its own


def cost_of(name, scores=SCORES, labels=LABELS, **settings):
    return find_loss(name)(scores, labels, np.array([0, 6]), **settings)[0]


@pytest.mark.parametrize(
    ("name", "settings", "peer"),
    [
        ("softmax", {}, 13.753997769611606),
        ("unique_softmax", {}, 16.293990612677096),
        ("ranknet", {}, 12.908049847885726),  # pairwise_logistic_loss
        ("pairwise_hinge", {}, 17.900000000000002),
        ("approx_ndcg", {"temperature": 0.1}, -0.6253184138878044),  # approx_t12n(ndcg_metric)
        ("approx_ndcg", {"temperature": 1.0}, -0.6259533992893269),
    ],
)
def test_rax(name, settings, peer):
    assert cost_of(name, **settings) == pytest.approx(peer, rel=1e-13)


def test_rax_s_other_conventions():
    assert cost_of("listmle", labels=ORDER) == pytest.approx(7.687930858253919, rel=1e-13)
    assert 2.0 * cost_of("pairwise_mse") == pytest.approx(130.9, rel=1e-13)  # it has every pair twice


@pytest.mark.parametrize(
    ("name", "settings", "peer"),
    [
        ("lambdaloss", {"weighting": "loss1"}, 4.61960768101287),
        ("lambdaloss", {"weighting": "loss1", "cutoff": 3}, 1.4721647400528703),
        ("lambdaloss", {"weighting": "loss2"}, 1.014829204972234),
        ("lambdaloss", {"weighting": "loss2", "cutoff": 3}, 0.3934984949225929),
        ("lambdaloss", {"weighting": "loss2++"}, 12.235444596441457),
        ("lambdaloss", {"weighting": "loss2++", "cutoff": 3}, 4.559035663674),
        ("lambdaloss", {"weighting": "arp2"}, 24.883509263864177),  # rankNetWeightedByGTDiff_scheme
        ("lambdaloss", {"weighting": "arp2", "cutoff": 3}, 6.013487400076037),
        ("neural_ndcg", {"temperature": 1.0}, -0.6718608140945435),
        ("neural_ndcg", {"temperature": 1.0, "cutoff": 3}, -0.37095344066619873),
        ("neural_ndcg", {"temperature": 2.0}, -0.6945544481277466),
        ("neural_ndcg", {"temperature": 0.1, "cutoff": 3}, -0.3842696249485016),
        ("approx_ndcg", {"temperature": 0.1}, -0.6253184080123901),
        ("pointwise_rmse", {}, 1.6119346618652344),
    ],
)
def test_allrank(name, settings, peer):
    assert cost_of(name, **settings) == pytest.approx(peer, rel=2e-7)


def test_allrank_s_other_conventions():
    assert cost_of("lambdarank") / np.log(2.0) == pytest.approx(2.0871525467191168, rel=2e-7)  # log base 2
    outputs = np.stack([SCORES + 0.5, SCORES - 0.7], axis=1)
    assert cost_of("ordinal", outputs) == pytest.approx(9.8274986743927, rel=2e-7)  # times the six documents
