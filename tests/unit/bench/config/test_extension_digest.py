"""The code digest covers the modules of packages that add models and losses."""

from pathlib import Path

import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.config import code_digest as code_digests
from gradrank.bench.config.code_digest import (
    code_digest,
    imported_files,
    module_file,
    module_files,
    named,
    read_source,
    stage_files,
)

FILES = {
    "__init__": "SETTING = 1\n",
    "models/__init__": "",
    "models/mine": "from my_rankers.tools import tool\nfrom . import beside\nimport numpy\n",
    "models/beside": "value = 1\n",
    "tools": "from gradrank.data.order import order\n",
    "unused": "value = 1\n",
}


def clear_caches():
    for cached in (code_digest, named, module_files, module_file, imported_files, read_source):
        cached.cache_clear()


@pytest.fixture
def digest_of(tmp_path, monkeypatch):
    """A function that installs a package in a new folder, with changed files, and returns the digest of a job."""

    def digest(**changes: str) -> str:
        site = tmp_path / f"site {len(list(tmp_path.iterdir()))}"
        for name, text in (FILES | {name.replace("_of_", "/"): text for name, text in changes.items()}).items():
            path = site / "my_rankers" / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        monkeypatch.setattr(code_digests, "code_folders", lambda: {"my_rankers": site / "my_rankers"})
        clear_caches()
        return code_digest("train", "my_rankers.models.mine")

    yield digest
    clear_caches()


def test_the_modules_that_a_model_imports_are_in_the_digest(digest_of):
    before = digest_of()
    paths = {named(path) for path in stage_files("train", "my_rankers.models.mine")}
    own = {path for path in paths if path.startswith("my_rankers/")}
    assert own == {f"my_rankers/{name}.py" for name in FILES if name != "unused"}
    assert "src/gradrank/data/order.py" in paths and not any("numpy" in Path(path).parts for path in paths)
    assert digest_of() == before  # in another folder
    assert digest_of(unused="value = 2\n") == before
    assert digest_of(tools=FILES["tools"] + "# a comment\n") == before
    for name, text in FILES.items():
        if name != "unused":
            assert digest_of(**{name.replace("/", "_of_"): text + "VALUE = 3\n"}) != before, name


def test_a_module_that_does_not_exist_is_an_error(digest_of):
    digest_of()
    with pytest.raises(GradrankError, match=r"my_rankers\.models\.absent"):
        stage_files("train", "my_rankers.models.absent")


def test_paths_are_relative_to_the_working_folder(digest_of):
    digest_of()
    assert all(not Path(path).is_absolute() for path in stage_files("train", "my_rankers.models.mine"))
