"""Missing and edited files of every kind in a finished project: audit reports them, and repair removes their stamps."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from gradrank.bench.folds.job import train
from gradrank.bench.provenance.audit import FOREIGN, IN_GIT, Mismatch, audit, carry_out, plan_repair, stamps
from made_project import DATASET, STUDY

DATA, RESULTS = Path("data"), Path("results")
RESULT = RESULTS / DATASET
FOLD, SEED = RESULT / "methods/prank/fold2", RESULT / "methods/prank/fold3/seed6"
STUDIES = RESULTS / "studies"

# A file of each kind, and the stamp that has its checksum.
NAMED = {
    DATA / "parquet" / DATASET / "part1.parquet": "collection.json",
    DATA / "pairs" / DATASET / "part3.parquet": "pairs.json",
    RESULT / "methods/single_feature/fold1/model/single_feature.json": "../spec.json",
    FOLD / "scores.parquet": "spec.json",
    FOLD / "history.parquet": "spec.json",
    SEED / "scores.parquet": "spec.json",
    RESULT / "methods/prank/per_query.parquet": "evaluation.json",
    RESULT / "summary.json": "provenance.json",
    RESULT / "summary.md": "provenance.json",
    RESULT / "queries.parquet": "provenance.json",
    STUDIES / STUDY / "numbers.json": "provenance.json",
    STUDIES / STUDY / "page.md": "provenance.json",
    RESULTS / "per_query.parquet": "run.json",
    RESULTS / "methods.csv": "run.json",
    RESULTS / "metrics.json": "run.json",
}
STAMPS = [
    DATA / "raw" / DATASET / "fetched.json",
    DATA / "parquet" / DATASET / "collection.json",
    DATA / "pairs" / DATASET / "pairs.json",
    FOLD / "spec.json",
    SEED / "spec.json",
    RESULT / "methods/prank/evaluation.json",
    RESULT / "provenance.json",
    STUDIES / STUDY / "provenance.json",
    STUDIES / "pair_targets/jobs/targets.json",
    RESULTS / "run.json",
]


def wrong() -> list[Mismatch]:
    return [mismatch for stamp in stamps(RESULTS, DATA) for mismatch in audit(stamp)]


def repair(found: list[Mismatch]) -> set[Path]:
    """Carry out a repair, and return what it removed."""
    return set(carry_out(plan_repair(found, RESULTS, DATA)))


def stamp_of(path: Path) -> Path:
    above, _, name = NAMED[path].rpartition("/")
    return (path.parent.parent if above else path.parent) / name


def edit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("path", NAMED, ids=str)
def test_an_edited_file_is_reported_and_removed_with_its_stamp(project, path):
    assert wrong() == []
    edit(path)
    assert wrong() == [(stamp_of(path), path, "damaged or edited")]
    assert repair(wrong()) == {path, stamp_of(path)}
    assert not path.exists() and not stamp_of(path).exists() and wrong() == []


@pytest.mark.parametrize("path", NAMED, ids=str)
def test_a_missing_file_is_reported_and_its_stamp_removed(project, path):
    path.unlink()
    assert wrong() == [(stamp_of(path), path, "missing")]
    assert repair(wrong()) == {stamp_of(path)}
    assert wrong() == []


@pytest.mark.parametrize("part", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("stamp", STAMPS, ids=str)
def test_a_cut_stamp_is_a_mismatch_itself_and_is_removed(project, stamp, part):
    content = stamp.read_bytes()
    stamp.write_bytes(content[: max(150, int(part * len(content)))])
    assert wrong() == [(stamp, stamp, "damaged or edited")]
    assert repair(wrong()) == {stamp} and wrong() == []


@pytest.mark.parametrize("text", ["", "{", '{"schema": 1, "files": {}}', '{"schema": 2, "files": {}, "found": 1}'])
@pytest.mark.parametrize("stamp", STAMPS, ids=str)
def test_a_stamp_damaged_beyond_recognition_is_a_mismatch_and_stays(project, stamp, text):
    stamp.write_text(text)
    assert {(mismatch.stamp, mismatch.path) for mismatch in wrong()} == {(stamp, stamp)}
    assert wrong()[0].reason != FOREIGN
    assert repair(wrong()) == set() and stamp.read_text() == text
    assert stamp in plan_repair(wrong(), RESULTS, DATA).kept


@pytest.mark.parametrize("stamp", [stamp for stamp in STAMPS if stamp.parent.name != "jobs"], ids=str)
def test_a_stamp_that_was_written_before_the_marker_existed_is_read(project, stamp):
    content = {
        key: value for key, value in json.loads(stamp.read_text()).items() if key not in ("gradrank", "checksum")
    }
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    stamp.write_text(json.dumps(content | {"checksum": digest}))
    assert wrong() == []


@pytest.mark.parametrize("stamp", [stamp for stamp in STAMPS if stamp.parent.name != "jobs"], ids=str)
def test_an_edit_of_a_stamp_that_leaves_it_valid_is_a_mismatch(project, stamp):
    stamp.write_text(json.dumps(json.loads(stamp.read_text()) | {"another": 1}))
    assert {(mismatch.stamp, mismatch.path) for mismatch in wrong()} == {(stamp, stamp)}


@pytest.mark.parametrize("damage", [edit, Path.unlink])
def test_a_damaged_table_is_reported_as_its_folder_which_is_removed(project, damage):
    damage(RESULT / "tables/main.md")
    (mismatch,) = wrong()
    assert mismatch[:2] == (RESULT / "provenance.json", RESULT / "tables")
    assert repair([mismatch]) == {RESULT / "provenance.json", RESULT / "tables"}
    assert not (RESULT / "tables").exists() and wrong() == []


def test_every_kind_of_stamp_is_audited(project):
    assert set(STAMPS) < set(stamps(RESULTS, DATA))
    files = {path for root in (RESULTS, DATA) for path in root.rglob("*") if path.is_file()}
    named = {
        stamp.parent / name
        for stamp in stamps(RESULTS, DATA)
        for name in json.loads(stamp.read_text()).get("files", {})
    }
    named |= set((RESULT / "tables").iterdir())
    unnamed = {path.name for path in files - named - set(stamps(RESULTS, DATA))}
    parts = {f"part{part}.parquet" for part in range(1, 6)}  # named by `parts` in the stamps of stored data
    assert unnamed == {"timing.json"} | parts


@pytest.mark.parametrize("root", ["../my project", ".hidden"])
def test_the_folder_of_the_project_may_be_written_in_any_way(project, root):
    if root == ".hidden":
        shutil.copytree(RESULTS, Path(root) / "results")
        shutil.copytree(DATA, Path(root) / "data")
    assert len(stamps(Path(root) / RESULTS, Path(root) / DATA)) == len(stamps(RESULTS, DATA)) > 20


def test_an_edited_job_file_is_reported(project):
    path = STUDIES / "pair_targets/jobs/targets.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"found": content["found"] | {"more": 1}}))
    assert [mismatch.path for mismatch in wrong()] == [path]


def test_raw_text_may_be_missing_but_not_edited(project):
    text = DATA / "raw" / DATASET / "S2.txt"
    edit(text)
    assert [(mismatch.path, mismatch.reason) for mismatch in wrong()] == [(text, "damaged or edited")]
    text.unlink()
    assert wrong() == []


def clone() -> None:
    """Leave only the files that are in git."""
    shutil.rmtree(DATA)
    for path in sorted(RESULTS.rglob("*"), reverse=True):  # the files of a folder before the folder
        if path.is_file() and path.name not in (*IN_GIT, "provenance.json"):
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def test_a_fresh_clone_has_no_mismatch_until_a_file_in_git_is_damaged(project):
    clone()
    assert wrong() == []
    edit(RESULT / "summary.json")
    (RESULT / "summary.md").unlink()
    assert {mismatch.path.name for mismatch in wrong()} == {"summary.json", "summary.md"}


def test_an_incomplete_folder_of_tables_is_a_mismatch(project):
    clone()
    (RESULT / "tables").mkdir()
    (RESULT / "tables/main.csv").write_text("left over")
    assert [mismatch[1:] for mismatch in wrong()] == [(RESULT / "tables", "damaged or edited")]


def test_the_copied_members_of_a_fusion_are_covered_by_the_stamp_of_its_fold(project):
    fold = RESULT / "borda/fold1"
    params = {"models": ["single_feature", "prank"]}
    train("borda", DATA / "parquet" / DATASET, 1, params, 5, fold, members=RESULT)
    member = fold / "model/members/1/spec.json"
    assert member.is_file() and member not in stamps(RESULTS, DATA)
    assert not wrong()
    edit(member)
    assert [(mismatch.stamp, mismatch.path) for mismatch in wrong()] == [(fold / "spec.json", member)]
