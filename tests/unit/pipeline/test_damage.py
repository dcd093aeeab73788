"""Damaged files are found by their hashes, and what is to be made for them is named."""

import os
import shutil
import time
from pathlib import Path

import pytest

from gradrank.data.pair_files import pairs
from gradrank.data.parse import parse
from gradrank.data.synthetic import generate
from gradrank.files import read_json, write_json
from gradrank.pipeline.damage import REMEMBERED, put_aside, remember, remembered, to_mend
from gradrank.pipeline.mending import stage
from gradrank.pipeline.snapshot import record

RAW, PARQUET, PAIRS = (Path("data", kind, "net") for kind in ("raw", "parquet", "pairs"))
SUMMARY, TABLE, REPORT = map(
    Path, ("results/net/summary.json", "results/net/tables/a.csv", "results/report.html")
)
TIMING = Path("results/net/prank/fold1/timing.json")


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    generate("net", 10, 5, 1, RAW)
    parse(RAW, PARQUET, seed=1, dataset="net")
    pairs(PARQUET, PAIRS)
    for path in (SUMMARY, TABLE, REPORT, TIMING):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    for path in (SUMMARY, TABLE.parent, REPORT):
        write_json(record(path), {"input": []})
    remember()


def later(path: Path, content: bytes) -> None:
    """Another content, as of some seconds from now."""
    path.write_bytes(content)
    os.utime(path, (time.time() + 9, time.time() + 9))


def test_nothing_is_damaged_and_touching_damages_nothing(project):
    for path in (*PARQUET.iterdir(), *PAIRS.iterdir(), SUMMARY, TABLE, REPORT):
        later(path, path.read_bytes())
    assert to_mend({"net"}) == {}


@pytest.mark.parametrize(
    ("path", "target"),
    [
        (RAW / "S2.txt", RAW / "fetched.json"),
        (PARQUET / "part3.parquet", PARQUET / "collection.json"),
        (PARQUET / "collection.json", PARQUET / "collection.json"),
        (PAIRS / "part1.parquet", PAIRS / "pairs.json"),
        (SUMMARY, SUMMARY),
        (TABLE, TABLE.parent),
        (REPORT, REPORT),
    ],
    ids=str,
)
@pytest.mark.parametrize("content", [b"", b"{", b'{"parts": 3}', b"other"])
def test_what_is_damaged_is_named_with_what_makes_it(project, path, target, content):
    later(path, content)
    assert to_mend({"net"}).get(path) == target
    assert all(
        stage(path) <= stage(other) for other in to_mend({"net"})
    )  # before what may only follow from it
    assert (path in to_mend({"other"})) == (path == REPORT)  # the report is everybody's


def test_parts_and_descriptions_that_are_gone_are_made_again_and_text_is_not(project):
    for path in (PARQUET / "part3.parquet", PAIRS / "pairs.json", RAW / "S1.txt", TIMING, SUMMARY):
        path.unlink()
    assert set(to_mend({"net"})) == {PARQUET / "part3.parquet", PAIRS / "pairs.json", SUMMARY}
    shutil.rmtree("results")  # to begin anew: Snakemake plans all of it
    assert set(to_mend({"net"})) == {PARQUET / "part3.parquet", PAIRS / "pairs.json"}
    assert put_aside() == []
    remember()  # a run that failed meanwhile does not forget them
    assert PAIRS / "pairs.json" in to_mend({"net"})


def test_what_a_run_that_was_killed_has_made_is_not_damaged(project):
    later(SUMMARY, b"new")
    os.utime(record(SUMMARY), (time.time() + 10, time.time() + 10))
    assert to_mend({"net"}) == {}


def test_what_is_damaged_is_not_remembered(project):
    later(SUMMARY, b"forged")
    then = remembered()
    remember()
    assert remembered() == then and SUMMARY in to_mend({"net"})


def test_a_damaged_timing_is_removed_and_so_is_text_that_would_pass_for_whole(project):
    later(TIMING, b"{")
    later(RAW / "S4.txt", b"0 qid:1 1:0\n")
    assert put_aside() == [f"{TIMING}: damaged, and removed: nothing can measure it again"]
    assert not TIMING.exists() and not (RAW / "S4.txt").exists() and (RAW / "S3.txt").is_file()


def test_a_changed_specification_is_removed_so_that_its_fold_is_trained_again(project):
    spec = TIMING.with_name("spec.json")
    write_json(spec, {"fold": 1})
    write_json(record(spec), {"input": []})
    remember()
    later(spec, b'{"fold": 2}')
    assert to_mend({"net"}) == {}
    assert put_aside() == [f"{spec}: damaged or edited; the fold is trained again"] and not spec.exists()


def test_a_damaged_memory_damages_nothing(project):
    for content in ("", "[]", '{"a": 3}', "{"):
        REMEMBERED.write_text(content)
        assert remembered() == {} and to_mend({"net"}) == {}
    REMEMBERED.unlink()
    remember()
    assert set(read_json(REMEMBERED)) >= {str(SUMMARY), str(TABLE), str(TIMING)}
