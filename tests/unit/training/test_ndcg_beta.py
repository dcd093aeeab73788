"""Tests of the ideal DCG_beta against the formula of the paper and the definition of the metric."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradrank.data.pairs import crucial_pairs
from gradrank.measures.metrics import ndcg_beta
from gradrank.training.ndcg_gains import ideal_dcg_beta


@given(st.lists(st.lists(st.integers(0, 5), max_size=9), max_size=6))
def test_it_is_the_formula_as_printed(graded):
    labels = np.array([grade for query in graded for grade in query], np.int32)
    found = ideal_dcg_beta(labels, np.cumsum([0, *map(len, graded)]))
    ranked = [sorted(grades, reverse=True) for grades in graded]
    assert found.tolist() == [sum(y * (len(q) - i) for i, y in enumerate(q, start=1)) for q in ranked]


@given(st.lists(st.integers(0, 5), min_size=2, max_size=12).filter(lambda g: min(g) < max(g)), st.data())
def test_the_gaps_of_inverted_pairs_over_it_sum_to_the_loss_in_the_metric(grades, data):
    labels, offsets = np.array(grades, np.int32), np.array([0, len(grades)])
    scores = np.array(data.draw(st.permutations(range(len(grades)))), np.float64)
    pairs = crucial_pairs(labels, offsets)
    inverted = scores[pairs.better] < scores[pairs.worse]
    gaps = (labels[pairs.better] - labels[pairs.worse])[inverted]
    loss = 1.0 - ndcg_beta(scores, labels, offsets)[0]
    assert gaps.sum() / ideal_dcg_beta(labels, offsets)[0] == pytest.approx(loss, abs=1e-12)
