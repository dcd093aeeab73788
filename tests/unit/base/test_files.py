"""Names of temporary files."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gradrank.base.files import LONGEST_NAME, atomic, host_name, partial_owner, partial_path


@pytest.mark.parametrize("name", ["a.txt", "fold1", ".hidden", "a.b.partial", "line\nbreak", "x" * 249, "é" * 127])
def test_names_its_host_and_process(tmp_path: Path, name: str) -> None:
    path = partial_path(tmp_path / name)
    owner = partial_owner(path)
    assert owner is not None
    assert name.startswith(owner.name)
    assert (owner.host, owner.process) == (host_name(), os.getpid())
    assert len(os.fsencode(path.name)) <= LONGEST_NAME


@pytest.mark.parametrize("name", ["a.partial", ".backup.partial", ".fold2.123.partial", ".a.host.12.partial", "a.txt"])
def test_other_names_have_no_owner(name: str) -> None:
    assert partial_owner(Path(name)) is None


@pytest.mark.parametrize("name", ["a.txt", "y" * 255, "é" * 127])
def test_writes_files_with_long_names(tmp_path: Path, name: str) -> None:
    with atomic(tmp_path / name) as partial:
        partial.write_text("content")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_threads_write_one_file_without_collision(tmp_path: Path) -> None:
    def write(number: int) -> None:
        with atomic(tmp_path / "file") as partial:
            partial.write_text(str(number) * 1000)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(10), chunksize=1))
    assert len({*(tmp_path / "file").read_text()}) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
