"""The contract of the parameters `monotone` and `interactions`, for every registered model that has them.

- The score never decreases with a feature whose constraint is 1, and never increases with one whose constraint is -1.
- No branch of a tree splits on features of different groups. The scores are a sum of one function per group, except
  those of mcrank, which sums probabilities.
- Features can be given by name or number. A model without constraints is stored as before.
- All other models refuse the parameters, and the error names the models that have them.
"""

from dataclasses import replace

import gradrank

gradrank.pin()  # before numpy

# isort: split
import numpy as np
import pytest
from pydantic import ValidationError

from gradrank.base.errors import GradrankError
from gradrank.training.contract.test_models import case, collection, quick, random_part, saved
from gradrank.training.fit import resolve
from gradrank.training.registry import models

NAMES = ("price", "stock", "age", "clicks", "length")
GROUPS = [["price", "stock"], ["age"]]  # clicks and length form a third group
LIGHTGBM = {name for name, cls in models().items() if hasattr(cls, "objectives")}


def having(parameter):
    return [case(cls) for cls in models().values() if parameter in cls.Params.model_fields]


def part(seed):
    """Return queries whose grades depend on products of features and rise with the first feature."""
    drawn = random_part(seed, sizes=(12,) * 60)
    rng = np.random.default_rng(seed)
    x = drawn.features
    value = x[:, 0] * (1 + x[:, 2]) + 2 * np.abs(x[:, 1] - 0.5) + x[:, 2] + x[:, 3] * (1 + x[:, 4])
    value += rng.normal(0.0, 0.1, len(value))
    labels = np.digitize(value, np.quantile(value, [0.5, 0.8]))
    return replace(collection(x, labels, (12,) * 60), names=NAMES)


def fit(cls, *, named=True, **changes):
    train, vali = part(1), part(2)
    if not named:
        train, vali = replace(train, names=None), replace(vali, names=None)
    small = {"min_data_in_leaf": 5, "min_child_weight": 0.0, "feature_fraction": 1.0}
    changes |= {name: value for name, value in small.items() if name in cls.Params.model_fields}
    return cls.fit(train, vali, quick(cls, **changes), 1, lambda step, **values: None)


def score(model, features):
    return model.score(np.ascontiguousarray(features, dtype=np.float32), np.array([0, len(features)]))


def steps(model, column):
    """Return the (documents, values - 1) differences of scores while one feature goes through its range."""
    values, documents = np.linspace(-0.1, 1.1, 61), part(3).features[:100]
    swept = np.repeat(documents[:, None], len(values), axis=1)
    swept[:, :, column] = values
    return np.diff(score(model, swept.reshape(-1, documents.shape[1])).reshape(len(documents), -1), axis=1)


def double_differences(model, first, second):
    """Return f(a, b) - f(a', b) - f(a, b') + f(a', b') for random values of two features of 300 documents."""
    rng = np.random.default_rng(0)
    base = rng.uniform(0.0, 1.0, (300, 5))
    corners = {}
    for a, b in ((0, 0), (1, 0), (0, 1), (1, 1)):
        corners[a, b] = base.copy()
        corners[a, b][:, first] += a * np.linspace(-0.9, 0.9, 300)
        corners[a, b][:, second] += b * np.tile(np.linspace(-0.9, 0.9, 20), 15)
    scores = {corner: score(model, features) for corner, features in corners.items()}
    return scores[0, 0] - scores[1, 0] - scores[0, 1] + scores[1, 1]


@pytest.mark.parametrize("cls", having("monotone"))
@pytest.mark.parametrize("sign", [1, -1])
def test_scores_are_monotone(cls, sign):
    model = fit(cls, monotone={"price": sign, "age": sign, "length": -sign})
    for column, direction in ((0, sign), (2, sign), (4, -sign)):
        assert (direction * steps(model, column) >= 0).all()
    assert np.ptp(score(model, part(3).features)) > 0


@pytest.mark.parametrize("cls", having("monotone"))
def test_scores_are_not_monotone_without_the_constraint(cls):
    model = fit(cls)
    assert (steps(model, 0) > 0).any() and (steps(model, 1) > 0).any() and (steps(model, 1) < 0).any()


@pytest.mark.parametrize("cls", having("interactions"))
def test_no_branch_combines_two_groups(cls):
    allowed = [{0, 1}, {2}, {3, 4}]
    branches = list(all_branches(fit(cls, interactions=GROUPS)))
    assert all(any(branch <= group for group in allowed) for branch in branches)
    assert max(map(len, branches)) > 1
    free = list(all_branches(fit(cls)))
    assert not all(any(branch <= group for group in allowed) for branch in free)


@pytest.mark.parametrize("cls", having("interactions"))
def test_scores_are_a_sum_over_groups(cls):
    if cls.name == "mcrank":
        pytest.skip("the score is a sum of probabilities")
    tolerance = 1e-9 if cls.name in LIGHTGBM else 1e-5  # XGBoost adds the leaves in float32
    model = fit(cls, interactions=GROUPS)
    for first, second in ((0, 2), (0, 3), (1, 4), (2, 3)):
        assert np.abs(double_differences(model, first, second)).max() <= tolerance
    assert np.abs(double_differences(fit(cls), 0, 2)).max() > 1e-3


