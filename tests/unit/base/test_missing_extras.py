"""Errors that name the extra of a missing package."""

import pytest

from gradrank.base import errors
from gradrank.base.errors import GradrankError
from gradrank.bench.tracking.store import open_store
from gradrank.data.file_forms import blocks
from gradrank.data.tables.files import read_parquet, read_separated


@pytest.fixture
def without(monkeypatch):
    """Return a function that makes packages appear uninstalled."""

    def hide(*names: str) -> None:
        find_spec = errors.find_spec
        monkeypatch.setattr(errors, "find_spec", lambda name: None if name in names else find_spec(name))

    return hide


def test_installed_packages_are_accepted_and_missing_ones_named():
    errors.require("numpy", "json", extra="nets", needed_by="softmax")
    assert errors.missing(["numpy", "no_such_package"]) == ["no_such_package"]
    with pytest.raises(GradrankError, match=r"^softmax: needs no_such_package, .* 'gradrank\[nets\]'$"):
        errors.require("numpy", "no_such_package", extra="nets", needed_by="softmax")
    with pytest.raises(GradrankError, match=r"Fix: pip install no_such_package$"):
        errors.require("no_such_package", extra=None, needed_by="own")


@pytest.mark.parametrize(
    ("name", "read"),
    [("a.csv", read_separated), ("a.parquet", read_parquet), ("a.txt.zst", lambda path: list(blocks(path)))],
)
def test_tables_and_zstandard_name_arrow(tmp_path, without, name, read):
    (tmp_path / name).write_bytes(b"qid,label\n1,1\n")
    without("pyarrow")
    with pytest.raises(GradrankError, match=rf"{name}: needs pyarrow, .*pip install 'gradrank\[arrow\]'"):
        read(tmp_path / name)


@pytest.mark.parametrize("package", ["mlflow", "sqlalchemy"])
def test_a_store_names_track(tmp_path, without, package):
    without(package)
    with pytest.raises(GradrankError, match=rf"needs {package}, .*pip install 'gradrank\[track\]'"), open_store():
        pass
