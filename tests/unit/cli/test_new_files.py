"""`gradrank new`: each kind of file passes its own test, and nothing is overwritten."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import gradrank
from gradrank.bench.cli import app

PACKAGE = Path(gradrank.__file__).parent
KINDS = ("method", "loss", "metric", "study")


def new(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["new", *map(str, arguments)])


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *options]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | environment
    return subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True)


def test_the_files_of_every_kind_pass_their_tests_in_a_project(tmp_path):
    for kind in KINDS:
        done = new(kind, f"new_{kind}", "--project", tmp_path)
        assert done.exit_code == 0, (done.output, done.exception)
        written = [line for line in done.output.splitlines() if line.startswith(str(tmp_path))]
        assert len(written) == (3 if kind == "study" else 2) and all(Path(path).is_file() for path in written)
    assert not [name for name, text in files(tmp_path).items() if b"$" in text]
    done = check(tmp_path, "tests")
    assert done.returncode == 0 and "4 passed" in done.stdout, done.stdout + done.stderr


def test_the_files_of_every_kind_pass_their_tests_in_a_checkout(tmp_path):
    """A metric is added to the file of all metrics. Each other addition is a file of its own."""
    shutil.copytree(PACKAGE, tmp_path / "src/gradrank", ignore=shutil.ignore_patterns("__pycache__"))
    before = files(tmp_path)
    for kind in KINDS:
        done = new(kind, f"new_{kind}", "--project", tmp_path)
        assert done.exit_code == 0, (done.output, done.exception)
    after = files(tmp_path)
    changed = {name for name in before if after[name] != before[name]}
    metrics = "src/gradrank/measures/metrics.py"
    assert changed == {metrics} and after[metrics].startswith(before[metrics])
    done = check(tmp_path, "tests", PYTHONPATH=str(tmp_path / "src"))
    assert done.returncode == 0 and "4 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_an_existing_file_is_not_replaced(tmp_path, kind):
    new(kind, "twice", "--project", tmp_path)
    before = files(tmp_path)
    again = new(kind, "twice", "--project", tmp_path)
    assert again.exit_code and "Fix: " in str(again.exception) and files(tmp_path) == before
    test = next(tmp_path.glob("tests/*"))
    for path in tmp_path.rglob("twice.*"):
        path.unlink()
    again = new(kind, "twice", "--project", tmp_path)
    assert str(test) in str(again.exception) and list(files(tmp_path)) == ["tests/test_twice.py"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("method", "Mine"),
        ("loss", "my-loss"),
        ("metric", "class"),
        ("study", "../mine"),
        ("study", "1st"),
        ("method", "lambdamart"),
        ("loss", "softmax"),
        ("metric", "ndcg"),
        ("metric", "find"),
    ],
)
def test_a_name_that_is_invalid_or_taken_is_refused(tmp_path, kind, name):
    done = new(kind, name, "--project", tmp_path)
    assert done.exit_code and name in str(done.exception) and "Fix: " in str(done.exception)
    assert files(tmp_path) == {}
