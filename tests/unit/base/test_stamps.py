"""Stamps: what they name, and what they find."""

import json

import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import SCHEMA, check_file, mismatches, read_stamp, write_stamp


@pytest.fixture
def stamp(tmp_path):
    (tmp_path / "model").mkdir()
    for name in ("scores", "model/net"):
        (tmp_path / name).write_text(name)
    path = tmp_path / "spec.json"
    write_stamp(path, {"seed": 3}, [tmp_path / "scores", tmp_path / "model/net"])
    return path


def test_it_names_each_file_by_its_path_and_is_equal_for_equal_files(stamp):
    said = read_stamp(stamp)
    assert (said["schema"], said["seed"]) == (SCHEMA, 3) and list(said["files"]) == ["model/net", "scores"]
    assert all(len(digest) == 64 for digest in said["files"].values())
    before = stamp.read_bytes()
    write_stamp(stamp, {"seed": 3}, [stamp.parent / "model/net", stamp.parent / "scores"])
    assert stamp.read_bytes() == before and not list(mismatches(stamp))
    check_file(stamp, stamp.parent / "scores")


@pytest.mark.parametrize("name", ["scores", "model/net"])
def test_a_missing_and_an_edited_file_are_told_apart(stamp, name):
    path = stamp.parent / name
    for change, reason in ((lambda: path.write_text("x"), "damaged or edited"), (path.unlink, "missing")):
        change()
        assert list(mismatches(stamp)) == [(path, reason)]
        with pytest.raises(GradrankError, match=f"{name}: {reason}.*Fix: "):
            check_file(stamp, path)


def test_a_file_that_no_stamp_names_is_refused(stamp):
    (stamp.parent / "other").touch()
    with pytest.raises(GradrankError, match="other: "):
        check_file(stamp, stamp.parent / "other")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "3", "\xff", '{"files": {}}', '{"schema": 1, "files": {}}', f'{{"schema": {SCHEMA}}}',
     f'{{"schema": {SCHEMA}, "files": []}}'],
)  # fmt: skip
def test_a_damaged_stamp_and_one_of_another_version_are_mismatches_themselves(stamp, text):
    stamp.write_bytes(text.encode("latin-1"))
    assert [path for path, _ in mismatches(stamp)] == [stamp]


@pytest.mark.parametrize("schema", [None, 1, SCHEMA + 1])
def test_another_schema_is_refused_with_both_numbers(stamp, schema):
    stamp.write_text(json.dumps(read_stamp(stamp) | {"schema": schema}))
    with pytest.raises(GradrankError, match=rf"spec\.json: the schema is {schema}, not {SCHEMA}.*Fix: "):
        read_stamp(stamp)


def test_a_stamp_that_is_not_there_is_named(tmp_path):
    with pytest.raises(GradrankError, match=r"spec\.json: .*missing.*Fix: "):
        read_stamp(tmp_path / "spec.json")
    assert [path.name for path, _ in mismatches(tmp_path / "spec.json")] == ["spec.json"]
