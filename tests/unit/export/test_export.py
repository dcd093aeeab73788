"""Export of trained folds: names, refusals that list the possible formats, complete files, and one file per format."""

import json
import os
import re
from pathlib import Path

import gradrank

gradrank.pin()

# isort: split
import lightgbm
import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.export import formats
from gradrank.export.export import export, read_names
from gradrank.export.lookup import find_format, format_names
from gradrank.models.single_feature import SingleFeature
from gradrank.training.model import Model, ModelParams
from gradrank.training.trained_fold import TrainedFold

OWN_FORMATS = {"lightgbm", "linear", "onnx", "safetensors"}


def random_rows(seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(300, 3)).astype(np.float32)
    grades = np.clip(np.round(features[:, 0] + 0.5 * features[:, 1] ** 2), 0, 3).astype(int)
    return features, grades, np.repeat(np.arange(30), 10)


@pytest.fixture(scope="module")
def rankers():
    """Trained rankers. key: the method."""
    features, grades, qid = random_rows()
    settings = {"regression": {}, "lambdamart": {"rounds": 10}, "mcrank": {"rounds": 5}, "prank_quadratic": {}}
    return {
        name: gradrank.Ranker(name, random_state=1, **params).fit(features, grades, qid=qid)
        for name, params in settings.items()
    }


def single_feature(spec=None):
    return TrainedFold(SingleFeature(1, -1), {"model": "single_feature", "features": 3} | (spec or {}))


def weights(fold, tmp_path, **options):
    (path,) = export(fold, "linear", tmp_path / "w.json", **options)
    return json.loads(path.read_text(encoding="utf-8"))["weights"]


def test_features_have_the_names_of_the_training_data_or_the_given_ones(tmp_path):
    (tmp_path / "names.txt").write_text("bm25\nclick rate\nÄhnlichkeit\n", encoding="utf-8")
    given = read_names(tmp_path / "names.txt")
    named = single_feature({"names": ["a", "b", "c"]})
    assert weights(single_feature(), tmp_path) == {"f1": 0.0, "f2": -1.0, "f3": 0.0}
    assert weights(named, tmp_path) == {"a": 0.0, "b": -1.0, "c": 0.0}
    assert weights(named, tmp_path, names=given) == {"bm25": 0.0, "click rate": -1.0, "Ähnlichkeit": 0.0}


@pytest.mark.parametrize("names", [["a", "b"], ["a", "b", "c", "d"], ["a", "b", "a"], ["a", "", "c"], ["a", " ", "c"]])
def test_names_must_be_those_of_the_features(names, tmp_path):
    with pytest.raises(GradrankError, match="names"):
        export(single_feature(), "linear", tmp_path / "w.json", names)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", format_names())
def test_a_further_file_next_to_the_output_replaces_no_other_content(name, rankers, tmp_path):
    """A pipe takes one file, so it is refused as the output of a format with two."""
    out = tmp_path / f"m{find_format(name).extension}"
    fold = rankers["lambdamart" if name in ("lightgbm", "ranklib", "xgboost-json") else "regression"].fold_
    try:
        further = export(fold, name, out)[1:]
    except GradrankError as error:
        pytest.skip(str(error))
    os.mkfifo(tmp_path / "pipe")
    for path in further:
        path.write_text("mine")
        out.unlink()
        with pytest.raises(GradrankError, match=f"{path.name}.*Fix: "):
            export(fold, name, out)
        assert path.read_text() == "mine" and not out.exists()
        before = sorted(tmp_path.iterdir())
        with pytest.raises(GradrankError, match=r"pipe.*Fix: "):
            export(fold, name, tmp_path / "pipe")
        assert sorted(tmp_path.iterdir()) == before


def test_a_format_that_does_not_exist(tmp_path):
    with pytest.raises(GradrankError, match="safetensors"):
        export(single_feature(), "safetensor", tmp_path / "m")


