"""A repair removes only what gradrank wrote, whatever the stamps say and whatever else is in the folders."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from gradrank.base.files import host_name
from gradrank.bench.cli import app
from gradrank.bench.provenance.audit import audit, carry_out, plan_repair, stamps
from gradrank.bench.provenance.record_checks import fault_of_record
from made_project import DATASET

DATA, RESULTS = Path("data"), Path("results")
RESULT = RESULTS / DATASET
STAMPS = [
    DATA / "raw" / DATASET / "fetched.json",
    DATA / "parquet" / DATASET / "collection.json",
    DATA / "pairs" / DATASET / "pairs.json",
    RESULT / "methods/prank/fold2/spec.json",
    RESULT / "methods/prank/evaluation.json",
    RESULT / "provenance.json",
    RESULTS / "studies/average_precision/provenance.json",
    RESULTS / "run.json",
]
NAMES = [
    "/etc/hostname", "../../photo.jpg", "..", ".", "", "a/../../photo.jpg", "model/../../../photo.jpg",
    "./scores.parquet", "model//net", "model/", "C:/photo.jpg", "C:photo.jpg", "..\\photo.jpg", "\\\\host\\share",
    "a\0b", "a\nb", "\ud800", "x" * 300, "model/" + "x" * 5000, "~/photo.jpg", "file:///etc/hostname", "thesis.txt",
    "%2e%2e/photo.jpg", "fifo", "link", "linked/photo.jpg", "dangling", "loop", "model", "tables", "part1.parquet",
    "scores.parquet",
]  # fmt: skip
ENTRIES = ["0" * 64, None, 3, 1e999, [], {}, {"sha256": 3}, {"sha256": "0" * 64, "bytes": -1}, [[[]]]]


def forge(stamp: Path, content: dict[str, Any]) -> None:
    """Write a stamp with any content, a marker and a valid checksum, as anyone can."""
    content = {"gradrank": stamp.stem} | {key: value for key, value in content.items() if key != "checksum"}
    digest = hashlib.sha256(json.dumps(json.loads(json.dumps(content)), sort_keys=True).encode()).hexdigest()
    stamp.write_text(json.dumps(content | {"checksum": digest}))


def files_of(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and not path.is_symlink()}


@pytest.fixture
def outside(tmp_path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "photo.jpg").write_bytes(b"a photo")
    return folder


def add_special_files(folder: Path, outside: Path) -> None:
    """Add a FIFO, which blocks whoever opens it, and links, with the names that hostile stamps list."""
    os.mkfifo(folder / "fifo")
    (folder / "link").symlink_to(outside / "photo.jpg")
    (folder / "linked").symlink_to(outside)
    (folder / "dangling").symlink_to(outside / "nothing")
    (folder / "loop").symlink_to("loop")
    (folder / "thesis.txt").write_text("years of work")


def repaired(*arguments: str):
    """Run the commands as a user would, and check that none of them prints a traceback."""
    results = [CliRunner().invoke(app, ["verify", *more]) for more in ((), ("--repair", *arguments))]
    for result in results:
        assert result.exception is None or type(result.exception).__name__ in ("SystemExit", "GradrankError"), result
    return results


@pytest.mark.parametrize("stamp", STAMPS, ids=str)
def test_no_stamp_can_name_a_file_that_is_then_opened_or_removed(project, outside, stamp):
    add_special_files(stamp.parent, outside)
    (project.parent / "photo.jpg").write_text("another photo")
    key = "parts" if stamp.name in ("collection.json", "pairs.json") else "files"
    content = json.loads(stamp.read_text())
    before = files_of(project.parent)
    for name in NAMES:
        if name in ("part1.parquet", "scores.parquet"):
            continue
        entry = "0" * 64 if isinstance(next(iter(content[key].values())), str) else {"sha256": "0" * 64}
        forge(stamp, content | {key: content[key] | {name: entry}})
        found = list(audit(stamp))
        named = [mismatch for mismatch in found if mismatch.path == stamp and "names" in mismatch.reason]
        plan = plan_repair(found, RESULTS, DATA)
        harmless = all(mismatch.reason == "missing" for mismatch in found)
        if name == "tables" and stamp.name == "provenance.json":
            continue  # gradrank writes this folder
        assert named or harmless or plan.kept, (name, found)
        assert all(path.parent in (stamp.parent, stamp.parent / "model") for path in plan.removed), (name, plan)
    stamp.write_bytes(before[stamp.absolute()])
    assert files_of(project.parent) == before


@pytest.mark.parametrize("name", ["fifo", "link", "linked/photo.jpg", "dangling", "loop"])
def test_a_special_file_that_a_stamp_may_list_is_reported_and_not_opened(project, outside, name):
    stamp = RESULT / "methods/prank/fold2/spec.json"
    add_special_files(stamp.parent / "model", outside)
    content = json.loads(stamp.read_text())
    forge(stamp, content | {"files": content["files"] | {f"model/{name}": "0" * 64}})
    (mismatch,) = audit(stamp)
    assert mismatch.path == stamp.parent / "model" / name
    before = files_of(project.parent)
    result = repaired("--yes")[1]
    assert name in result.stdout and result.exit_code == 1
    assert files_of(project.parent) == before and os.path.lexists(mismatch.path)


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(NAMES)
JSON = VALUES | st.lists(VALUES, max_size=3) | st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_valid_stamp_leaves_all_files_of_others(project, data):
    """Any value of any key of a sealed stamp: nothing but files of gradrank in the stamp's own folder goes."""
    stamp = data.draw(st.sampled_from(STAMPS))
    original = stamp.read_bytes()
    content = json.loads(original)
    key = data.draw(st.sampled_from([*content, "files", "parts"]))
    value = data.draw(JSON | st.dictionaries(st.sampled_from(NAMES), st.sampled_from(ENTRIES), max_size=3))
    forge(stamp, content | {key: value})
    others = {path for path in files_of(project.parent) if path.parent != stamp.absolute().parent}
    plan = plan_repair(audit(stamp), RESULTS, DATA)
    assert not {path.absolute() for path in plan.removed} & others
    stamp.write_bytes(original)


