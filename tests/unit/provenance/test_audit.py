"""Missing and edited files of every kind in a finished project: what the audit reports and the repair removes."""

import json
import shutil
from pathlib import Path

import pytest

from gradrank.provenance.audit import IN_GIT, audit, repair, stamps
from made_project import DATASET, STUDY

DATA, RESULTS = Path("data"), Path("results")
OF = RESULTS / DATASET
FOLD, SEED = OF / "prank/fold2", OF / "prank/fold3/seed6"
STUDIES = RESULTS / "studies"

# A file of each kind, and the stamp that stands for it.
NAMED = {
    DATA / "parquet" / DATASET / "part1.parquet": "collection.json",
    DATA / "pairs" / DATASET / "part3.parquet": "pairs.json",
    OF / "single_feature/fold1/model/single_feature.json": "../spec.json",
    FOLD / "scores.parquet": "spec.json",
    FOLD / "history.parquet": "spec.json",
    SEED / "scores.parquet": "spec.json",
    OF / "prank/per_query.parquet": "evaluation.json",
    OF / "summary.json": "provenance.json",
    OF / "summary.md": "provenance.json",
    OF / "queries.parquet": "provenance.json",
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
    OF / "prank/evaluation.json",
    OF / "provenance.json",
    STUDIES / STUDY / "provenance.json",
    STUDIES / "pair_targets/jobs/targets.json",
    RESULTS / "run.json",
]


def found() -> list:
    return [mismatch for stamp in stamps(RESULTS, DATA) for mismatch in audit(stamp)]


def stamp_of(path: Path) -> Path:
    above, _, name = NAMED[path].rpartition("/")
    return (path.parent.parent if above else path.parent) / name


def edit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("path", NAMED, ids=str)
def test_an_edited_file_is_found_and_removed_with_its_stamp(project, path):
    assert found() == []
    edit(path)
    assert found() == [(stamp_of(path), path, "damaged or edited")]
    assert set(repair(found(), RESULTS, DATA)) == {path, stamp_of(path)}
    assert not path.exists() and not stamp_of(path).exists() and found() == []


@pytest.mark.parametrize("path", NAMED, ids=str)
def test_a_missing_file_is_found_and_its_stamp_removed(project, path):
    path.unlink()
    assert found() == [(stamp_of(path), path, "missing")]
    assert list(repair(found(), RESULTS, DATA)) == [stamp_of(path)]
    assert found() == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 1}'])
@pytest.mark.parametrize("stamp", STAMPS, ids=str)
def test_a_damaged_stamp_is_a_mismatch_itself(project, stamp, text):
    stamp.write_text(text)
    assert {(each.stamp, each.path) for each in found()} == {(stamp, stamp)}
    if stamp.name == "provenance.json" and "schema" in text:  # an older record, in git: nothing is damaged
        assert list(repair(found(), RESULTS, DATA)) == [] and stamp.exists()
    else:
        assert list(repair(found(), RESULTS, DATA)) == [stamp] and found() == []


@pytest.mark.parametrize("stamp", [each for each in STAMPS if each.parent.name != "jobs"], ids=str)
def test_an_edit_of_a_stamp_that_leaves_it_valid_is_a_mismatch(project, stamp):
    stamp.write_text(json.dumps(json.loads(stamp.read_text()) | {"another": 1}))
    assert {(each.stamp, each.path) for each in found()} == {(stamp, stamp)}


@pytest.mark.parametrize("damage", [edit, Path.unlink])
def test_a_table_stands_for_its_folder_which_is_removed(project, damage):
    damage(OF / "tables/main.tex")
    (wrong,) = found()
    assert wrong[:2] == (OF / "provenance.json", OF / "tables")
    assert set(repair([wrong], RESULTS, DATA)) == {OF / "provenance.json", OF / "tables"}
    assert not (OF / "tables").exists() and found() == []


def test_every_kind_of_stamp_is_looked_at(project):
    assert set(STAMPS) < set(stamps(RESULTS, DATA))
    files = {path for root in (RESULTS, DATA) for path in root.rglob("*") if path.is_file()}
    named = {
        stamp.parent / name
        for stamp in stamps(RESULTS, DATA)
        for name in json.loads(stamp.read_text()).get("files", {})
    }
    named |= set((OF / "tables").iterdir())
    unnamed = {path.name for path in files - named - set(stamps(RESULTS, DATA))}
    parts = {f"part{part}.parquet" for part in range(1, 6)}  # which `parts` of the stored data's stamps name
    assert unnamed == {"timing.json"} | parts


@pytest.mark.parametrize("root", ["../my project", ".hidden"])
def test_the_folder_of_the_project_may_be_written_in_any_way(project, root):
    if root == ".hidden":
        shutil.copytree(RESULTS, Path(root) / "results")
        shutil.copytree(DATA, Path(root) / "data")
    assert len(stamps(Path(root) / RESULTS, Path(root) / DATA)) == len(stamps(RESULTS, DATA)) > 20


def test_a_job_s_file_with_another_finding_is_found(project):
    path = STUDIES / "pair_targets/jobs/targets.json"
    said = json.loads(path.read_text())
    path.write_text(json.dumps(said | {"found": said["found"] | {"more": 1}}))
    assert [each.path for each in found()] == [path]


def test_raw_text_may_be_missing_but_not_edited(project):
    text = DATA / "raw" / DATASET / "S2.txt"
    edit(text)
    assert [(each.path, each.reason) for each in found()] == [(text, "damaged or edited")]
    text.unlink()
    assert found() == []


def clone() -> None:
    """Leave what git holds."""
    shutil.rmtree(DATA)
    for path in sorted(RESULTS.rglob("*"), reverse=True):  # what lies in a folder before it
        if path.is_file() and path.name not in (*IN_GIT, "provenance.json"):
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def test_a_fresh_clone_is_whole_until_what_git_holds_is_not(project):
    clone()
    assert found() == []
    edit(OF / "summary.json")
    (OF / "summary.md").unlink()
    assert {each.path.name for each in found()} == {"summary.json", "summary.md"}


def test_a_table_that_is_left_over_is_not_all_of_them(project):
    clone()
    (OF / "tables").mkdir()
    (OF / "tables/main.csv").write_text("left over")
    assert [each[1:] for each in found()] == [(OF / "tables", "damaged or edited")]


def test_partial_files_of_killed_jobs_are_removed_and_nothing_else(project):
    partial = [
        FOLD.parent / ".fold2.123.partial",
        SEED.parent / ".seed6.9.partial",
        DATA / "parquet" / DATASET / ".part1.parquet.77.partial",
        RESULTS / ".metrics.json.5.partial",
    ]
    for path in partial[:2]:
        (path / "model").mkdir(parents=True)
    for path in partial[2:]:
        path.write_text("half")
    before = {path for path in Path().rglob("*") if path.is_file()} - set(partial)
    assert found() == [] and set(repair([], RESULTS, DATA)) == set(partial)
    assert {path for path in Path().rglob("*") if path.is_file()} == before
