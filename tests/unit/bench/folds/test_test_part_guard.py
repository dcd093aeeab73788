"""Tests that no model can open a file of the test part through Python."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.folds.job import train
from gradrank.data.pair_files import write_pairs
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from gradrank.models.single_feature import SingleFeature

DATA = Path("data/parquet/synthetic_net")


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    generate("net", 20, 10, 1, folder / "raw")
    parse(folder / "raw", folder / DATA, seed=1, dataset="synthetic_net")
    write_pairs(folder / DATA, folder / "data/pairs/synthetic_net")
    return folder


@pytest.fixture
def project(stored, tmp_path, monkeypatch) -> Path:
    """Return the working folder: a project with data in the usual place."""
    shutil.copytree(stored / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def by_link(path):
    Path("link").unlink(missing_ok=True)
    Path("link").symlink_to(path.absolute())
    return Path("link").read_bytes()


def by_second_name(path):
    Path("second").unlink(missing_ok=True)
    Path("second").hardlink_to(path)
    return Path("second").read_bytes()


READERS = {
    "open": lambda path: path.open("rb").read(),
    "bytes": lambda path: open(os.fsencode(path), "rb").read(),  # noqa: PTH123, SIM115
    "numpy": lambda path: np.fromfile(path, np.uint8),
    "link": by_link,
    "second name": by_second_name,
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("method", ["fit", "score"])
def test_a_model_that_reads_the_test_part_is_refused_by_name(project, monkeypatch, read, method):
    monkeypatch.setattr(SingleFeature, method, reading(getattr(SingleFeature, method), read, 5))
    with pytest.raises(GradrankError, match=r"^single_feature: .*data/.*part5\.parquet"):
        train("single_feature", DATA, 1, {}, 7, project / "fold1")
    assert not (project / "fold1").exists()


def reading(method, read, part):
    def then(*arguments):
        read(DATA / f"part{part}.parquet")
        return method(*arguments)

    return then


def test_a_model_that_hides_its_fault_is_refused_all_the_same(project, monkeypatch):
    def quietly(path):
        with pytest.raises(GradrankError):
            path.read_bytes()

    monkeypatch.setattr(SingleFeature, "fit", reading(SingleFeature.fit, quietly, 5))
    with pytest.raises(GradrankError, match=r"part5\.parquet"):
        train("single_feature", DATA, 1, {}, 7, project / "fold1")


def test_the_test_parts_pairs_are_out_of_reach(project, monkeypatch):
    own = Path("data/pairs/synthetic_net")
    monkeypatch.setattr(
        SingleFeature, "fit", reading(SingleFeature.fit, lambda _: (own / "part5.parquet").read_bytes(), 5)
    )
    with pytest.raises(GradrankError, match=r"pairs/synthetic_net/part5\.parquet"):
        train("single_feature", DATA, 1, {}, 7, project / "fold1", own)


def test_another_folds_test_part_is_this_ones_to_train_on(project, monkeypatch):
    monkeypatch.setattr(SingleFeature, "fit", reading(SingleFeature.fit, Path.read_bytes, 5))
    train("single_feature", DATA, 2, {}, 7, project / "fold2")  # it trains on parts 2, 3 and 4, validates on 5
    assert (DATA / "part5.parquet").read_bytes()  # and once the job is done every part may be read
