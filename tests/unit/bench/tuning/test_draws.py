"""Drawn configurations: reproducible, from the whole search space, and independent of the results of trials."""

import json

import numpy as np
import pytest

from gradrank.training.model import Model, ModelParams, param
from gradrank.training.registry import get_model, models
from gradrank.training.search_space import Choice, Grid, Integer, LogUniform, Uniform
from gradrank.training.spaces import (
    configuration,
    count_configurations,
    first_configuration,
    members_parameter,
    own_grids,
    space_of,
)

SEED, DATASET = 2005, "mq2007"


def drawn(name, tuner=1, count=200, **more):
    return [configuration(get_model(name), SEED, DATASET, tuner, number, **more) for number in range(count)]


def test_a_draw_depends_on_its_own_number_alone():
    assert drawn("lambdarank", count=5) == drawn("lambdarank", count=9)[:5]
    first, second = drawn("lambdarank", 1), drawn("lambdarank", 2)
    assert first[0] == second[0], "the default is every tuner's first"
    assert not any(a == b for a, b in zip(first[1:], second[1:], strict=True))


def test_draws_lie_in_the_space_and_fill_it():
    space = space_of(get_model("lambdarank"))
    values = {name: [each[name] for each in drawn("lambdarank")[1:]] for name in space}
    for name, dimension in space.items():
        match dimension:
            case LogUniform(low, high) | Uniform(low, high) | Integer(low, high):
                assert low <= min(values[name]) and max(values[name]) <= high
            case Choice(choices):
                texts = {json.dumps(each) for each in values[name]}
                assert texts == {json.dumps(each) for each in choices}
    logs = np.log10(values["learning_rate"])
    assert abs(np.mean(logs) + 3) < 0.1, "half of them below the middle decade"


@pytest.mark.parametrize("name", sorted(models()))
def test_every_configuration_is_one_of_the_model(name):
    """Drawn configurations are valid parameters after a round trip through JSON."""
    cls = get_model(name)
    among = ("ranksvm", "mart", "listnet") if members_parameter(cls) else ()
    for each in drawn(name, count=20, among=among):
        assert cls.Params.model_validate(json.loads(json.dumps(each)))


def test_a_models_own_grid_is_given_one_value():
    cls = get_model("listnet")
    assert list(own_grids(cls)) == ["l2"]
    assert all(len(each["l2"]) == 1 for each in drawn("listnet"))
    assert first_configuration(cls)["l2"][0] in cls.Params().l2


class GridParams(ModelParams):
    declared: Grid[float] = param((0.1, 1.0, 10.0), "tried on validation by the model itself")
    undeclared: tuple[float, ...] = param((0.2, 0.3, 0.5), "three weights that are used together")


class OneGrid(Model):
    Params = GridParams


def test_only_a_parameter_declared_as_a_grid_is_searched():
    assert own_grids(OneGrid) == {"declared": (0.1, 1.0, 10.0)}
    assert list(space_of(OneGrid)) == list(first_configuration(OneGrid)) == ["declared"]


def test_a_model_with_nothing_to_choose_has_one_configuration():
    assert count_configurations(get_model("single_feature"), 16) == 1
    assert count_configurations(get_model("borda"), 16) == 1, "it combines all methods of the contest"
    assert count_configurations(get_model("lambdarank"), 16) == 16


def test_a_model_that_learns_on_validation_is_not_tuned():
    """Its trials would be evaluated on queries that it has learned from, so it has one configuration."""
    cls = get_model("fusion")
    assert count_configurations(cls, 16) == 1 and not space_of(cls)
    assert configuration(cls, SEED, DATASET, 1, 0, ("ranksvm", "mart")) == {"models": ["ranksvm", "mart"]}
