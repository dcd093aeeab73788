"""Counts of values that are 0 only because a query is short."""

from pathlib import Path

import pytest

from gradrank.evaluation.short_lists import short_lists
from made_collection import store_halves

METRICS = ["ndcg@3", "ndcg@5", "p@5", "map"]


@pytest.fixture
def data(tmp_path) -> Path:
    """A collection in two parts: queries of 2, 4, 4 and 6 documents; one query of 4 has no relevant document."""
    labels = {1: [1, 0], 2: [1, 0, 0, 2], 3: [0, 0, 0, 0], 4: [0, 1, 0, 0, 0, 0]}
    return store_halves(tmp_path / "mine", labels)


def test_queries_that_are_0_for_their_length_alone(data):
    found = {(row["convention"], row["metric"]): row for row in short_lists(data, METRICS, ["letor4", "letor3"])}
    assert {key: row["queries"] for key, row in found.items()} == {
        ("letor4", "ndcg@3"): 1,
        ("letor4", "ndcg@5"): 2,  # the query without relevant documents is 0 for that
        ("letor3", "ndcg@3"): 1,
        ("letor3", "ndcg@5"): 2,
        ("letor3", "p@5"): 2,
    }
    assert found["letor4", "ndcg@5"]["of"] == 4 and found["letor4", "ndcg@5"]["share"] == 0.5


def test_the_textbook_gives_no_such_zeros(data):
    assert not list(short_lists(data, METRICS, ["standard", "lightgbm", "ranklib", "trec"]))
