"""The sdist and the wheel of a release: they are complete, their metadata are valid, and the wheel works. Four minutes.

The packages are built as .github/workflows/release.yml builds them, and the wheel is installed in a fresh environment
with the versions of requirements.lock.
"""

import json
import os
import re
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from environments import OFFLINE, ROOT, UV, Environment, InstallError, copy_sources, locked_versions
from gradrank import __version__
from readme_links import wrong_link

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = ("gradrank", "snakemake_logger_plugin_gradrank")
TOOLS = ("build>=1.3,<2", "twine>=7,<8", "setuptools>=77", "readme-renderer[md]>=44")
RENDER = (
    "import sys; from readme_renderer.markdown import render; print(render(sys.argv[1]) or sys.exit('not rendered'))"
)

pytestmark = pytest.mark.skipif(not UV.exists(), reason="needs uv, which requirements.lock has")


def installed(folder: Path, cache: Path, *packages: str | Path) -> Environment:
    """Return a new environment with these packages. Skips the test if an index is out of reach."""
    environment = Environment(folder, cache).create()
    try:
        environment.install(*packages)
    except InstallError as error:
        if any(reason in str(error) for reason in OFFLINE):
            pytest.skip(f"needs packages from an index: {str(error)[-300:]}")
        raise
    return environment


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("release")


@pytest.fixture(scope="module")
def tools(base) -> Environment:
    return installed(base / "tools", base / "cache", *TOOLS)


@pytest.fixture(scope="module")
def dist(base, tools) -> Path:
    """A folder with the sdist, and with the wheel that is built from the sdist."""
    source = copy_sources(base / "source")
    tools.run("pyproject-build", "--no-isolation", "--outdir", base / "dist", cwd=source)
    return base / "dist"


@pytest.fixture(scope="module")
def wheel(dist) -> Path:
    return dist / f"gradrank-{__version__}-py3-none-any.whl"


def contents(wheel: Path) -> dict[str, bytes]:
    """Return the content of each file of a wheel by name, without the list of checksums."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}


def test_the_files_are_named_by_the_version_and_pass_twine(dist, tools):
    files = sorted(dist.iterdir())
    assert [path.name for path in files] == [
        f"gradrank-{__version__}-py3-none-any.whl",
        f"gradrank-{__version__}.tar.gz",
    ]
    assert tools.run("twine", "check", "--strict", *files, cwd=dist).count("PASSED") == 2


def test_the_wheel_from_the_sdist_equals_the_wheel_from_the_checkout(base, wheel, tools):
    """A file that the sdist lacks, or a link that it does not resolve, would be missing from the wheel."""
    tools.run("pyproject-build", "--no-isolation", "--wheel", "--outdir", base / "direct", cwd=base / "source")
    assert contents(base / "direct" / wheel.name) == contents(wheel)


def test_the_wheel_has_exactly_the_files_of_the_packages(wheel):
    packaged = {name: data for name, data in contents(wheel).items() if ".dist-info/" not in name}
    folders = (folder for name in PACKAGES for folder in os.walk(ROOT / "src" / name, followlinks=True))
    files = (Path(folder, name) for folder, _, names in folders for name in names)
    sources = {path.relative_to(ROOT / "src").as_posix(): path for path in files if path.suffix != ".pyc"}
    assert packaged == {name: path.read_bytes() for name, path in sources.items()}


def metadata_of(wheel: Path) -> Message:
    return message_from_bytes(contents(wheel)[f"gradrank-{__version__}.dist-info/METADATA"])


def test_the_wheel_has_no_study_and_no_test(wheel):
    folders = {name.split("/")[0] for name in contents(wheel)}
    assert folders == {*PACKAGES, f"gradrank-{__version__}.dist-info"}


def test_every_link_of_the_page_on_the_package_index_has_a_target(wheel, tools):
    """The description is rendered as the package index renders it, which resolves no relative link."""
    described = metadata_of(wheel).get_payload()
    page = tools.run("python", "-c", RENDER, described, cwd=wheel.parent)
    links = re.findall(r'<(?:a|img)\b[^>]*?\b(?:href|src)="([^#"][^"]*)"', page)  # headings link to themselves
    assert len(links) > 30 and [wrong for link in links if (wrong := wrong_link(link))] == []


def test_the_sdist_has_the_tests_of_the_library_and_the_files_that_they_read(dist):
    with tarfile.open(dist / f"gradrank-{__version__}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tests = [path.relative_to(ROOT) for path in (ROOT / "tests/unit").rglob("*.py")]
    ours = [path.as_posix() for path in tests if path.parts[2] not in ("bench", "repository")]
    read = ("conftest.py", "tests/conftest.py", "params.yaml", "docs/python.md", "results/mq2007/queries.parquet")
    assert len(ours) > 100 and [name for name in (*ours, *read) if name not in names] == []
    assert not [name for name in names if name.startswith("tests/unit/bench")]


def test_the_metadata_are_those_of_pyproject(wheel, dist):
    metadata = metadata_of(wheel)
    assert (metadata["Version"], metadata["Summary"]) == (__version__, PROJECT["description"])
    assert metadata["License-Expression"] == PROJECT["license"]
    urls = dict(line.split(", ") for line in metadata.get_all("Project-URL", []))
    assert urls == PROJECT["urls"]
    assert set(metadata.get_all("Provides-Extra", [])) == PROJECT["optional-dependencies"].keys()
    with tarfile.open(dist / f"gradrank-{__version__}.tar.gz") as archive:
        assert not [member.name for member in archive.getmembers() if member.issym() or member.islnk()]


def test_the_installed_wheel_works_without_the_checkout(wheel, base):
    core = installed(base / "core", base / "cache", "--constraint", locked_versions(base), wheel)
    project = base / "project"
    project.mkdir()
    assert core.run("gradrank", "--version", cwd=project) == f"gradrank {__version__}\n"
    core.run("gradrank", "init", ".", cwd=project)
    committed = (ROOT / "workflow/schemas/params.schema.json").read_text(encoding="utf-8")
    assert (project / "workflow/schemas/params.schema.json").read_text(encoding="utf-8") == committed
    assert core.run("gradrank", "schema", cwd=project) == committed
    core.run(
        "gradrank",
        "generate",
        "net",
        "--queries",
        "20",
        "--documents",
        "10",
        "--seed",
        "1",
        "--out",
        "raw",
        cwd=project,
    )
    core.run("gradrank", "parse", "raw", "--out", "small", "--seed", "1", cwd=project)
    train = ("train", "--model", "lambdamart", "--data", "small", "--fold", "1", "--seed", "1", "--out", "fold1")
    core.run("gradrank", *train, cwd=project)
    stamp = json.loads((project / "fold1/spec.json").read_text(encoding="utf-8"))
    assert stamp["versions"]["gradrank"] == __version__
