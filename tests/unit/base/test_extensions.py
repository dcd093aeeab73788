"""Packages of other distributions, found through entry points."""

import sys
from pathlib import Path

import pytest

from gradrank.base import extensions as module
from gradrank.base.extensions import (
    Extension,
    code_folders,
    extension_of,
    extensions,
    installed_extensions,
    own_models,
    use_own_models,
)


@pytest.fixture
def install(tmp_path, monkeypatch):
    """A function that writes a package, and the metadata of its distribution, into a new folder of sys.path."""

    def write(name: str, package: str, group: str = "gradrank.models", version: str = "1.0") -> Path:
        site = tmp_path / f"site {len(list(tmp_path.iterdir()))}"
        (site / package.replace(".", "/")).mkdir(parents=True)
        (site / package.replace(".", "/") / "__init__.py").touch()
        metadata = site / f"{name.replace('-', '_')}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (metadata / "entry_points.txt").write_text(f"[{group}]\n{name} = {package}\n")
        monkeypatch.syspath_prepend(site)
        clear()
        return site

    def clear():
        installed_extensions.cache_clear()
        code_folders.cache_clear()

    yield write
    monkeypatch.undo()
    clear()


def test_a_package_is_found_with_its_distribution_and_is_not_imported(install):
    site = install("my-rankers", "my_rankers.models")
    found = Extension("my_rankers.models", "my-rankers", "1.0")
    assert found in extensions("gradrank.models") and extensions("gradrank.losses") == ()
    assert extension_of("my_rankers.models.mart") == extension_of("my_rankers.tools") == found
    assert code_folders() == {"my_rankers": site / "my_rankers"}
    assert "my_rankers" not in sys.modules
    assert str(found) == "my-rankers 1.0 (my_rankers.models)"


def test_modules_of_gradrank_and_of_unrelated_packages_belong_to_no_extension(install):
    install("my-rankers", "my_rankers.models")
    assert extension_of("gradrank.models.mart") is None and extension_of("numpy.linalg") is None
    assert [each.package for each in extensions("gradrank.models")] == ["gradrank.models", "my_rankers.models"]


def test_the_distribution_that_is_imported_counts(install):
    install("my-rankers", "my_rankers.models", version="1.0")
    first = install("my-rankers", "my_rankers.models", version="2.0")  # now first on sys.path
    assert extension_of("my_rankers.models").version == "2.0"
    assert code_folders()["my_rankers"] == first / "my_rankers"


def test_the_folder_in_a_namespace_package_is_the_one_with_the_code(install):
    site = install("acme-rankers", "acme.rankers")
    other = install("acme-tools", "acme.tools", group="unrelated")
    assert (other / "acme").is_dir() and code_folders() == {"acme": site / "acme"}


def test_a_package_that_is_not_importable_has_no_folder(install):
    site = install("my-rankers", "my_rankers.models")
    (site / "my_rankers").rename(site / "renamed")
    code_folders.cache_clear()
    assert code_folders() == {}


def test_own_models_are_a_folder_only_after_the_call_and_if_it_exists(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_own_models", None)
    monkeypatch.chdir(tmp_path)
    Path("models").mkdir()
    assert own_models() is None
    use_own_models()
    assert own_models() == Path("models")
    use_own_models(tmp_path / "absent")
    assert own_models() is None