@pytest.mark.parametrize("cls", having("interactions"))
def test_groups_with_a_common_feature(cls):
    groups = [[1, 2], [2, 3]]
    if cls.name == "xgboost_ndcg":
        with pytest.raises(GradrankError, match=r"interactions: feature 2 is in 2 groups\. Fix: "):
            fit(cls, interactions=groups)
    else:
        allowed = [{0, 1}, {1, 2}, {3, 4}]
        branches = list(all_branches(fit(cls, interactions=groups)))
        assert all(any(branch <= group for group in allowed) for branch in branches)


def all_branches(model):
    """Yield the set of columns on the branch to each leaf, as the documented functions of the library show them."""
    if type(model).name == "xgboost_ndcg":
        frame = model.booster.trees_to_dataframe()
        nodes = {row.ID: (row.Feature.removeprefix("f"), (row.Yes, row.No)) for row in frame.itertuples()}
        roots = [row.ID for row in frame.itertuples() if row.Node == 0]
        yield from branches_below(roots, lambda node: None if nodes[node][0] == "Leaf" else nodes[node])
        return
    for booster in model.boosters:
        roots = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
        yield from branches_below(
            roots,
            lambda node: (
                (node["split_feature"], (node["left_child"], node["right_child"])) if "split_feature" in node else None
            ),
        )


def branches_below(roots, split_of):
    waiting = [(root, frozenset()) for root in roots]
    while waiting:
        node, used = waiting.pop()
        if (split := split_of(node)) is None:
            yield used
        else:
            waiting += [(child, used | {int(split[0])}) for child in split[1]]


@pytest.mark.parametrize("cls", having("monotone"))
def test_a_name_and_its_number_are_the_same(cls, tmp_path):
    assert saved(fit(cls, monotone={"age": -1}), tmp_path / "name") == saved(
        fit(cls, named=False, monotone={3: -1}), tmp_path / "number"
    )


@pytest.mark.parametrize("cls", having("monotone"))
def test_features_that_the_data_do_not_have(cls):
    with pytest.raises(GradrankError, match=r"monotone: unknown feature 'prise' \(did you mean 'price'\?\)"):
        fit(cls, monotone={"prise": 1})
    with pytest.raises(GradrankError, match=r"monotone: no feature 6\. Fix: give a number from 1 to 5"):
        fit(cls, monotone={6: 1})
    with pytest.raises(GradrankError, match="monotone: no feature 0"):
        fit(cls, monotone={0: 1})
    with pytest.raises(GradrankError, match="'price' is a name, but the features of these data have no names"):
        fit(cls, named=False, monotone={"price": 1})
    with pytest.raises(GradrankError, match="monotone: two constraints on feature 1"):
        fit(cls, monotone={"price": 1, 1: -1})


@pytest.mark.parametrize("cls", having("interactions"))
def test_groups_of_features_that_the_data_do_not_have(cls):
    with pytest.raises(GradrankError, match=r"interactions: unknown feature 'clickz' \(did you mean 'clicks'\?\)"):
        fit(cls, interactions=[["price"], ["clickz"]])
    with pytest.raises(GradrankError, match=r"interactions: no feature 6\. Fix: "):
        fit(cls, interactions=[["2-6"]])


@pytest.mark.parametrize("cls", having("monotone"))
def test_constraints_survive_json_and_are_stored_only_if_set(cls):
    constraints = {"monotone": {"price": -1, 3: 1}}
    if "interactions" in cls.Params.model_fields:
        constraints["interactions"] = [["price", 2], [3]]
    params = cls.Params(**constraints)
    assert cls.Params.model_validate_json(params.model_dump_json()) == params
    assert cls.Params(**params.model_dump(mode="json")) == params
    assert {"monotone", "interactions"}.isdisjoint(cls.Params().model_dump(mode="json"))


@pytest.mark.parametrize("invalid", [{"price": 2}, {"price": 0}, {"price": "up"}, {"price": True}, ["price"], 1])
def test_invalid_monotone_constraints_are_refused(invalid):
    with pytest.raises(GradrankError, match=r"params\.monotone"):
        resolve("lambdamart", {"monotone": invalid})


@pytest.mark.parametrize("invalid", [[[]], ["price"], [["price", 1.5]], "price"])
def test_invalid_groups_are_refused(invalid):
    with pytest.raises(GradrankError, match=r"params\.interactions"):
        resolve("lambdamart", {"interactions": invalid})


@pytest.mark.parametrize("cls", [case(cls) for cls in models().values() if "monotone" not in cls.Params.model_fields])
def test_a_model_without_constraints_names_those_that_have_them(cls):
    with pytest.raises(
        GradrankError, match=r"monotone: unknown key \(a parameter of .*dart, .*lambdamart, .*yeti_trees\)"
    ):
        resolve(cls.name, {"monotone": {1: 1}})


def test_the_expected_grade_of_multiclass_trees_cannot_be_monotone():
    with pytest.raises(ValidationError, match="need the form ordinal"):
        models()["mcrank"].Params(form="multiclass", monotone={1: 1})
