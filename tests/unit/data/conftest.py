"""Fixtures of the tests of fetching."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from file_server import file_server
from gradrank.data.sources import download as download_module
from made_archive import tiny


@pytest.fixture
def no_waiting(monkeypatch):
    """Skip the pauses between attempts to download."""
    monkeypatch.setattr(download_module.time, "sleep", lambda _: None)


@pytest.fixture
def out(tmp_path) -> Path:
    """The folder of the fetched data set."""
    return tmp_path / "raw" / "tiny"


@pytest.fixture
def content(tmp_path) -> bytes:
    """The bytes of the archive."""
    return tiny(tmp_path / "source").read_bytes()


@pytest.fixture
def serve():
    """Start servers: `serve(content, plan, ...)` returns what `file_server` yields."""
    with ExitStack() as servers:
        yield lambda *arguments, **options: servers.enter_context(file_server(*arguments, **options))
