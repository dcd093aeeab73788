"""A finished project for the tests of records, repairs and targets."""

import shutil
from pathlib import Path

import pytest

from made_project import make_project


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Path:
    """A project folder filled by `make_project`; not to be changed."""
    root = tmp_path_factory.mktemp("finished") / "my project"
    root.mkdir()
    make_project(root)
    return root


@pytest.fixture
def project(finished, tmp_path, monkeypatch) -> Path:
    """A copy of the finished project as the working folder. A test may change it."""
    root = shutil.copytree(finished, tmp_path / finished.name)
    monkeypatch.chdir(root)
    return root
