"""Fixtures that several kinds of tests share: a finished run, the real collections, and models trained on them.

GRADRANK_MIRROR names the folder that holds the archives of MQ2007 and OHSUMED, and the public collections.
"""

import os
import re
import shutil
from collections.abc import Callable, Generator
from importlib.util import find_spec
from pathlib import Path

import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.files import locked
from project import Project

OF_EXTRAS = ("catboost", "mlflow", "onnx", "onnxruntime", "pandas", "pyarrow", "snakemake", "torch", "xgboost")
ABSENT = [name for name in OF_EXTRAS if find_spec(name) is None]


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """Skip a test that needs an absent package of an extra."""
    return (yield from _skipped_without_extra())


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Generator[None, object, object]:
    """Skip the tests of a fixture that needs an absent package of an extra."""
    return (yield from _skipped_without_extra())


def _skipped_without_extra() -> Generator[None, object, object]:
    try:
        return (yield)
    except (GradrankError, ImportError, AssertionError) as error:
        for name in ABSENT:
            if re.search(rf"needs [^\n]*\b{name}\b|No module named '{name}", str(error)):
                pytest.skip(f"needs {name}")
        raise


@pytest.fixture(scope="session")
def shared(tmp_path_factory) -> Callable[[str, Callable[[Path], object]], Path]:
    """`shared(name, make)`: a folder that `make` filled, once for all of pytest-xdist's processes."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent

    def made(name: str, make: Callable[[Path], object]) -> Path:
        folder, whole = base / name / f"my {name}", base / name / "whole"
        (base / name).mkdir(exist_ok=True)
        with locked(base / name / "lock"):
            if not whole.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                make(folder)
                whole.touch()
        return folder

    return made


@pytest.fixture(scope="session")
def finished(shared) -> Project:
    """A small run that was made from scratch with --cores 2; not to be changed."""
    return Project(shared("finished", lambda root: Project.small(root).snakemake("--cores", "2")))


@pytest.fixture
def rerun(finished, tmp_path) -> Project:
    """A copy of the finished run, with its modification times and Snakemake's records."""
    return Project(Path(shutil.copytree(finished.root, tmp_path / "my checkout", symlinks=True)))


@pytest.fixture
def project(tmp_path) -> Project:
    """A copy of the project with the small run, without any output."""
    return Project.small(tmp_path / "my checkout")


@pytest.fixture
def plain_install(monkeypatch) -> None:
    """Make the optional packages of models appear uninstalled."""
    from gradrank.base import errors
    from gradrank.training.registry import models

    optional = {package for cls in models().values() if cls.extra for package in cls.requires}
    find_spec = errors.find_spec
    monkeypatch.setattr(errors, "find_spec", lambda name: None if name in optional else find_spec(name))


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder that GRADRANK_MIRROR names. Skips the test if it does not exist."""
    value = os.environ.get("GRADRANK_MIRROR")
    if not value or not Path(value).is_dir():
        pytest.skip("needs the LETOR archives: set GRADRANK_MIRROR to the folder that holds them")
    return Path(value).resolve()


@pytest.fixture(scope="session")
def oracle(mirror) -> Path:
    """The folder next to the mirror with score files and the outputs of LETOR's own evaluation program for them."""
    folder = mirror.parent / "oracle"
    if not folder.is_dir():
        pytest.skip(f"needs LETOR's evaluation outputs in {folder}")
    return folder


def _parsed(name: str, mirror: Path, shared: Callable[..., Path]) -> Path:
    from gradrank.data.parse import parse
    from gradrank.data.sources.fetch import fetch

    def make(folder: Path) -> None:
        fetch(name, folder / "raw" / name, str(mirror))
        parse(folder / "raw" / name, folder / "parquet" / name, seed=0, dataset=name)

    return shared(name, make) / "parquet" / name


@pytest.fixture(scope="session")
def mq2007(mirror, shared) -> Path:
    """MQ2007 as a stored collection, and the text under ../raw/mq2007; not to be changed."""
    return _parsed("mq2007", mirror, shared)


@pytest.fixture(scope="session")
def ohsumed(mirror, shared) -> Path:
    """OHSUMED as a stored collection, and the text under ../raw/ohsumed; not to be changed."""
    return _parsed("ohsumed", mirror, shared)


@pytest.fixture(scope="session")
def on_test_part(shared) -> Callable[[str, Path, int], dict[str, float]]:
    """`on_test_part(model, stored, fold)`: the test NDCG@10 and MAP of a model under letor4, by metric.

    The model is trained as in a study, with default parameters and seed 2005, once for all tests.
    """
    from gradrank.base.files import read_json, write_json
    from gradrank.data.stored import StoredCollection
    from gradrank.training.fit import job_seed
    from gradrank.training.registry import get_model
    from gradrank.training.selection import measure

    def measured(model: str, stored: Path, fold: int) -> dict[str, float]:
        collection, cls = StoredCollection.open(stored), get_model(model)

        def make(folder: Path) -> None:
            parts = collection.fold(fold)
            train, vali, test = (collection.read(parts[split]) for split in ("train", "vali", "test"))
            seed = job_seed(2005, collection.name, model, fold)
            fitted = cls.fit(train, vali, cls.Params(), seed, lambda step, **values: None)
            scores = fitted.score(test.features, test.offsets)
            values = {name: measure(name, scores, test.labels, test.offsets) for name in ("ndcg@10", "map")}
            write_json(folder / "values.json", values)

        return read_json(shared(f"{collection.name} {model} fold{fold}", make) / "values.json")

    return measured


@pytest.fixture(scope="session")
def five_fold(on_test_part) -> Callable[[str, Path], tuple[float, float]]:
    """`five_fold(model, stored)`: the means over the five test parts of NDCG@10 and MAP."""

    def means(model: str, stored: Path) -> tuple[float, float]:
        folds = [on_test_part(model, stored, fold) for fold in range(1, 6)]
        return sum(values["ndcg@10"] for values in folds) / 5, sum(values["map"] for values in folds) / 5

    return means