@pytest.mark.parametrize("method", ["regression", "lambdamart", "mcrank", "prank_quadratic"])
def test_each_model_is_written_or_the_refusal_lists_the_formats_that_write_it(method, rankers, tmp_path):
    """Formats whose packages are missing count as possible: the user can install the packages."""
    possible, listed = set(), []
    for name in format_names():
        out = tmp_path / name / f"m{find_format(name).extension}"
        try:
            assert export(rankers[method].fold_, name, out)[0].is_file()
            possible.add(name)
        except GradrankError as error:
            (formats_in_message,) = re.findall(r"another format \((.*?)\)", str(error)) or [None]
            if formats_in_message is None:
                assert "pip install" in str(error)
                possible.add(name)
            else:
                listed.append(set(formats_in_message.split(", ")))
                assert not out.exists()
    assert "onnx" in possible and all(names == possible for names in listed)
    expected = {"regression": {"linear", "safetensors"}, "lambdamart": {"lightgbm"}, "prank_quadratic": {"safetensors"}}
    assert possible & OWN_FORMATS == {"onnx"} | expected.get(method, set())


class RankModel(Model[ModelParams]):
    """A model whose scores are the ranks of a feature, so it has no form."""

    name = "rank_of_feature"
    Params = ModelParams
    summary = "the rank of the first feature"

    @classmethod
    def fit(cls, train, vali, params, seed, callback):
        return cls()

    def score(self, features, offsets):
        return features[:, 0].argsort().argsort().astype(float)

    def save(self, folder):
        (folder / "empty").touch()

    @classmethod
    def load(cls, folder):
        return cls()


def test_a_model_without_a_form_and_a_model_of_models_cannot_be_exported(tmp_path):
    without_form = TrainedFold(RankModel(), {"model": "rank_of_feature", "features": 3})
    of_models = TrainedFold(SingleFeature(0, 1), {"model": "single_feature", "features": 1}, [single_feature()])
    for fold, reason in ((without_form, "RankModel"), (of_models, "scores of other models")):
        for name in format_names():
            with pytest.raises(GradrankError, match=f"{reason}.* No format can express this model"):
                export(fold, name, tmp_path / "m.json")
    assert not any(tmp_path.iterdir())


def test_a_normalisation_within_queries_is_only_for_formats_that_score_whole_queries(tmp_path):
    fold = single_feature({"normalise": {"method": "query"}})
    with pytest.raises(GradrankError, match=r"another format \(onnx, safetensors\)"):
        export(fold, "linear", tmp_path / "w.json")


def test_lightgbm_reads_the_file(rankers, tmp_path):
    features, _, qid = random_rows(1)
    (path,) = rankers["lambdamart"].export(tmp_path / "trees.txt", "lightgbm")
    scores = lightgbm.Booster(model_file=path).predict(features)
    np.testing.assert_array_equal(scores, rankers["lambdamart"].predict(features, qid=qid))


def test_a_classifier_of_two_grades_is_one_booster(tmp_path):
    """LightGBM then predicts the probability, which is the score."""
    features, grades, qid = random_rows()
    ranker = gradrank.Ranker("mcrank", random_state=1, rounds=5).fit(features, grades > 0, qid=qid)
    assert ranker.export(tmp_path / "trees.txt", "lightgbm", check=(features, qid)) == [tmp_path / "trees.txt"]


def test_an_existing_file_is_replaced_only_by_a_complete_file(tmp_path, monkeypatch):
    out = tmp_path / "w.json"
    out.write_text("old", encoding="utf-8")

    def fail(model, path):
        path.write_text("half", encoding="utf-8")
        raise OSError("disk full")

    linear = type(find_format("linear"))
    with monkeypatch.context() as patch:
        patch.setattr(linear, "write", lambda self, model, path: fail(model, path))
        with pytest.raises(OSError, match="disk full"):
            export(single_feature(), "linear", out)
    assert out.read_text(encoding="utf-8") == "old" and [*tmp_path.iterdir()] == [out]
    assert export(single_feature(), "linear", out) == [out]
    assert "old" not in out.read_text(encoding="utf-8") and [*tmp_path.iterdir()] == [out]


def test_a_new_format_is_one_file(tmp_path, monkeypatch):
    source = Path(formats.__path__[0], "linear.py").read_text(encoding="utf-8")
    (tmp_path / "weights.py").write_text(source.replace('name = "linear"', 'name = "weights"'), encoding="utf-8")
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path)])
    assert "weights" in format_names()
    (path,) = export(single_feature(), "weights", tmp_path / "out" / "w.csv")
    assert find_format("weights").read(path).names == ("f1", "f2", "f3")


def test_each_format_has_the_name_of_its_file():
    for name in format_names():
        model_format = find_format(name)
        assert model_format.name == name and model_format.extension.startswith(".")
        assert 0.0 < model_format.tolerance < 1e-3 and model_format.summary
