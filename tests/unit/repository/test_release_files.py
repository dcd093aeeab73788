"""The files about the release agree: pyproject.toml, CITATION.cff, codemeta.json, CHANGELOG.md and the BibTeX entry."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from gradrank import __version__
from gradrank.training.literature import references
from readme_links import wrong_link
from release import problems
from release_notes import ENTRY, package_version, release_notes

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
CODEMETA = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
NEWEST = next(ENTRY.finditer(CHANGELOG))


def test_every_file_names_the_version_of_the_package():
    assert "version" in PROJECT["dynamic"] and "version" not in PROJECT
    assert package_version() == __version__
    assert (CITATION["version"], CODEMETA["version"], NEWEST["version"]) == (__version__, __version__, __version__)


def test_every_file_has_the_date_of_the_newest_entry():
    assert (str(CITATION["date-released"]), CODEMETA["datePublished"]) == (NEWEST["date"], NEWEST["date"])


def test_titles_authors_licence_and_keywords_are_those_of_the_package():
    title, authors = CITATION["title"], [author["name"] for author in PROJECT["authors"]]
    assert f"title = {{{title}}}," in references()["gradrank"].bibtex
    described = f"{PROJECT['name']}: {PROJECT['description']}"
    assert described.lower().startswith(title.lower()) and CODEMETA["description"] == PROJECT["description"]
    assert CODEMETA["name"] == PROJECT["name"]
    assert [author["name"] for author in CITATION["authors"]] == authors
    assert [author["name"] for author in CODEMETA["author"]] == authors
    assert CITATION["license"] == PROJECT["license"]
    assert CODEMETA["license"].rpartition("/")[2] == PROJECT["license"]
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert CITATION["keywords"] == CODEMETA["keywords"] == PROJECT["keywords"]
    assert CODEMETA["runtimePlatform"] == f"Python {PROJECT['requires-python']}"


def test_addresses_are_those_of_the_package_and_their_files_exist():
    urls = PROJECT["urls"]
    assert CITATION["repository-code"] == CODEMETA["codeRepository"] == urls["Repository"]
    assert CITATION["url"] == CODEMETA["url"] == urls["Documentation"]
    assert CODEMETA["issueTracker"] == urls["Issues"]
    for address in (*urls.values(), CODEMETA["readme"], CODEMETA["releaseNotes"]):
        if found := re.fullmatch(f"{re.escape(urls['Repository'])}/blob/main/(.+)", address):
            assert (ROOT / found[1]).is_file(), address


def test_every_link_of_readme_works_without_the_repository():
    links = re.findall(r"\]\(([^)\s]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) > 30 and [wrong for link in links if (wrong := wrong_link(link))] == []


@pytest.mark.parametrize("address", ["docs/folds.md", "gone.md", "docs/python.md#no-such-heading"])
def test_a_link_without_a_target_is_found(address):
    relative, absolute = wrong_link(address), wrong_link(f"https://github.com/gradrank/gradrank/blob/main/{address}")
    assert relative and bool(absolute) == (address != "docs/folds.md")


def test_the_release_notes_are_the_entry_of_the_version_alone():
    text = "# Changelog\n\n## 2.0.0 (2026-02-03)\n\n### Added\n\n- two\n\n## 1.0.0 (2025-01-01)\n\n- one\n"
    assert release_notes(text, "2.0.0") == "### Added\n\n- two\n"
    assert release_notes(text, "1.0.0") == "- one\n"


@pytest.mark.parametrize(
    "entry", ["## 2.0.0\n\n- two\n", "## 2.0.0 (soon)\n\n- two\n", "## 2.0.0 (2026-02-03)\n\n", "## 2.0\n- a\n"]
)
def test_an_entry_without_a_date_or_a_text_is_refused(entry):
    with pytest.raises(ValueError, match=r"CHANGELOG.md"):
        release_notes(f"# Changelog\n\n{entry}\n## 1.0.0 (2025-01-01)\n\n- one\n", "2.0.0")


@pytest.mark.parametrize(("tag", "code"), [(f"v{__version__}", 0), (__version__, 1), ("v0.0.1", 1)])
def test_a_tag_must_name_the_version(tag, code):
    done = subprocess.run([sys.executable, ROOT / "tools/release_notes.py", tag], text=True, capture_output=True)
    assert done.returncode == code and (done.stdout == release_notes(CHANGELOG, __version__)) == (code == 0)


CHECKED = ("src/gradrank/__init__.py", "CHANGELOG.md", "CITATION.cff", "codemeta.json")


@pytest.fixture
def checkout(tmp_path):
    """The files about the release in a folder of their own."""
    for name in CHECKED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def test_the_committed_files_may_be_released_under_their_tag(checkout):
    assert problems(checkout) == problems(checkout, f"v{__version__}") == []
    assert len(problems(checkout, __version__)) == 1
    done = subprocess.run([sys.executable, ROOT / "tools/release.py", "v0.0.1"], text=True, capture_output=True)
    assert done.returncode == 1 and "v0.0.1" in done.stderr and "Fix: " in done.stderr


@pytest.mark.parametrize("changed", [f'"{__version__}"', f"## {__version__} ", f"version: {__version__}"])
def test_another_version_in_one_file_is_found(checkout, changed):
    name = next(name for name in reversed(CHECKED) if changed in (checkout / name).read_text(encoding="utf-8"))
    text = (checkout / name).read_text(encoding="utf-8")
    (checkout / name).write_text(text.replace(changed, changed.replace(__version__, "9.9.9"), 1), encoding="utf-8")
    assert any(problem.startswith(f"{name}: ") for problem in problems(checkout))


def test_a_package_of_another_version_differs_from_every_file(checkout):
    path = checkout / CHECKED[0]
    path.write_text(path.read_text(encoding="utf-8").replace(f'"{__version__}"', '"9.9.9"'), encoding="utf-8")
    named = {problem.partition(":")[0] for problem in problems(checkout)}
    assert named == {"CHANGELOG.md", "CITATION.cff", "codemeta.json"}


@pytest.mark.parametrize("name", ["CITATION.cff", "codemeta.json", "CHANGELOG.md"])
def test_another_date_in_one_file_is_found(checkout, name):
    path = checkout / name
    path.write_text(path.read_text(encoding="utf-8").replace(NEWEST["date"], "2020-02-02", 1), encoding="utf-8")
    assert problems(checkout)