FOREIGN = {
    "run.json": '{"steps": [1, 2], "files": ["a.txt"]}',
    "spec.json": '{"openapi": "3.1.0", "schema": {"type": "object"}}',
    "evaluation.json": "[0.25, 0.5]",
    "provenance.json": '{"author": "me"}',
    "collection.json": '{"type": "FeatureCollection", "features": []}',
    "pairs.json": '[["a", "b"]]',
    "fetched.json": '{"fetched": "2026-01-01", "files": {"../../photo.jpg": {"sha256": "0"}}}',
    "page.json": '{"page": 1}',
    "explanations.json": '"none"',
    "jobs/mine.json": '{"job": "baker", "found": 1}',
    ".backup.partial/thesis.txt": "years of work",
    ".notes.partial": "notes",
    ".a.b.12-3.partial.txt": "notes",
    ".thesis.123.partial": "the old form of a name",
    "thesis.txt": "years of work",
    "broken/run.json": "{not json",
    "empty/spec.json": "",
    "nested/spec.json": "[" * 100_000,
    "odd/run.json": '{"checksum": "mine", "files": {"thesis.txt": "0"}}',
    "double/run.json": '{"gradrank": 1, "gradrank": "run", "files": {"thesis.txt": "0"}, "files": {}, "checksum": NaN}',
}


def test_every_file_of_another_program_survives_a_repair_with_its_bytes(project, outside):
    places = [RESULTS / "mine", RESULT / "mine", RESULTS / "studies/mine", DATA / "raw/mine", DATA / "parquet/mine",
              DATA / "pairs/mine", RESULT / "methods/prank/fold2/model", RESULT / "prank"]  # fmt: skip
    foreign = {}
    for place in places:
        for name, text in FOREIGN.items():
            path = place / name
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
                foreign[path] = text.encode()
        (place / "piped").mkdir(exist_ok=True)
        os.mkfifo(place / "piped/run.json")
        (place / "linked").mkdir(exist_ok=True)
        (place / "linked/spec.json").symlink_to(outside / "photo.jpg")
        os.mkfifo(place / f".fifo.{host_name()}.{ended_process()}-1.partial")
        (place / f".link.{host_name()}.{ended_process()}-1.partial").symlink_to(outside)
    scores = RESULT / "methods/prank/fold3/scores.parquet"
    scores.write_bytes(b"damaged")
    assert scores in [mismatch.path for stamp in stamps(RESULTS, DATA) for mismatch in audit(stamp)]
    result = repaired("--yes")[1]
    assert not scores.exists(), result.stdout
    assert {path: path.read_bytes() if path.exists() else None for path in foreign} == foreign
    assert (outside / "photo.jpg").read_bytes() == b"a photo"
    assert all(os.path.lexists(place / "piped/run.json") for place in places)
    assert all(os.path.lexists(place / "linked/spec.json") for place in places)


