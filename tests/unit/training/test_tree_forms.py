"""Scoring forms of trees of LightGBM: zeros, missing values, averages, classes, and what a form cannot express."""

import numpy as np
import pytest

from gradrank.training.form_scores import form_scores
from gradrank.training.scoring_form import NoScoringForm
from gradrank.training.solvers.boosting import lightgbm_forms, mean_form

ZERO = np.float32(1e-35)  # LightGBM replaces values up to this size by 0
AROUND_ZERO = [0.0, -0.0, 1e-45, -1e-45, 1e-36, -1e-36, 1e-34, -1e-34, 1e-30, -1e-30, 1.0, -1.0]
AROUND_ZERO += [float(np.nextafter(sign * ZERO, np.float32(to))) for sign in (1, -1) for to in (-1, 1, sign * ZERO)]


def boosters(features, target, rounds=8, categorical="auto", **settings):
    """Return the trained booster and the booster that is read from its text, as in a loaded model."""
    import lightgbm

    settings = {"objective": "regression", "num_leaves": 12, "min_data_in_leaf": 3, "verbosity": -1} | settings
    booster = lightgbm.train(settings, lightgbm.Dataset(features, target, categorical_feature=categorical), rounds)
    return booster, lightgbm.Booster(model_str=booster.model_to_string())


def sparse_features(missing, seed=0, rows=600):
    """Return random features around zero, many of them exactly zero, and a target that depends on their signs."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, 3)).astype(np.float32)
    features[rng.random(features.shape) < 0.4] = 0.0
    target = np.sign(features[:, 0]) + 0.7 * (features[:, 1] >= 0) + features[:, 2]
    if missing:
        features[rng.random(features.shape) < 0.2] = np.nan
    return features, target


def hostile(booster):
    """Return rows with the values around zero, around every threshold of the booster, and missing values."""
    thresholds = []

    def visit(node):
        if "threshold" in node:
            thresholds.append(np.float32(node["threshold"]))
            visit(node["left_child"])
            visit(node["right_child"])

    for tree in booster.dump_model()["tree_info"]:
        visit(tree["tree_structure"])
    near = [np.nextafter(t, np.float32(to)) for t in thresholds for to in (-np.inf, t, np.inf)]
    values = np.array([*AROUND_ZERO, *near, np.nan, 1e30, -1e30], np.float32)
    rows = np.random.default_rng(1).choice(values, (4000, 3))
    return rows.astype(np.float32)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("boosting", ["gbdt", "rf"])
def test_the_forms_have_the_raw_outputs_of_the_booster(missing, boosting):
    features, target = sparse_features(missing)
    sample = {"bagging_freq": 1, "bagging_fraction": 0.6} if boosting == "rf" else {}
    for booster in boosters(features, target, boosting=boosting, **sample):
        (form,) = lightgbm_forms(booster)
        rows = hostile(booster)
        assert {0, 1, 2} <= {f for tree in form.trees for f in tree.feature}
        np.testing.assert_allclose(form_scores(form, rows, np.array([0, len(rows)])), booster.predict(rows), rtol=1e-12)


def test_zero_and_its_neighbours_go_where_lightgbm_sends_them():
    """The thresholds of LightGBM around zero are +-1e-35, but values of this size are replaced by 0."""
    features = np.repeat(np.float32([-1.0, 0.0, 1.0]), 50)[:, None]
    rows = np.float32(AROUND_ZERO)[:, None]
    for target in (features[:, 0] >= 0, features[:, 0] <= 0):
        booster, _ = boosters(features, target.astype(float), rounds=1)
        (form,) = lightgbm_forms(booster)
        scores = form_scores(form, rows, np.array([0, len(rows)]))
        np.testing.assert_array_equal(scores, booster.predict(rows))
        assert len(set(scores)) == 2


def test_several_classes_have_one_form_each():
    features, target = sparse_features(missing=True)
    booster, _ = boosters(features, np.digitize(target, [0.0, 1.0]), objective="multiclass", num_class=3)
    forms, rows = lightgbm_forms(booster), hostile(booster)
    scores = np.stack([form_scores(form, rows, np.array([0, len(rows)])) for form in forms], axis=1)
    np.testing.assert_allclose(scores, booster.predict(rows, raw_score=True), rtol=1e-12)


def test_a_tree_that_could_not_be_split_is_a_leaf():
    booster, _ = boosters(np.zeros((50, 1), np.float32), np.full(50, 3.0), rounds=1)
    (form,) = lightgbm_forms(booster)
    assert form_scores(form, np.float32([[1.0], [np.nan]]), np.array([0, 2])).tolist() == [3.0, 3.0]


def test_the_mean_of_forms():
    features, target = sparse_features(missing=True)
    several = [boosters(features, target, seed=seed, feature_fraction=0.5)[0] for seed in range(3)]
    form = mean_form([lightgbm_forms(booster)[0] for booster in several])
    expected = np.mean([booster.predict(features) for booster in several], axis=0)
    np.testing.assert_allclose(form_scores(form, features, np.array([0, len(features)])), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("settings", "reason"), [({"categorical": [1]}, "categorical"), ({"zero_as_missing": True}, "zeros as missing")]
)
def test_splits_that_a_tree_cannot_express_are_refused(settings, reason):
    rng = np.random.default_rng(0)
    features = rng.integers(0, 5, (500, 3)).astype(np.float32)
    booster, _ = boosters(features, rng.normal(size=5)[features[:, 1].astype(int)], **settings)
    with pytest.raises(NoScoringForm, match=reason):
        lightgbm_forms(booster)


def chain(splits):
    """Return the booster with one tree whose split k is x <= k; its right child is split k + 1."""
    import lightgbm

    booster, _ = boosters(np.arange(100, dtype=np.float32)[:, None], np.arange(100.0), rounds=1)
    header, _, rest = booster.model_to_string().partition("Tree=0\n")
    numbers = range(splits)
    lists = {
        "split_feature": [0 for _ in numbers],
        "split_gain": [1 for _ in numbers],
        "threshold": list(numbers),
        "decision_type": [2 for _ in numbers],
        "left_child": [-k - 1 for k in numbers],
        "right_child": [k + 1 if k < splits - 1 else -splits - 1 for k in numbers],
        "leaf_value": [k % 7 for k in range(splits + 1)],
        **{f"leaf_{name}": [1 for _ in range(splits + 1)] for name in ("weight", "count")},
        **{f"internal_{name}": [1 for _ in numbers] for name in ("value", "weight", "count")},
    }
    lines = [f"num_leaves={splits + 1}", "num_cat=0"]
    lines += [f"{name}={' '.join(map(str, values))}" for name, values in lists.items()]
    lines += ["is_linear=0", "shrinkage=1", "", ""]
    header = "\n".join(line for line in header.splitlines() if not line.startswith("tree_sizes")) + "\n\n"
    return lightgbm.Booster(
        model_str=header + "Tree=0\n" + "\n".join(lines) + "\nend of trees" + rest.split("end of trees")[1]
    )


def test_a_chain_of_splits():
    booster = chain(200)  # one of its thresholds is 0
    features = np.concatenate([np.arange(-5, 210), AROUND_ZERO]).astype(np.float32)[:, None]
    (form,) = lightgbm_forms(booster)
    scores = form_scores(form, features, np.array([0, len(features)]))
    np.testing.assert_array_equal(scores, booster.predict(features))
    assert scores[:8].tolist() == [0, 0, 0, 0, 0, 0, 1, 2]


def test_a_tree_that_is_too_deep_for_json_is_refused():
    with pytest.raises(NoScoringForm, match="too deep"):
        lightgbm_forms(chain(2000))
