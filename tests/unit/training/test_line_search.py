"""Tests that a measure along a line is bit-identical to the measure at each of its points."""

import numpy as np
import pytest

from gradrank.models.coordinate_ascent import means_along
from gradrank.training.selection import Criterion


@pytest.mark.parametrize("name", ["ndcg@1", "ndcg@10", "ndcg@40", "map"])
@pytest.mark.parametrize("decimals", [0, 1, 12])  # few values: many ties, whose order is the file's
def test_every_move_has_the_measure_of_its_scores(name, decimals):
    rng = np.random.default_rng(decimals)
    offsets = np.array([0, 1, 4, 30, 31, 90])
    labels = rng.integers(0, 3, 90).astype(np.int32)
    labels[30] = 0  # a query without a gain
    scores, column = rng.normal(size=(2, 90)).round(decimals)
    moves = np.r_[0.0, 0.5, -0.5, 8.0, -100.0]
    criterion = Criterion(name, labels, offsets)
    one_by_one = [criterion.per_query(scores + move * column).mean() for move in moves]
    assert means_along(criterion, scores, column, moves).tolist() == one_by_one
