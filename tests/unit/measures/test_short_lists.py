"""Counts of values that are 0 only because a query is short."""

from pathlib import Path

import numpy as np
import pytest

import gradrank
from gradrank.measures.query_values import short_lists
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


def test_results_say_how_many_queries_are_0_for_their_length_alone():
    y, qid = [1, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], [1] * 2 + [2] * 4 + [3] * 4 + [4] * 6
    scores = np.arange(16.0)
    result = gradrank.evaluate(y, scores, qid=qid, metrics=METRICS, convention="letor4")
    compared = gradrank.compare({"a": scores, "b": -scores}, y, qid=qid, metric="ndcg@5", convention="letor4")
    for each in (result, compared):
        for text in (repr(each), each._repr_html_(), each.to_markdown(), each.to_latex()):
            assert "NDCG@5 for 2 of 4 queries" in " ".join(text.split())
    assert "NDCG@3 for 1, " in result.note and "P@5" not in result.note
    assert not gradrank.evaluate(y, scores, qid=qid, metrics=METRICS).note


def test_the_textbook_gives_no_such_zeros(data):
    assert not list(short_lists(data, METRICS, ["standard", "lightgbm", "ranklib", "trec"]))
