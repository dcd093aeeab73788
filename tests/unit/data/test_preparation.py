"""The values learned from the training part are those of NumPy and scikit-learn, and are stored with equal bits."""

import json

import numpy as np
import pytest
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

from gradrank.data.normalisation import Normaliser
from gradrank.data.preparation import FOLDS, Preparation

DRAW = np.random.default_rng(0)
ROWS, QUERIES = 240, 24
OFFSETS = np.arange(0, ROWS + 1, ROWS // QUERIES)
LABELS = DRAW.integers(0, 4, ROWS).astype(np.int32)
NUMBERS = DRAW.normal(size=ROWS).astype(np.float32)
NUMBERS[::7] = np.nan
FEW = DRAW.integers(0, 3, ROWS).astype(np.float32)
MANY = DRAW.integers(0, 20, ROWS).astype(np.float32)
MANY[5] = np.nan
FEATURES = np.stack([NUMBERS, FEW, MANY], axis=1)
LEVELS = {1: 4, 2: 20}


def learned(fill=None, takes=(), normalise=None):
    return Preparation.learn(FEATURES, LABELS, LEVELS, fill, takes, normalise)


@pytest.mark.parametrize(("fill", "value"), [("mean", np.nanmean), ("median", np.nanmedian)])
def test_a_missing_number_becomes_the_value_of_the_training_part(fill, value):
    found = learned(fill)(FEATURES, OFFSETS)[:, 0]
    expected = np.where(np.isnan(NUMBERS), np.float32(value(NUMBERS.astype(np.float64))), NUMBERS)
    np.testing.assert_array_equal(found, expected)


def test_an_indicator_is_one_further_column():
    found = learned("indicator")(FEATURES, OFFSETS)
    np.testing.assert_array_equal(found[:, 1], np.isnan(NUMBERS))
    np.testing.assert_array_equal(found[:, 0], learned("mean")(FEATURES, OFFSETS)[:, 0])


def test_few_levels_become_the_columns_of_scikit_learn_s_encoder():
    found = learned("mean")(FEATURES, OFFSETS)[:, 1:4]
    expected = OneHotEncoder(sparse_output=False).fit_transform(FEW[:, None])
    np.testing.assert_array_equal(found, expected)


def test_many_levels_become_the_values_of_scikit_learn_s_encoder():
    codes = np.where(np.isnan(MANY), 20, MANY)[:, None]
    expected = TargetEncoder(target_type="continuous").fit(codes, LABELS).transform(codes)[:, 0]
    np.testing.assert_allclose(learned("mean")(FEATURES, OFFSETS)[:, 4], expected, rtol=1e-6)


def test_no_mean_grade_of_a_training_row_depends_on_its_own_query():
    preparation = learned("mean")
    before = preparation.of_training_part(FEATURES, LABELS, OFFSETS)
    labels = LABELS.copy()
    labels[:10] = 3 - labels[:10]
    after = preparation.of_training_part(FEATURES, labels, OFFSETS)
    group = np.repeat(np.arange(QUERIES), ROWS // QUERIES) % FOLDS
    np.testing.assert_array_equal(before[group == 0], after[group == 0])
    assert (before[group != 0, 4] != after[group != 0, 4]).any()


def test_what_a_method_takes_stays_as_it_is():
    found = learned("mean", ("missing", "categorical"))
    np.testing.assert_array_equal(found(FEATURES, OFFSETS), FEATURES)
    assert found.categorical == (1, 2)
    numbers = Preparation.learn(FEATURES, LABELS, {}, "mean", ("missing",))
    assert not numbers.changes
    assert numbers(FEATURES, OFFSETS) is FEATURES


def test_a_level_that_the_training_part_lacks_counts_as_missing():
    new = np.array([[0.0, 3.0, 19.0], [0.0, np.nan, np.nan], [0.0, -1.0, 99.0]], np.float32)
    offsets = np.array([0, 3])
    encoded = learned("mean")(new, offsets)
    np.testing.assert_array_equal(encoded[:, 1:4], 0.0)
    assert encoded[1, 4] == encoded[2, 4]
    native = learned(None, ("missing", "categorical"))(new, offsets)
    np.testing.assert_array_equal(np.isnan(native), [[False, True, False], [False, True, True], [False, True, True]])


@pytest.mark.parametrize("normalise", [None, "query", "global"])
@pytest.mark.parametrize("takes", [(), ("missing", "categorical")])
@pytest.mark.parametrize("fill", ["mean", "median", "indicator"])
def test_the_entries_give_the_preparation_with_equal_bits(normalise, takes, fill):
    preparation = learned(fill, takes, normalise)
    spec = json.loads(json.dumps(preparation.entries()))
    again = Preparation.of(spec, 3)
    np.testing.assert_array_equal(again(FEATURES, OFFSETS), preparation(FEATURES, OFFSETS))
    assert again.sources(3).tolist() == preparation.sources(3).tolist()


def test_codes_of_categories_are_not_normalised():
    found = learned(None, ("missing", "categorical"), "global")(FEATURES, OFFSETS)
    np.testing.assert_array_equal(found[:, 1:], FEATURES[:, 1:])
    expected = Normaliser.of_training_part(FEATURES)(FEATURES, OFFSETS)
    np.testing.assert_array_equal(found[:, 0], expected[:, 0])


def test_columns_have_names():
    names = learned("indicator").names(["a", "b", "c"], {"b": ["x", "y", "z", "w"], "c": list(map(str, range(20)))})
    assert names == ["a", "a is missing", "b=x", "b=y", "b=z", "mean grade of c"]


@pytest.mark.parametrize(
    "entry",
    [
        [9, "number"],
        [0, "unknown"],
        [0, "filled"],
        [0, "filled", "x"],
        [0, "mean_grade"],
        ["0", "number"],
        [0, "filled", 1e999],
    ],
)
def test_a_malformed_entry_is_refused(entry):
    with pytest.raises((TypeError, ValueError)):
        Preparation.of({"prepare": [entry]}, 3)
