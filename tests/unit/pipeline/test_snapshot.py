"""results/snapshot: kept and put back with Snakemake's records, whole or not at all, after a kill too."""

import errno
import json
import random
import shutil
import time
from pathlib import Path

import pytest

import gradrank.pipeline.snapshot as snapshot
from gradrank.errors import GradrankError
from gradrank.files import read_json, sha256, write_json
from gradrank.pipeline.snapshot import RESULTS, SNAPSHOT, restore, restore_if_empty

LONG = "lambdamart-" + "-".join(
    f"a_parameter_{i}=0.{i}" for i in range(12)
)  # its record's name is cut in two
PARQUET, TEXT = Path("data/parquet/toy/collection.json"), Path("data/raw/toy/fetched.json")
FOLD = RESULTS / "toy" / LONG / "fold1"
MADE_OF = {
    TEXT: [],
    PARQUET: [TEXT],
    FOLD / "scores.parquet": [PARQUET, Path("src/code.py")],
    FOLD / "spec.json": [PARQUET, Path("src/code.py")],
    FOLD / "model": [PARQUET, Path("src/code.py")],
    RESULTS / "toy/summary.json": [FOLD / "scores.parquet"],
    RESULTS / "toy/tables": [FOLD / "scores.parquet"],
    RESULTS / "other/summary.json": [],  # of a data set that the study does not have
    RESULTS / "toy/provenance.json": [RESULTS / "toy/summary.json"],
}
RECORD = RESULTS / "toy/provenance.json"
OF_STUDY = [path for path in MADE_OF if "other" not in path.parts]


def make(path: Path, content: str) -> None:
    """An output, a folder if its name has no ending, and Snakemake's record of it."""
    file = path if path.suffix else path / "inside.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    record = snapshot.record(path)
    record.parent.mkdir(parents=True, exist_ok=True)
    when = {"starttime": time.time(), "endtime": time.time(), "job_hash": random.getrandbits(64)}
    record.write_text(json.dumps({"input": list(map(str, MADE_OF[path])), "made": content, **when}))


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch) -> None:
    """A finished study, kept, in the current folder, whose name has a space."""
    (tmp_path / "a checkout").mkdir()
    monkeypatch.chdir(tmp_path / "a checkout")
    for path in MADE_OF:
        make(path, f"first {path}")
    write_json(RESULTS / "toy/summary.json", {"lambdamart": {"ndcg@10": 0.5, "map": 0.25}})
    files = {str(PARQUET): sha256(PARQUET)}
    write_json(RESULTS / "toy/provenance.json", {"data": {"files": files}})
    (FOLD / "timing.json").write_text("{}")
    assert snapshot.snapshot([RECORD], Path("methods.csv")) == len(OF_STUDY)


def state(paths=OF_STUDY) -> dict:
    """Every file and record by path."""
    found = {}
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        found |= {file: file.read_bytes() for file in files if file.is_file()}
        if snapshot.record(path).is_file():
            found[path, "record"] = snapshot._read_record(path)
    return found


def test_a_wiped_study_comes_back_whole_with_its_records():
    whole = state(path for path in OF_STUDY if path != TEXT)
    shutil.copytree(SNAPSHOT, "remote")
    shutil.rmtree(RESULTS)
    shutil.rmtree(".snakemake")
    shutil.copytree("remote", SNAPSHOT)
    assert set(restore_if_empty()) == set(OF_STUDY) - {TEXT}
    assert state(path for path in OF_STUDY if path != TEXT) == whole
    assert not (RESULTS / "other").exists()
    assert restore_if_empty() == [] and restore() == []


def test_only_what_differs_is_replaced():
    (RESULTS / "toy/summary.json").write_text("that of another revision")
    make(FOLD / "model", "of other parameters")
    (FOLD / "scores.parquet").unlink()
    assert set(restore()) == {RESULTS / "toy/summary.json", FOLD / "model", FOLD / "scores.parquet"}
    assert (FOLD / "model/inside.txt").read_text().startswith("first")


def test_other_data_keep_their_own_record():
    make(PARQUET, "other rows")
    assert restore() == []
    assert read_json(snapshot.record(PARQUET))["made"] == "other rows"


def test_the_same_results_give_the_same_snapshot_at_another_time():
    def snapshot_of_files():
        return {path: path.read_bytes() for path in SNAPSHOT.rglob("*") if path.is_file()}

    before = snapshot_of_files()
    for path in MADE_OF:
        if path != RECORD and path.name != "summary.json":
            make(path, f"first {path}")
    (FOLD / "timing.json").write_text('{"seconds": 7}')
    snapshot.snapshot([RECORD], Path("methods.csv"))
    assert snapshot_of_files() == before and not any(path.name == "timing.json" for path in before)


@pytest.mark.parametrize("killed_at", range(1, 6))
def test_killed_restore_leaves_no_file_that_its_record_does_not_describe(monkeypatch, killed_at):
    whole = state()
    for path in OF_STUDY[2:]:
        if path.name != "provenance.json":
            make(path, f"second {path}")
    original, calls = snapshot._copy, []

    def copy(source, target):
        calls.append(target)
        if len(calls) == killed_at:
            raise KeyboardInterrupt
        original(source, target)

    monkeypatch.setattr(snapshot, "_copy", copy)
    with pytest.raises(KeyboardInterrupt):
        restore()
    for path in OF_STUDY[2:]:
        file = path if path.suffix else path / "inside.txt"
        if file.is_file() and path.name not in ("provenance.json", "summary.json"):
            assert read_json(snapshot.record(path))["made"] == file.read_text()
    monkeypatch.setattr(snapshot, "_copy", original)
    restore()
    assert state() == whole
    assert not list(RESULTS.rglob("*.partial"))


def test_a_restore_that_fails_leaves_no_half_file_and_the_next_one_completes(monkeypatch):
    def fails(source: Path, target: Path) -> None:
        target.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    shutil.rmtree(RESULTS / "toy")
    with monkeypatch.context() as full, pytest.raises(OSError):
        full.setattr(shutil, "copy2", fails)
        restore()
    assert not list(RESULTS.rglob("*.partial")) and not (FOLD / "scores.parquet").exists()
    restore()
    assert (FOLD / "scores.parquet").read_text() == f"first {FOLD / 'scores.parquet'}"


def test_means_are_a_table_with_a_row_a_method():
    assert Path("methods.csv").read_text().splitlines() == [
        "method,ndcg@1,ndcg@10,mean_ndcg,map,p@10",
        "toy: lambdamart,,0.5,,0.25,",
    ]


def test_without_results_or_a_snapshot_the_message_says_what_to_do():
    shutil.rmtree(RESULTS)
    with pytest.raises(GradrankError, match="`dvc pull` brings it"):
        restore()
    with pytest.raises(GradrankError, match="run `snakemake --cores 2` first"):
        snapshot.snapshot([RESULTS / "other/provenance.json"], Path("methods.csv"))
