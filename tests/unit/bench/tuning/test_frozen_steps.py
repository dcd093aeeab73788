"""Training with a frozen number of steps: equal to the training that selected the number on the same data."""

from pathlib import Path

import numpy as np
import pytest

from gradrank.base.conventions import LETOR4
from gradrank.bench.config.params import load
from gradrank.bench.tuning.fold_training import FoldTraining, selected_step
from gradrank.bench.tuning.refits import seeds_of
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from gradrank.data.stored import StoredCollection
from gradrank.training.best_of import Candidate, FrozenStep, History, best_of
from gradrank.training.registry import get_model, models
from gradrank.training.spaces import configuration, members_parameter

ROOT = Path(__file__).parents[4]
SMALL = {"epochs": 3, "rounds": 20}  # values that keep the training short


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    generate("net", 20, 10, 1, folder / "raw")
    parse(folder / "raw", folder / "synthetic_net", seed=1, dataset="synthetic_net")
    stored = StoredCollection.open(folder / "synthetic_net")
    return [stored.read(stored.fold(1)[split]) for split in ("train", "vali")]


def contest_methods():
    methods = load(ROOT / "params.yaml").study_settings("contest")["methods"]
    return [name for name in methods if not members_parameter(models()[name])]


@pytest.mark.parametrize("name", contest_methods())
def test_the_selected_step_gives_the_selected_model(parts, name):
    train, vali = parts
    cls, history = get_model(name), History(name)
    drawn = configuration(cls, 7, "synthetic_net", 1, 1)
    short = {key: value for key, value in SMALL.items() if key in cls.Params.model_fields}
    params = cls.Params(**(drawn | short))
    selected = cls.fit(train, vali, params, 3, history)
    step = selected_step(history.frame(), params.model_dump(mode="json"))
    assert step is not None
    frozen = cls.fit(train, FrozenStep.of(vali, step), params, 3, History(name))
    scores = [model.score(vali.features, vali.offsets) for model in (selected, frozen)]
    assert np.array_equal(*scores)


def test_a_method_has_several_seeds_if_one_of_its_configurations_is_random():
    """The default of `mart` samples nothing, and its drawn configurations do."""
    found = {name: seeds_of(models()[name], 3) for name in ("mart", "regression", "ranksvm", "lambdamart", "fusion")}
    assert found == {"mart": 3, "regression": 1, "ranksvm": 1, "lambdamart": 3, "fusion": 3}


@pytest.mark.parametrize("name", ["coordinate_ascent", "single_feature"])
def test_starts_and_features_are_selected_again_on_both_parts(name, tmp_path):
    """The step that the validation part selected has no meaning on other data."""
    generate("net", 20, 10, 1, tmp_path / "raw")
    parse(tmp_path / "raw", tmp_path / "synthetic_net", seed=1, dataset="synthetic_net")
    stored = StoredCollection.open(tmp_path / "synthetic_net")
    cls, splits = models()[name], stored.fold(1)
    whole = stored.read([*splits["train"], *splits["vali"]])
    best = cls.fit(whole, whole, cls.Params(), 3, History(name))
    test = stored.read(splits["test"])
    scores = FoldTraining(cls, stored, 1, None, LETOR4).scores_of_whole({}, 3, 1)
    assert np.array_equal(scores, best.score(test.features, test.offsets))


def test_a_training_with_fewer_steps_keeps_its_last_one(parts):
    _, vali = parts
    candidates = [Candidate(name, scores=np.zeros(vali.rows)) for name in "abc"]
    assert best_of(iter(candidates), FrozenStep.of(vali, 2), "map", History("")).kept == "b"
    assert best_of(iter(candidates), FrozenStep.of(vali, 9), "map", History("")).kept == "c"