def test_a_table_folder_with_another_file_is_left(project):
    (RESULT / "tables/thesis.txt").write_text("years of work")
    before = files_of(project)
    result = repaired("--yes")[1]
    assert result.exit_code == 1 and "thesis.txt" in result.stdout and files_of(project) == before


def ended_process() -> int:
    """Return the id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def partial(place: Path, host: str, process: int) -> Path:
    return place.with_name(f".{place.name}.{host}.{process}-1.partial")


def test_partial_files_go_if_their_process_on_this_host_has_ended(project):
    here, ended = host_name(), ended_process()
    file, fold = DATA / "parquet" / DATASET / "part1.parquet", RESULT / "methods/prank/fold2"
    raw = DATA / "raw/mq2007"
    gone = [
        partial(file, here, ended),
        partial(fold, here, ended),
        partial(fold / "seed6", here, ended),
        partial(raw, here, ended),
    ]
    left = [partial(file, here, os.getpid()), partial(fold, "other-host", ended), partial(fold / "seed7", here, ended)]
    for path in [*gone, *left]:
        if path.name.startswith((".fold", ".seed")):
            (path / "model").mkdir(parents=True)
            (path / "model/net.safetensors").write_text("half")
            partial(path / "model/terms.json", here, ended).write_text("half")
        elif path.name.startswith(".mq2007"):
            (path / "Fold1").mkdir(parents=True)
            (path / "Fold1/train.txt").write_text("half")
        else:
            path.write_text("half")
    (left[2] / "thesis.txt").write_text("years of work")
    before = files_of(project)
    plan = plan_repair([], RESULTS, DATA)
    assert set(plan.removed) == set(gone) and set(plan.waiting) == set(left[:2]) and set(plan.kept) == {left[2]}
    assert set(carry_out(plan)) == set(gone)
    kept = {path for path in before if not any(part.absolute() in (path, *path.parents) for part in gone)}
    assert set(files_of(project)) == kept


def test_nothing_is_removed_without_an_answer(project):
    scores = RESULT / "methods/prank/fold1/scores.parquet"
    scores.write_bytes(b"damaged")
    before = files_of(project)
    result = repaired()[1]
    assert result.exit_code == 1 and str(scores) in result.stdout and files_of(project) == before
    assert CliRunner().invoke(app, ["verify", "--yes"]).exit_code == 1
    assert repaired("--yes")[1].exit_code == 0 and not scores.exists()
    assert "Nothing to remove" in repaired()[1].stdout


@pytest.mark.parametrize("place", [RESULT, RESULTS / "studies/average_precision"], ids=str)
def test_a_record_with_values_of_other_types_is_an_error_by_its_path(project, place):
    record = place / "provenance.json"
    content, is_study = json.loads(record.read_text()), place != RESULT
    assert fault_of_record(content, is_study) is None
    for key in content.keys() - {"gradrank", "schema", "checksum", "files", "rechecked"}:
        for value in (None, 3, {"../../photo": {}}, {"x": None}, [{}]):
            if key == "params" and isinstance(value, dict):
                continue  # any settings
            assert fault_of_record(content | {key: value}, is_study) is not None, (key, value)
    forge(record, content | {"versions": {"numpy": []}})
    assert str(record) in repaired()[0].stdout


def test_a_fifo_among_the_jobs_and_the_data_does_not_block(project):
    os.mkfifo(RESULTS / "studies/pair_targets/jobs/other.json")
    shutil.rmtree(RESULT / "tables")
    os.mkfifo(RESULT / "tables")
    part = DATA / "parquet" / DATASET / "part1.parquet"
    part.unlink()
    os.mkfifo(part)
    verified = repaired("--yes")[0]
    assert verified.exit_code == 1 and str(part) in verified.stdout and str(RESULT / "tables") in verified.stdout
    assert os.path.lexists(part)
