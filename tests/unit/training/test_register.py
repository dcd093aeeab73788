"""The check of a model class when it is registered: one error names the class and everything that it lacks."""

import subprocess
import sys

import pytest

from gradrank.base.errors import GradrankError
from gradrank.training.model import Model, ModelParams, check_model_class, register, registered

COMPLETE = {
    "Params": ModelParams,
    "summary": "a model",
    "fit": classmethod(lambda cls, train, vali, params, seed, callback: cls()),
    "score": lambda self, features, offsets: features[:, 0],
    "save": lambda self, folder: None,
    "load": classmethod(lambda cls, folder: cls()),
}


def model_class(without=(), **changes):
    """Return a model class that defines everything in COMPLETE apart from `without`, with `changes`."""
    parts = {name: part for name, part in COMPLETE.items() if name not in without}
    return type("Incomplete", (Model,), parts | changes)


def test_a_complete_class_passes():
    check_model_class(model_class(), "mine")


@pytest.mark.parametrize("name", COMPLETE)
def test_the_error_names_the_class_and_the_missing_part(name):
    with pytest.raises(GradrankError, match=rf"Incomplete.*'mine'.* {name}\b.*Fix: "):
        check_model_class(model_class(without=[name]), "mine")


def test_one_error_names_everything_that_is_missing():
    with pytest.raises(GradrankError) as error:
        check_model_class(model_class(without=COMPLETE), "mine")
    assert all(name in str(error.value) for name in COMPLETE)


@pytest.mark.parametrize(
    "changes",
    [{"summary": " "}, {"summary": None}, {"Params": dict}, {"Params": ModelParams()}, {"uses_weights": True}],
)
def test_parts_of_the_wrong_kind_are_refused(changes):
    with pytest.raises(GradrankError, match=next(iter(changes))):
        check_model_class(model_class(**changes), "mine")


def test_a_class_that_is_no_model_is_refused():
    with pytest.raises(GradrankError, match="Model"):
        check_model_class(type("Plain", (), COMPLETE), "mine")


def test_an_incomplete_class_is_not_registered():
    with pytest.raises(GradrankError, match="fit"):
        register("mine")(model_class(without=["fit"]))
    assert "mine" not in registered


def test_the_command_line_names_the_file_of_an_incomplete_class(tmp_path):
    (tmp_path / "models").mkdir()
    lines = ["from gradrank.training.model import Model, ModelParams, register", "", "", '@register("mine")']
    lines += ["class Mine(Model):", "    Params = ModelParams", '    summary = "no method"', ""]
    (tmp_path / "models/mine.py").write_text("\n".join(lines))
    done = subprocess.run([sys.executable, "-m", "gradrank", "models"], cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 1
    assert all(part in done.stderr for part in ("models/mine.py, line 4", "Mine", "fit, load, save, score", "Fix: "))
    assert "Traceback" not in done.stderr
