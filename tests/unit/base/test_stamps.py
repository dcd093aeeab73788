"""Stamps name files with checksums, and find missing and edited files."""

import json

import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import SCHEMA, check_file, fault_of_name, mismatches, read_sealed, read_stamp, write_stamp


@pytest.fixture
def stamp(tmp_path):
    (tmp_path / "model").mkdir()
    for name in ("scores", "model/net"):
        (tmp_path / name).write_text(name)
    path = tmp_path / "spec.json"
    write_stamp(path, {"seed": 3}, [tmp_path / "scores", tmp_path / "model/net"])
    return path


def test_a_stamp_names_each_file_by_its_path_and_is_equal_for_equal_files(stamp):
    content = read_stamp(stamp)
    assert (content["schema"], content["seed"]) == (SCHEMA, 3) and list(content["files"]) == ["model/net", "scores"]
    assert all(len(digest) == 64 for digest in content["files"].values())
    before = stamp.read_bytes()
    write_stamp(stamp, {"seed": 3}, [stamp.parent / "model/net", stamp.parent / "scores"])
    assert stamp.read_bytes() == before and not list(mismatches(stamp))
    check_file(stamp, stamp.parent / "scores")


@pytest.mark.parametrize("name", ["scores", "model/net"])
def test_a_missing_and_an_edited_file_are_found_with_different_reasons(stamp, name):
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
def test_a_damaged_stamp_and_one_of_another_schema_are_mismatches(stamp, text):
    stamp.write_bytes(text.encode("latin-1"))
    assert [path for path, _ in mismatches(stamp)] == [stamp]


@pytest.mark.parametrize("schema", [None, 1, SCHEMA + 1])
def test_another_schema_is_refused_with_both_numbers(stamp, schema):
    stamp.write_text(json.dumps(read_stamp(stamp) | {"schema": schema}))
    with pytest.raises(GradrankError, match=rf"spec\.json: the schema is {schema}, not {SCHEMA}.*Fix: "):
        read_stamp(stamp)


def test_a_missing_stamp_is_refused_by_its_path(tmp_path):
    with pytest.raises(GradrankError, match=r"spec\.json: .*missing.*Fix: "):
        read_stamp(tmp_path / "spec.json")
    assert [path.name for path, _ in mismatches(tmp_path / "spec.json")] == ["spec.json"]


def test_an_edited_stamp_is_refused(stamp):
    stamp.write_text(stamp.read_text().replace('"seed": 3', '"seed": 4'))
    with pytest.raises(GradrankError, match="Fix:"):
        read_sealed(stamp)


def test_a_stamp_under_another_name_is_refused(stamp):
    other = stamp.rename(stamp.with_name("run.json"))
    with pytest.raises(GradrankError, match=r"spec\.json.*Fix:"):
        read_sealed(other)


@pytest.mark.parametrize(
    "name", ["../scores", "a/../../b", "a/./b", "a//b", "/scores", "C:/scores", "a\\b", "", 3, "a\nb"]
)
def test_only_plain_paths_below_the_folder_are_names(name):
    assert fault_of_name(name) is not None and fault_of_name("model/net") is None
