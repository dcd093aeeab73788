"""A full disk and an input/output error end a command with one message: what, where, fix."""

import errno
import json
import shutil
import sqlite3
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.bench import cli
from gradrank.bench.cli import explanation

Usage = namedtuple("Usage", "total used free")
OUT = ["train", "--seed", "1", "--out", "results/toy/methods/prank/fold1"]


@pytest.fixture
def full(monkeypatch):
    """Make every disk appear full."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9, 0))


def error_of(write) -> Exception:
    with pytest.raises(Exception) as raised:
        write()
    return raised.value


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "write",
    [
        lambda: pl.DataFrame({"a": [1]}).write_csv("/dev/full"),
        lambda: pl.DataFrame({"a": [1]}).write_parquet("/dev/full"),
    ],
)
def test_a_real_full_device_is_recognised(write):
    message = explanation(error_of(write), OUT)
    assert message.startswith(f"{Path.cwd()}/results/toy/methods/prank/fold1: No space left on device")
    assert "Fix: " in message


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_the_path_in_the_exception_comes_before_the_option(number, tmp_path):
    with pytest.raises(OSError) as failed, atomic(tmp_path / "new/x.json") as partial:
        raise OSError(number, "", str(partial))
    assert explanation(failed.value, OUT).startswith(f"{tmp_path}/new/.x.json.")
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_standard_output_is_named_if_no_file_is():
    code = "import sys; from gradrank.bench import cli; sys.argv[1:] = ['schema']; cli.main()"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("gradrank: error: standard output: No space left on device"), done.stderr
    assert done.stderr.count("\n") == 1


def test_an_error_without_a_reason_is_explained_by_a_full_disk(full):
    error = sqlite3.OperationalError("database or disk is full")
    assert "/results/toy/methods/prank/fold1: " in explanation(error, OUT)
    assert explanation(GradrankError("a bad line"), OUT) is None


@pytest.mark.parametrize("option", ["--model", "--input", "--out"])
def test_a_name_that_is_too_long_has_no_traceback(option, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("1 qid:1 1:0\n")
    paths = {name: str(tmp_path / "file") for name in ("--model", "--input", "--out")} | {option: "n" * 256}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["gradrank", "predict", *(text for pair in paths.items() for text in pair)])
    with pytest.raises(SystemExit) as ended:
        cli.answer()
    assert ended.value.code == 1
    assert "n" * 256 in capsys.readouterr().err


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.EBADF])
def test_every_error_about_a_path_says_what_to_do(number):
    message = explanation(OSError(number, "reason", "results/x"), []) or ""
    assert "results/x" in message and "reason" in message and "Fix: " in message


def test_other_errors_have_no_explanation():
    assert explanation(ValueError("full"), ["--params", json.dumps({"a": "b" * 5000})]) is None


def test_a_command_ends_with_the_message_and_no_traceback(monkeypatch, capsys):
    def app():
        raise RuntimeError("parquet: underlying IO error: No space left on device (os error 28)")

    monkeypatch.setattr(cli, "app", app)
    monkeypatch.setattr("sys.argv", ["gradrank", *OUT])
    with pytest.raises(SystemExit) as ended:
        cli.answer()
    assert ended.value.code == 1
    assert "results/toy/methods/prank/fold1" in capsys.readouterr().err


def test_a_bug_keeps_its_traceback(monkeypatch):
    def app():
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "app", app)
    with pytest.raises(ZeroDivisionError):
        cli.answer()


def test_a_failed_write_leaves_the_older_file(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("old")
    with pytest.raises(OSError), atomic(path) as partial:
        partial.write_text("half")
        raise OSError(errno.ENOSPC, "")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
