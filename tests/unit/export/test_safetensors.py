"""The format safetensors: NumPy computes the scores of the form from the arrays and their description."""

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
from random_forms import OFFSETS, random_features, random_forms, random_normaliser

SAFETENSORS = find_format("safetensors")
TREES = ("trees", "one leaf", "one ensemble")  # ends of the names of forms with trees
FORMS = {kind: form for kind, form in random_forms().items() if not kind.endswith(TREES) and "trees and" not in kind}
NAMES = tuple("abcde")


def written(form, path, normaliser=None):
    (file,) = SAFETENSORS.write(ExportedModel(form, NAMES, normaliser), path)
    return file


@pytest.mark.parametrize("method", [None, "global", "query"])
@pytest.mark.parametrize("kind", FORMS)
def test_the_file_has_the_scores_of_the_form(kind, method, tmp_path):
    normaliser, features = random_normaliser(method), random_features()
    normalised = features if normaliser is None else normaliser(features, OFFSETS)
    expected = form_scores(FORMS[kind], normalised, OFFSETS)
    reader = SAFETENSORS.read(written(FORMS[kind], tmp_path / "model.safetensors", normaliser))
    assert reader.names == NAMES
    scores = reader.scores(features, OFFSETS)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-5 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("kind", [kind for kind in random_forms() if kind not in FORMS])
def test_trees_are_refused(kind, tmp_path):
    with pytest.raises(NotExpressible):
        written(random_forms()[kind], tmp_path / "model.safetensors")
    assert not any(tmp_path.iterdir())


def test_the_arrays_of_a_net_are_those_of_its_steps(tmp_path):
    from safetensors import safe_open

    net = FORMS["linear net"].net
    with safe_open(written(FORMS["linear net"], tmp_path / "m.safetensors"), framework="numpy") as file:
        description = json.loads(file.metadata()["model"])["form"]
        np.testing.assert_array_equal(file.get_tensor("1.weights"), net.steps[1].weights)
        assert file.get_tensor("1.weights").dtype == np.float32
    assert description == {"kind": "net", "steps": [{"kind": "Flatten"}, {"kind": "Affine"}]}


def test_equal_models_are_written_as_equal_bytes(tmp_path):
    form = FORMS["attention"]
    files = [written(form, tmp_path / name, random_normaliser("global")) for name in ("1", "2")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_file_of_another_program_is_refused(tmp_path):
    from safetensors.numpy import save_file

    save_file({"weights": np.zeros(3)}, tmp_path / "other.safetensors")
    (tmp_path / "text.safetensors").write_text("weights", encoding="utf-8")
    for name in ("other", "text"):
        with pytest.raises(GradrankError, match=name):
            SAFETENSORS.read(tmp_path / f"{name}.safetensors")
