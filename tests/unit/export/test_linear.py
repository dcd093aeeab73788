"""The format linear: weights by feature name, with the normalisation of the training part in the weights."""

import csv
import json

import gradrank

gradrank.pin()

# isort: split
import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.export.format import ExportedModel, NotExpressible
from gradrank.export.lookup import find_format
from gradrank.training.form_scores import form_scores
from gradrank.training.scoring_form import LinearForm
from random_forms import OFFSETS, random_features, random_forms, random_normaliser

LINEAR = find_format("linear")
NAMES = ("bm25", "a, b", 'say "x"', "größe", "last")
SUFFIXES = [".csv", ".json"]
LINEAR_KINDS = ["linear", "quadratic of one row", "linear net"]


def model(method=None, seed=0, names=NAMES):
    rng = np.random.default_rng(seed)
    return ExportedModel(LinearForm(rng.normal(size=5), 0.7), names, random_normaliser(method))


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("method", [None, "global"])
def test_the_file_has_the_scores_of_the_model(method, suffix, tmp_path):
    exported, features = model(method), random_features()
    (path,) = LINEAR.write(exported, tmp_path / f"weights{suffix}")
    reader = LINEAR.read(path)
    assert reader.names == NAMES
    normalised = features if method is None else exported.normaliser(features, OFFSETS)
    expected = normalised.astype(np.float64) @ exported.form.weights + 0.7
    tolerance = 1e-12 if method is None else 1e-6  # normalised features are rounded to float32
    np.testing.assert_allclose(reader.scores(features, OFFSETS), expected, rtol=0, atol=tolerance)


def test_csv_and_json_have_the_same_numbers(tmp_path):
    for suffix in SUFFIXES:
        LINEAR.write(model("global"), tmp_path / f"w{suffix}")
    with (tmp_path / "w.csv").open(encoding="utf-8", newline="") as stream:
        header, intercept, *rows = csv.reader(stream)
    content = json.loads((tmp_path / "w.json").read_text(encoding="utf-8"))
    assert header == ["feature", "weight"]
    assert intercept == ["(intercept)", str(content["intercept"])]
    assert {name: float(weight) for name, weight in rows} == content["weights"]
    assert content["weights"][NAMES[2]] == 0.0  # a constant feature is 0 after the normalisation


@pytest.mark.parametrize("kind", LINEAR_KINDS)
def test_nets_and_quadratic_forms_that_are_linear(kind, tmp_path):
    form, features = random_forms()[kind], random_features()
    (path,) = LINEAR.write(ExportedModel(form, NAMES), tmp_path / "w.json")
    expected = form_scores(form, features, OFFSETS)
    np.testing.assert_allclose(LINEAR.read(path).scores(features, OFFSETS), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", [kind for kind in random_forms() if kind not in LINEAR_KINDS])
def test_other_scores_are_refused(kind, tmp_path):
    with pytest.raises(NotExpressible):
        LINEAR.write(ExportedModel(random_forms()[kind], NAMES), tmp_path / "w.csv")
    assert not any(tmp_path.iterdir())


def test_a_normalisation_within_queries_is_refused(tmp_path):
    with pytest.raises(NotExpressible):
        LINEAR.write(model("query"), tmp_path / "w.csv")


def test_a_suffix_must_select_the_form_of_the_file(tmp_path):
    with pytest.raises(GradrankError) as error:
        LINEAR.write(model(), tmp_path / "w.txt")
    assert not isinstance(error.value, NotExpressible)


def test_a_name_that_looks_like_the_intercept_does_not_replace_it(tmp_path):
    names = ("(intercept)", *NAMES[1:])
    with pytest.raises(GradrankError):
        LINEAR.write(model(names=names), tmp_path / "w.csv")
    (path,) = LINEAR.write(model(names=names), tmp_path / "w.json")
    assert LINEAR.read(path).names == names


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("w.csv", ""),
        ("w.csv", "feature,weight\n"),
        ("w.csv", "feature,weight\n(intercept),0.5\na,1,2\n"),
        ("w.csv", "feature,weight\n(intercept),0.5\na,x\n"),
        ("w.csv", "feature,weight\n(intercept),0.5\na,1\na,2\n"),
        ("w.csv", "name,weight\n(intercept),0.5\na,1\n"),
        ("w.json", "[]"),
        ("w.json", "{"),
        ("w.json", '{"weights": {"a": 1}}'),
        ("w.json", '{"weights": [1], "intercept": 0}'),
        ("w.json", '{"weights": {"a": "x"}, "intercept": 0}'),
    ],
)
def test_a_malformed_file_is_refused(name, text, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(GradrankError, match=name):
        LINEAR.read(tmp_path / name)
