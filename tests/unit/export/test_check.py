"""The comparison of an exported file with gradrank: it accepts equal scores and finds each kind of difference."""

import json
from itertools import pairwise

import gradrank

gradrank.pin()

# isort: split
import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.reader import Batch
from gradrank.export.export import check, export, in_other_order
from gradrank.models.single_feature import SingleFeature
from gradrank.training.trained_fold import TrainedFold

NAMES = ("a", "b", "c")
FOLD = TrainedFold(SingleFeature(1, -1), {"model": "single_feature", "features": 3, "names": list(NAMES)})


def batches(seed=0):
    """Return two batches of two queries each. The second batch has document ids."""
    rng = np.random.default_rng(seed)
    first = Batch(rng.normal(size=(5, 3)).astype(np.float32), np.array([0, 2, 5]), np.array(["q1", "q2"]), [None] * 5)
    ids = [f"d{row}" for row in range(4)]
    return [first, Batch(rng.normal(size=(4, 3)).astype(np.float32), np.array([0, 3, 4]), np.array([7, 8]), ids)]


def exported(tmp_path, **changes):
    """Return a file whose weights were changed after the export."""
    (path,) = export(FOLD, "linear", tmp_path / "w.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    content["weights"] |= changes
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_equal_scores_are_accepted(tmp_path):
    result = check(FOLD, "linear", exported(tmp_path), batches(), NAMES)
    assert (result.rows, result.difference) == (9, 0.0)


def test_a_small_difference_is_reported(tmp_path):
    path = exported(tmp_path, a=1e-7)
    result = check(FOLD, "linear", path, batches(), NAMES)
    largest = max(np.abs(batch.features[:, 0]).max() for batch in batches()) * 1e-7
    assert result.difference == pytest.approx(largest) and result.difference < result.allowed


def test_the_first_document_with_another_score_is_named(tmp_path):
    path, rows = exported(tmp_path, c=0.01), batches()
    for batch in rows:
        batch.features[:, 2] = 0.0
    rows[0].features[3, 2] = rows[1].features[2, 2] = 1.0
    with pytest.raises(GradrankError, match="query q2, document 2 "):
        check(FOLD, "linear", path, rows, NAMES)
    rows[0].features[3, 2] = 0.0
    with pytest.raises(GradrankError, match="query 7, document d2 "):
        check(FOLD, "linear", path, rows, NAMES)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_score_that_is_not_a_number_is_a_difference(value, tmp_path):
    with pytest.raises(GradrankError, match="query q1, document 1 "):
        check(FOLD, "linear", exported(tmp_path, c=float(value)), batches(), NAMES)


def test_columns_are_found_by_name(tmp_path):
    path = exported(tmp_path)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["weights"] = dict(reversed(content["weights"].items()))
    path.write_text(json.dumps(content), encoding="utf-8")
    assert check(FOLD, "linear", path, batches(), NAMES).difference == 0.0
    with pytest.raises(GradrankError, match="'c'"):
        check(FOLD, "linear", path, batches(), ("a", "b", "z"))


def test_data_without_documents(tmp_path):
    assert check(FOLD, "linear", exported(tmp_path), [], NAMES).rows == 0


def test_another_order_is_found_where_the_scores_are_clearly_different():
    """The definition, written as a loop over all pairs, on scores with many ties and near ties."""
    rng, allowed, offsets = np.random.default_rng(0), 0.25, np.array([0, 1, 1, 6, 30])
    found_some = 0
    for _ in range(200):
        expected = rng.integers(0, 8, 30) / 4.0
        found = expected + rng.integers(-1, 2, 30) / 4.0
        wanted = [
            any(expected[j] < expected[i] - allowed and found[j] >= found[i] for j in range(start, stop))
            for start, stop in pairwise(offsets)
            for i in range(start, stop)
        ]
        assert in_other_order(expected, found, offsets, allowed).tolist() == wanted
        found_some += any(wanted)
    assert found_some > 0
