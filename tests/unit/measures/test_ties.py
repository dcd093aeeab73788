"""Conventions with `ties="expected"`: each registered metric is its mean over all orders of equal scores."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradrank.base.errors import GradrankError
from gradrank.measures import metrics
from gradrank.measures.conventions import CONVENTIONS, PROGRAMS, in_expectation, resolve
from gradrank.measures.metrics import compute
from registered_metrics import metric_names

PAIRS = [name for name in PROGRAMS if in_expectation(name)]
EXPECTED = {convention.name: convention for convention in CONVENTIONS.values() if convention.ties == "expected"}
# Choices that no convention with ties in expectation has by name.
EXPECTED["linear gain"] = resolve("letor4_expected", gain="linear")
EXPECTED["empty queries dropped"] = resolve("standard_expected", empty=np.nan)
# Scores, grades, and whether each document is in the ranking (None: all are).
QUERIES = {
    "five grades in one tie": ([1, 1, 1, 1, 1], [0, 2, 4, 1, 3], None),
    "two ties": ([2, 2, 1, 1, 1], [0, 3, 1, 0, 4], None),
    "a tie below a relevant document": ([3, 2, 2, 2, 1], [4, 0, 0, 1, 0], None),
    "a tie below an irrelevant document": ([3, 2, 2, 2], [0, 1, 0, 2], None),
    "every document relevant": ([1, 1, 0, 0], [1, 4, 2, 1], None),
    "no document relevant": ([1, 1, 0], [0, 0, 0], None),
    "shorter than k": ([0, 0], [0, 2], None),
    "one document": ([0], [1], None),
    "documents without a score": ([1, 1, 1, 0, 0], [0, 1, 3, 2, 0], [True, True, True, False, False]),
}


def orders_of_ties(scores):
    """Return every permutation of the rows that changes only the order of equal scores."""
    return np.array([order for order in permutations(range(len(scores))) if np.array_equal(scores[[*order]], scores)])


def check_expectation(scores, labels, convention, ranked=None):
    """Compare every registered metric of one query with its mean over all orders of equal scores."""
    scores, labels = np.array(scores, dtype=float), np.array(labels)
    names, offsets = metric_names(metrics.METRICS), np.array([0, len(labels)])
    expected = compute(names, scores, labels, offsets, convention, ranked=None if ranked is None else np.array(ranked))
    rows = orders_of_ties(scores)
    ranked = None if ranked is None else np.array(ranked)[rows].ravel()
    offsets = np.arange(len(rows) + 1) * len(labels)
    in_order = replace(convention, ties="file")
    values = compute(names, scores[rows].ravel(), labels[rows].ravel(), offsets, in_order, ranked=ranked)
    for name in names:
        mean = values[name].mean() if metrics.find(name)[0].has_expectation else np.nan
        np.testing.assert_allclose(expected[name], [mean], rtol=1e-12, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("convention", EXPECTED)
def test_every_metric_is_its_mean_over_all_orders(convention, query):
    scores, labels, ranked = QUERIES[query]
    check_expectation(scores, labels, EXPECTED[convention], ranked)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), convention=st.sampled_from(list(EXPECTED.values())))
def test_any_small_query(data, convention):
    n = data.draw(st.integers(1, 6))
    scores = data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=n, max_size=n))
    check_expectation(sorted(scores), data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), convention)


def grade_at_first_rank(r):
    """Depend on the file order."""
    return r.at(r.grades, 1).astype(float)


def squared_hits(r):
    """Square the expected number of hits, which is not the expected square."""
    return r.at(r.hits, 2) ** 2.0


@pytest.mark.parametrize("definition", [grade_at_first_rank, squared_hits])
def test_a_new_metric_that_is_wrong_over_ties_is_found(monkeypatch, definition):
    monkeypatch.setattr(metrics, "METRICS", dict(metrics.METRICS))
    metrics.metric("new_metric", label="New metric")(definition)
    with pytest.raises(AssertionError, match="new_metric"):
        check_expectation(*QUERIES["five grades in one tie"][:2], EXPECTED["letor4_expected"])


def test_a_new_metric_that_is_right_over_ties_passes(monkeypatch):
    monkeypatch.setattr(metrics, "METRICS", dict(metrics.METRICS))
    metrics.metric("misses@{k}", label="Misses@{k}")(lambda r, k: np.minimum(k, r.sizes) - r.at(r.hits, k))
    assert "misses@2" in metric_names(metrics.METRICS)
    check_expectation(*QUERIES["five grades in one tie"][:2], EXPECTED["letor4_expected"])


def test_metrics_without_an_expectation_are_nan_and_say_so():
    """Also for queries without ties, so that a mean over queries never mixes the two."""
    without = [metric for metric in metrics.METRICS.values() if not metric.has_expectation]
    assert without and all("nan" in metric.definition.__doc__ for metric in without)
    names = [name for name in metric_names() if not metrics.find(name)[0].has_expectation]
    values = compute(names, np.array([3.0, 2.0, 1.0]), np.array([0, 1, 0]), np.array([0, 3]), "letor4_expected")
    assert all(np.isnan(values[name]).all() for name in names)


def test_without_ties_values_are_those_of_the_file_order():
    rng = np.random.default_rng(0)
    offsets = np.arange(0, 201, 20)
    scores, labels = rng.permutation(200).astype(float), rng.integers(0, 3, 200)
    names = [name for name in metric_names() if metrics.find(name)[0].has_expectation]
    for convention in PAIRS:
        plain = compute(names, scores, labels, offsets, convention)
        expected = compute(names, scores, labels, offsets, in_expectation(convention))
        for name in names:
            np.testing.assert_allclose(expected[name], plain[name], rtol=1e-13, err_msg=name)


def test_a_thousand_equal_scores():
    """Two relevant of 1,000: E[RR] = sum_i P(first at i)/i, and P@10 = .002."""
    labels = np.zeros(1000, dtype=int)
    labels[:2] = 1
    values = compute(["mrr", "p@10"], np.zeros(1000), labels, np.array([0, 1000]), "standard_expected")
    i = np.arange(1, 1000)
    assert values["mrr"][0] == pytest.approx(np.sum((1000 - i) / (1000 * 999 / 2) / i), rel=1e-12)
    assert values["p@10"][0] == pytest.approx(0.002)


def test_every_program_that_keeps_the_file_order_has_an_expectation():
    assert in_expectation("letor4") == "letor4_expected" and in_expectation("trec") is None
    assert in_expectation("letor4_expected") is None
    assert resolve("letor3_expected").short_precision == "zero"
    assert {convention.ties for name, convention in CONVENTIONS.items() if name not in PROGRAMS} == {"expected"}
    with pytest.raises(GradrankError, match="ties='mean'"):
        resolve("standard", ties="mean")
