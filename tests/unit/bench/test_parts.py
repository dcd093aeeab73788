"""Parts of studies: packed into one file for git, unpacked in a fresh clone, and read from either."""

import shutil

import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.base.stamps import DAMAGED
from gradrank.bench.parts import (
    DIVISIONS,
    JOBS,
    KINDS,
    PACKED,
    TRIALS,
    VALUES,
    Parts,
    study_parts,
    unpack_results,
    write_job,
    write_part,
)
from gradrank.bench.provenance.audit import Mismatch, plan_repair

# In the order of the packed file: tuners are numbers, and jobs are sorted by the names of their files.
KEYS = {
    TRIALS: [("a", "m", 2), ("a", "m", 10), ("b", "m", 1)],
    VALUES: [("a", "m", 2), ("a", "m", 10), ("a", "m.x", 1)],
    DIVISIONS: [("a", "m"), ("b", "m")],
    JOBS: [("net-1",), ("net",)],
}


def write(parts: Parts, key) -> None:
    number = len(str(key)) / 7
    if parts.kind is JOBS:
        write_job(parts.path(*key), {"job": key[0], "values": [number, None, {"é": [1, 2.0]}]})
        return
    table = pl.DataFrame({"fold": [2, 1], "ndcg@10": pl.Series([number, None], dtype=pl.Float32), "text": ["x", None]})
    named = [pl.lit(value).alias(name) for name, value in zip(parts.kind.columns, key, strict=True)]
    named = [column.cast(pl.Int64) if column.meta.output_name() == "tuner" else column for column in named]
    write_part(table.with_columns(*named) if parts.kind.in_parts else table, parts.path(*key))


@pytest.fixture
def study(tmp_path):
    """Return the folder of a study with parts of every kind."""
    folder = tmp_path / "results/studies/toy"
    for parts in study_parts(folder):
        for key in reversed(KEYS[parts.kind]):
            write(parts, key)
        parts.path(*KEYS[parts.kind][0]).with_name(".notes").write_text("not a part")
    return folder


@pytest.fixture
def clone(study, tmp_path):
    """Return a folder with the packed files of the study alone."""
    folder = tmp_path / "clone"
    folder.mkdir()
    for parts in study_parts(study):
        parts.pack()
        shutil.copy(parts.packed_path, folder)
    return folder


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_clone_has_the_same_parts(study, clone, kind):
    parts, packed = Parts(study, kind), Parts(clone, kind)
    assert parts.existing() == packed.existing() == KEYS[kind] and not packed.are_unpacked
    assert parts.existing("a") == packed.existing("a") == [key for key in KEYS[kind] if key[0] == "a"]
    for key in KEYS[kind]:
        assert packed.read(*key).equals(parts.read(*key)) and packed.sha256(*key) == parts.sha256(*key)
    whole = packed.whole()
    assert whole.equals(parts.whole()) and set(kind.columns) < set(whole.columns)
    lines = list(unpack_results(clone))
    assert len(lines) == len(KINDS) and packed.are_unpacked
    for key in KEYS[kind]:
        assert packed.path(*key).read_bytes() == parts.path(*key).read_bytes()
        assert packed.path(*key).stat().st_mtime_ns <= packed.packed_path.stat().st_mtime_ns, "Snakemake packs again"
    before = packed.packed_path.read_bytes()
    assert packed.pack() == len(KEYS[kind])
    assert packed.packed_path.read_bytes() == before == parts.packed_path.read_bytes()
    assert list(unpack_results(clone)) == []


def test_a_missing_part_is_computed_again_and_not_unpacked(clone):
    """Snakemake deletes a part before its job. If the job is stopped, the former part must not come back."""
    parts = Parts(clone, VALUES)
    parts.unpack()
    parts.path("a", "m", 2).unlink()
    assert parts.unpack() == 0 and parts.existing() == KEYS[VALUES][1:]
    with pytest.raises(GradrankError, match="no such file"):
        parts.read("a", "m", 2)
    assert parts.pack() == 2 and parts.unpack() == 0
    shutil.rmtree(parts.parts_path)
    assert parts.unpack() == 2, "parts that were deleted are not computed again"


def test_parts_that_are_not_those_of_the_packed_file_are_named(study, clone):
    """After `git pull`, the packed file has other rows than the parts on this computer."""
    parts = Parts(clone, VALUES)
    parts.unpack()
    other = Parts(study, VALUES)
    other.path("a", "m", 2).unlink()
    other.pack()
    shutil.copy(other.packed_path, clone)
    with pytest.raises(GradrankError, match=r"values\.parquet: .*Fix: delete the folder"):
        parts.unpack()
    (parts.parts_path / PACKED).unlink()
    with pytest.raises(GradrankError, match="Fix: delete the folder"):
        parts.unpack()
    parts.packed_path.unlink()
    assert parts.unpack() == 0 and parts.pack() == 3


def test_foreign_and_damaged_files_are_named(study):
    parts = Parts(study, TRIALS)
    for content in (b"mine", b""):
        parts.packed_path.write_bytes(content)
        with pytest.raises(GradrankError, match=r"trials\.parquet: damaged, or not written by gradrank.* Fix: "):
            parts.pack()
        assert parts.packed_path.read_bytes() == content
    parts.packed_path.unlink()
    shutil.copy(parts.path("a", "m", 2), parts.path("a", "m", 3))
    with pytest.raises(GradrankError, match=r"tuner3\.parquet: has the rows of another part"):
        parts.pack()
    parts.path("a", "m", 3).write_bytes(parts.path("a", "m", 2).read_bytes()[:-9])
    with pytest.raises(GradrankError, match=r"tuner3\.parquet: damaged"):
        parts.pack()
    write_part(parts.read("a", "m", 2).with_columns(tuner=pl.lit(3), new=1), parts.path("a", "m", 3))
    with pytest.raises(GradrankError, match="different columns"):
        parts.pack()
    assert not parts.packed_path.exists()
    with pytest.raises(GradrankError, match="nothing to pack"):
        Parts(study / "reduced", TRIALS).pack()
    with pytest.raises(GradrankError, match="no such file"):
        Parts(study / "reduced", TRIALS).read("a", "m", 1)


@pytest.mark.parametrize("name", ["..", "a/b", "/a", "a\\..", "", None])
def test_a_packed_file_names_no_path_outside_its_folder(study, name):
    parts = Parts(study, VALUES)
    parts.pack()
    shutil.rmtree(parts.parts_path)
    table = pl.read_parquet(parts.packed_path)
    table.with_columns(pl.lit(name, pl.String).alias("dataset"), tuner=1).write_parquet(parts.packed_path)
    before = sorted(study.parent.rglob("*"))
    with pytest.raises(GradrankError, match=r"values\.parquet: names .*Fix: "):
        parts.unpack()
    assert sorted(study.parent.rglob("*")) == before


def test_a_repair_keeps_a_damaged_packed_file(study, tmp_path):
    """It can be restored from git. Without it and without its parts, everything would be computed again."""
    path = Parts(study, TRIALS).packed_path
    Parts(study, TRIALS).pack()
    before = sha256(path)
    plan = plan_repair([Mismatch(study / "provenance.json", path, DAMAGED)], tmp_path / "results", tmp_path / "data")
    assert not plan.removed and "git restore" in plan.kept[path] and sha256(path) == before
