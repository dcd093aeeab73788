"""A full disk, or one that fails, is recognised whoever reports it, and named with what to do."""

import errno
import json
import shutil
import sqlite3
from collections import namedtuple

import polars as pl
import pytest

from gradrank import cli
from gradrank.errors import GradrankError
from gradrank.files import atomic
from gradrank.pipeline.disk import check_space, explanation

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def disk(monkeypatch):
    """Sets how much is free on the one disk there is."""

    def filled(free: int) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9 - free, free))

    filled(0)
    return filled


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError("No space left on device (os error 28)"),  # Polars's, of a CSV file
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        RuntimeError("parquet: underlying IO error: No space left on device (os error 28)"),
        sqlite3.OperationalError("database or disk is full"),
        RuntimeError("Cannot write binary data to x, wrote 0 of 1020536 bytes"),  # LightGBM's
    ],
)
def test_it_is_named_with_the_file_the_room_and_the_remedy(disk, error):
    told = explanation(error, ["train", "--seed", "1", "--out", "results/toy/prank/fold1"])
    assert told.startswith(
        "results/toy/prank/fold1: no space left on its disk (0.0 of 1,000 MB are free); free some"
    )


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EIO, "Input/output error"),
        OSError("Input/output error (os error 5)"),
        RuntimeError("parquet: underlying IO error: Input/output error (os error 5)"),
        sqlite3.OperationalError("disk I/O error"),
    ],
)
def test_a_disk_that_fails_is_named_with_what_to_look_at(disk, error):
    disk(10**8)
    told = explanation(error, ["parse", "x", "--out", "data/parquet/toy"])
    assert told.startswith("data/parquet/toy: input/output error (100.0 of 1,000 MB are free); see whether")
    assert told.endswith("run the same command again: what was finished is kept")


def test_a_failed_write_without_a_reason_is_told_from_a_damaged_file_that_is_read(disk):
    def sink_parquet():
        raise pl.exceptions.ComputeError(
            "parquet: File out of specification: Invalid thrift: transport error"
        )

    with pytest.raises(pl.exceptions.ComputeError) as written:
        sink_parquet()
    assert "x: no space left" in explanation(written.value, ["--out", "x"])
    disk(10**8)
    assert "x: cannot be written, for want of space or an input/output" in explanation(
        written.value, ["--out", "x"]
    )
    assert explanation(pl.exceptions.ComputeError(str(written.value)), ["--out", "x"]) is None


def test_the_file_that_an_error_names_comes_first(disk, tmp_path):
    with pytest.raises(OSError) as failed, atomic(tmp_path / "x.json") as partial:
        raise OSError(errno.ENOSPC, "No space left on device", str(partial))
    error = failed.value
    assert explanation(error, ["--out", "y"]).startswith(f"{tmp_path}/x.json: no space left")


def test_a_write_that_names_no_file_is_said_of_the_file_that_was_being_written(disk, tmp_path):
    with pytest.raises(OSError) as failed, atomic(tmp_path / "x.json") as partial:
        write_to(partial)
    assert explanation(failed.value, ["--out", "y"]).startswith(f"{tmp_path}/x.json: no space left")


def test_of_a_file_that_is_restored_it_names_that_file(disk, tmp_path):
    error = OSError(errno.ENOSPC, "No space left on device", str(tmp_path / ".scores.parquet.partial"))
    assert explanation(error, []).startswith(f"{tmp_path}/scores.parquet: no space left")


def write_to(partial):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_arguments_that_are_no_file_s_name_are_passed_over(disk):
    error = OSError(errno.ENOSPC, "No space left on device")
    told = explanation(error, ["provenance", "toy", "--params", json.dumps({"a": "b" * 5000}), "a\0b", "/"])
    assert told.startswith("/: no space left")


def test_another_error_is_not_taken_for_it(disk):
    assert explanation(OSError(errno.ENOENT, "No such file", "x"), []) is None
    assert explanation(ValueError("full"), []) is None


def test_a_command_ends_with_the_message_and_no_traceback(disk, monkeypatch, capsys):
    def app():
        raise RuntimeError("No space left on device (os error 28)")

    monkeypatch.setattr(cli, "app", app)
    monkeypatch.setattr("sys.argv", ["gradrank", "pairs", "--out", "data/pairs/toy.parquet"])
    with pytest.raises(SystemExit) as ended:
        cli.answer()
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith("gradrank: error: data/pairs/toy.parquet: no space left")


def test_a_bug_keeps_its_traceback(monkeypatch):
    def app():
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "app", app)
    with pytest.raises(ZeroDivisionError):
        cli.answer()


def test_a_run_does_not_begin_on_a_full_disk(disk, tmp_path):
    with pytest.raises(GradrankError, match=f"{tmp_path}: the disk is full .0.0 of 1,000 MB are free"):
        check_space([tmp_path])
    with pytest.raises(GradrankError, match="or set TMPDIR to another folder"):
        check_space([])
    disk(10**8)
    check_space([tmp_path])
