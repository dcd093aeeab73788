"""Ties in expectation: every metric is its mean over all orders of the file, by enumeration of these orders."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradrank.base.errors import GradrankError
from gradrank.evaluation.conventions import CONVENTIONS, PROGRAMS, in_expectation, resolve
from gradrank.evaluation.metrics import compute

CLOSED = [
    *("ndcg@1", "ndcg@2", "ndcg@3", "ndcg@4", "ndcg@9", "ndcg", "mean_ndcg", "ndcg_beta", "p@1", "p@2", "p@3"),
    *("p@9", "recall@2", "f1@3", "map", "r_precision", "mrr", "err@1", "err@3", "err@9", "rbp@0.8"),
    *("pairwise_accuracy", "pairwise_error"),
]
PAIRS = [name for name in PROGRAMS if in_expectation(name)]


def over_all_orders(scores, labels, convention):
    """The mean over the orders of the file, of one query, of what the convention gives in file order."""
    orders = np.array(list(permutations(range(len(labels)))))
    offsets = np.arange(len(orders) + 1) * len(labels)
    every = compute(CLOSED, scores[orders].ravel(), labels[orders].ravel(), offsets, convention)
    return {name: values.mean() for name, values in every.items()}


def check(scores, labels, convention):
    scores, labels = np.array(scores, dtype=float), np.array(labels)
    expected = compute(CLOSED, scores, labels, np.array([0, len(labels)]), in_expectation(convention))
    wanted = over_all_orders(scores, labels, convention)
    for name in CLOSED:
        np.testing.assert_allclose(expected[name], wanted[name], rtol=1e-12, atol=1e-15, err_msg=name)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), convention=st.sampled_from(PAIRS))
def test_by_enumeration_of_any_small_query(data, convention):
    n = data.draw(st.integers(1, 6))
    scores = data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=n, max_size=n))
    check(scores, data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), convention)


def test_without_ties_it_is_the_file_s_order():
    rng = np.random.default_rng(0)
    offsets = np.arange(0, 201, 20)
    scores, labels = rng.permutation(200).astype(float), rng.integers(0, 3, 200)
    for convention in PAIRS:
        plain, expected = (
            compute(CLOSED, scores, labels, offsets, each) for each in (convention, in_expectation(convention))
        )
        for name in CLOSED:
            np.testing.assert_allclose(expected[name], plain[name], rtol=1e-13, err_msg=name)


def test_a_thousand_equal_scores():
    """Two relevant of 1,000: E[RR] = sum_i P(first at i)/i, and P@10 = .002."""
    labels = np.zeros(1000, dtype=int)
    labels[:2] = 1
    values = compute(["mrr", "p@10"], np.zeros(1000), labels, np.array([0, 1000]), "standard_expected")
    i = np.arange(1, 1000)
    assert values["mrr"][0] == pytest.approx(np.sum((1000 - i) / (1000 * 999 / 2) / i), rel=1e-12)
    assert values["p@10"][0] == pytest.approx(0.002)


def test_interpolated_precision_has_no_closed_form():
    values = compute(["iprec@0.0", "iprec_11pt"], np.zeros(3), np.array([0, 1, 0]), np.array([0, 3]), "letor4_expected")
    assert np.isnan(values["iprec@0.0"]).all() and np.isnan(values["iprec_11pt"]).all()


def test_documents_without_a_rank_stay_without():
    labels, offsets = np.array([1, 1, 0, 1]), np.array([0, 4])
    ranked = np.array([True, True, True, False])
    values = compute(["map", "p@3", "p@4"], np.zeros(4), labels, offsets, "letor4_expected", ranked=ranked)
    one = compute(["p@3"], np.zeros(3), labels[:3], np.array([0, 3]), "letor4_expected")
    assert values["p@3"] == one["p@3"] == pytest.approx(2 / 3) and values["p@4"] == pytest.approx(0.5)


def test_every_program_that_keeps_the_file_s_order_has_an_expectation():
    assert in_expectation("letor4") == "letor4_expected" and in_expectation("trec") is None
    assert in_expectation("letor4_expected") is None
    assert resolve("letor3_expected").short_precision == "zero"
    assert {each.ties for name, each in CONVENTIONS.items() if name not in PROGRAMS} == {"expected"}
    with pytest.raises(GradrankError, match="ties 'mean' is none of"):
        resolve("standard", ties="mean")
