"""The real collections. GRADRANK_MIRROR names the folder that holds MQ2007.tar.xz and OHSUMED.tar.xz."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

import gradrank  # noqa: F401  # isort: split  # before numpy, which every test imports: it sets the instruction set

# The first call after any change of compiled code compiles.
settings.register_profile("compiling", deadline=None)
settings.load_profile("compiling")


@pytest.fixture
def plain_install(monkeypatch) -> None:
    """An installation without the extras of models, whatever this one has."""
    from gradrank.learning import model

    extras = {package for cls in model.models().values() if cls.extra for package in cls.requires}
    found = model.find_spec
    monkeypatch.setattr(model, "find_spec", lambda name: None if name in extras else found(name))


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The mirror's folder; the test is skipped where there is none."""
    value = os.environ.get("GRADRANK_MIRROR")
    if not value or not Path(value).is_dir():
        pytest.skip("needs the LETOR archives: set GRADRANK_MIRROR to the folder that holds MQ2007.tar.xz")
    return Path(value).resolve()


@pytest.fixture(scope="session")
def oracle(mirror) -> Path:
    """Score files with the outputs of LETOR's own evaluation program, beside the mirror."""
    folder = mirror.parent / "oracle"
    if not folder.is_dir():
        pytest.skip(f"needs LETOR's evaluation outputs in {folder}")
    return folder


def _collection(name: str, mirror: Path, factory: pytest.TempPathFactory) -> Path:
    from gradrank.data.fetch import fetch
    from gradrank.data.parse import parse

    folder = factory.mktemp(name)
    fetch(name, folder / "raw" / name, str(mirror))
    stored = folder / "parquet" / name
    parse(folder / "raw" / name, stored, seed=0, dataset=name)
    return stored


@pytest.fixture(scope="session")
def mq2007(mirror, tmp_path_factory) -> Path:
    """MQ2007 as a stored collection, and the text under ../raw/mq2007."""
    return _collection("mq2007", mirror, tmp_path_factory)


@pytest.fixture(scope="session")
def ohsumed(mirror, tmp_path_factory) -> Path:
    """OHSUMED as a stored collection, and the text under ../raw/ohsumed."""
    return _collection("ohsumed", mirror, tmp_path_factory)
