"""Dependence on the file order: a constant score, methods with ties, and the rows of the warning."""

from pathlib import Path

import numpy as np
import pytest

from gradrank.bench.folds.file_order import constant_score, file_order, note
from gradrank.bench.folds.per_query import QueryValues
from made_collection import store_halves

CONVENTIONS = ("letor4", "letor4_expected")


@pytest.fixture
def data(tmp_path) -> Path:
    """Two parts of queries that begin with their relevant documents."""
    labels = {1: [1, 0], 2: [2, 1, 0, 0], 3: [0, 0, 0], 4: [1, 0, 0, 0, 0]}
    return store_halves(tmp_path / "mine", labels)


def test_a_constant_score_by_hand(data):
    values = constant_score(data, ["map", "p@1"], CONVENTIONS)
    file, expected = (values[name] for name in CONVENTIONS)
    assert file.values["map"].tolist() == [1, 1, 0, 1] and file.folds.tolist() == [1, 1, 2, 2]
    assert file.qids.tolist() == [1, 2, 3, 4]
    # Two of four: the six pairs of places (1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4).
    two = np.mean([1, (1 + 2 / 3) / 2, 0.75, (1 / 2 + 2 / 3) / 2, 0.5, (1 / 3 + 1 / 2) / 2])
    assert expected.values["map"] == pytest.approx([0.75, two, 0, np.mean(1 / np.arange(1, 6))])
    assert expected.values["p@1"] == pytest.approx([0.5, 0.5, 0, 0.2])


def made(mean, spread=0.1):
    values = {"map": mean + spread * np.array([-1.0, 1.0] * 50), "mrr": np.full(100, np.nan)}
    return QueryValues(np.repeat([1, 2], 50), np.arange(100), values)


def test_rows_hold_the_difference_in_half_widths():
    (row,) = file_order({"mart": dict(zip(CONVENTIONS, (made(0.4), made(0.39)), strict=True))}, "letor4")
    half = made(0.4).half_width("map")
    assert (row["model"], row["metric"]) == ("mart", "map")
    assert row["difference"] == pytest.approx(0.01) and row["half_width"] == half
    assert row["share"] == pytest.approx(0.01 / half)


@pytest.mark.parametrize(("expected", "is_serious"), [(0.4, None), (0.39, False), (0.3, True)])
def test_a_note_is_serious_if_a_value_moves_by_more_than_half_its_interval(expected, is_serious):
    rows = list(file_order({"mart": dict(zip(CONVENTIONS, (made(0.4), made(expected)), strict=True))}, "letor4"))
    found = note(rows)
    assert (found is None) == (is_serious is None)
    if found is not None:
        text, is_found_serious = found
        assert is_found_serious == is_serious and "`mart`, MAP 0.4000" in text and f"{expected:.4f}" in text
