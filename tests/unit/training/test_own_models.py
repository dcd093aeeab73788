"""Tests of model files of the user, in models/ of the working folder."""

import subprocess
import sys
from pathlib import Path

import pytest

import gradrank

SHIPPED = Path(gradrank.__file__).parent / "models/single_feature.py"
MINE = SHIPPED.read_text().replace('"single_feature"', '"mine"')


@pytest.fixture
def listed(tmp_path):
    """A function that returns the output of `gradrank models NAME` in a folder with the given model files."""

    def run(name="mine", **files):
        (tmp_path / "models").mkdir(exist_ok=True)
        for stem, text in files.items():
            (tmp_path / f"models/{stem}.py").write_text(text)
        command = [sys.executable, "-m", "gradrank", "models", name]
        done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True)
        return done.stdout + done.stderr

    return run


def test_a_file_is_found_and_other_programs_in_such_a_folder_are_left_alone(listed):
    assert listed(mine=MINE, unrelated="raise SystemExit(3)").startswith("mine: No learning")


def test_without_the_file_the_message_names_the_folder(listed):
    assert "unknown model 'mine'" in listed() and "models/" in listed()


def test_a_file_that_cannot_be_imported_is_named_with_its_line(listed):
    output = listed(mine=MINE + "\n1 / 0\n")
    line = len(MINE.splitlines()) + 2
    assert f"gradrank: error: models/mine.py, line {line}: ZeroDivisionError: division by zero" in output
    assert "SyntaxError" in listed(mine=MINE + "def (") and "Traceback" not in output


def test_a_name_that_is_taken_is_refused(listed):
    assert "error: models/mart.py: " in listed(mart=MINE)


def test_a_model_that_is_there_already_is_refused(listed):
    assert "duplicate model name 'single_feature'" in listed(mine=SHIPPED.read_text())
