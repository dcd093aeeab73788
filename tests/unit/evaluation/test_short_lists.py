"""Zeros of short lists are counted, and warned of with the remedy."""

from pathlib import Path

import numpy as np
import pytest

from gradrank.evaluation.short_lists import short_lists, warning
from made_collection import store_halves

METRICS = ["ndcg@3", "ndcg@5", "p@5", "map"]


@pytest.fixture
def data(tmp_path) -> Path:
    """A collection in two parts: queries of 2, 4, 4 and 6 documents, one of 4 without relevant ones."""
    labels = {1: [1, 0], 2: [1, 0, 0, 2], 3: [0, 0, 0, 0], 4: [0, 1, 0, 0, 0, 0]}
    return store_halves(tmp_path / "mine", labels)


def test_queries_that_are_0_for_their_length_alone(data):
    found = {
        (row["convention"], row["metric"]): row for row in short_lists(data, METRICS, ["letor4", "letor3"])
    }
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


def test_the_warning_names_shares_and_the_remedy(data):
    text = warning(short_lists(data, METRICS, ["letor4"]), "mine", "letor4")
    assert "NDCG@5 of 50%, NDCG@3 of 25% of the 4 test queries" in text
    assert "`datasets.mine.convention: standard`" in text


def test_no_warning_of_few_or_under_another_convention(data):
    rows = list(short_lists(data, METRICS, ["letor4"]))
    assert warning(rows, "mine", "standard") is None
    assert warning([row | {"share": 1 / 1692} for row in rows], "mine", "letor4") is None
    assert warning([], "mine", "letor4") is None
    assert np.isclose(sum(row["share"] for row in rows), 0.75)
