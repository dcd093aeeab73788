"""The package as a wheel, in an environment of its own and a folder that is no checkout."""

import os
import shutil
import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, version

import pytest

from conftest import ROOT, SMALL_RUN, Project
from gradrank.files import read_json

DATASET = "synthetic_net"


class Installed(Project):
    """A folder that `gradrank init` wrote, and the environment that the wheel is installed in."""

    @property
    def python(self) -> str:
        return str(self.root.parent / "environment/bin/python")

    def command(self, *arguments: str) -> list[str]:
        return [self.python, "-m", "snakemake", *arguments]

    def env(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    @property
    def warm(self) -> bool:
        return False

    def run(self, *arguments: str) -> str:
        """What a Python module of the environment prints; the test fails unless it succeeds."""
        command = [self.python, "-m", *arguments]
        done = subprocess.run(command, cwd=self.root, env=self.env(), text=True, capture_output=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def gradrank(self, *arguments: str) -> str:
        return self.run("gradrank", *arguments)


def pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", *arguments, "--quiet", "--no-deps"], check=True)


def old_setuptools() -> bool:
    """Whether pip has to fetch what builds the wheel."""
    try:
        return int(version("setuptools").split(".")[0]) < 77
    except PackageNotFoundError:
        return True


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Installed:
    """A wheel built from this checkout's files, installed where all other packages are this environment's."""
    base = tmp_path_factory.mktemp("installed")
    (base / "source").mkdir()
    for name in (
        "src",
        "workflow",
        "profiles",
        "tests/contract",
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "Snakefile",
        "params.yaml",
        ".gitignore",
    ):
        source, ignored = ROOT / name, shutil.ignore_patterns("__pycache__", "*.egg-info")
        if source.is_dir():
            shutil.copytree(source, base / "source" / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy2(source, base / "source" / name)
    isolation = [] if old_setuptools() else ["--no-build-isolation"]
    pip("wheel", *isolation, "--wheel-dir", str(base), str(base / "source"))
    venv.create(base / "environment", symlinks=True)
    (packages,) = (base / "environment/lib").glob("*/site-packages")
    shared = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "shared.pth").write_text("\n".join(shared) + "\n")
    (wheel,) = base.glob("*.whl")
    pip("--python", str(base / "environment/bin/python"), "install", str(wheel))
    folder = Installed(base / "my folder")
    folder.root.mkdir()
    assert "Next: cd . && snakemake --cores 2" in folder.gradrank("init", ".")
    return folder


@pytest.fixture(scope="module")
def made(installed, store) -> Installed:
    """One data set of the small run, made there."""
    installed.params(**SMALL_RUN)
    shutil.copy(store, installed.root)
    installed.snakemake("--cores", "2", DATASET)
    return installed


def test_results_and_their_records_are_those_of_a_checkout(made, finished):
    ours = made.results(f"results/{DATASET}")
    assert ours and ours == finished.results(f"results/{DATASET}")
    record = f"results/{DATASET}/provenance.json"
    assert read_json(made.root / record) == read_json(finished.root / record)
    assert "Nothing to be done" in made.snakemake("--cores", "2", DATASET)


def test_nothing_is_overwritten(made):
    command = [made.python, "-m", "gradrank", "init", "."]
    done = subprocess.run(command, cwd=made.root, env=made.env(), text=True, capture_output=True)
    assert done.returncode == 1 and "holds params.yaml already, and nothing is overwritten" in done.stderr


def test_a_model_of_ones_own_is_a_file_in_the_folder(made):
    models = made.root / "models"
    models.mkdir()
    shipped = (ROOT / "src/gradrank/models/single_feature.py").read_text()
    (models / "mine.py").write_text(shipped.replace('"single_feature"', '"mine"'))
    made.params(run={"datasets": [DATASET], "models": ["mine", "single_feature"]})
    assert "mine" in made.gradrank("models")
    assert {model for rule, _, model in made.planned() if rule == "train"} == {"mine"}
    made.snakemake("--cores", "2")
    assert ">mine<" in (made.root / "results/report.html").read_text()
    record = read_json(made.root / f"results/{DATASET}/provenance.json")
    assert "models/mine.py" in record["code"]["files"]
    made.gradrank("verify")

    (models / "mine.py").write_text((models / "mine.py").read_text() + "EDITED = 1\n")
    assert {model for rule, _, model in made.planned() if rule == "train"} == {"mine"}

    asked = ["-k", "mine and (survive or saved)", "-p", "no:cacheprovider", "-rA"]
    output = made.run("pytest", "--pyargs", "gradrank.contract.test_models", *asked)
    assert "PASSED" in output and "test_saved_model_scores_alike[mine]" in output


@pytest.mark.parametrize(
    ("files", "last"),
    [
        ((), "install --quiet gradrank==1.2.3"),
        (("requirements.lock", "src/gradrank/__init__.py"), "install --quiet --no-deps --editable ."),
    ],
)
def test_a_deployed_environment_holds_the_release_or_the_checkout(tmp_path, files, last):
    """Conda runs the script; here a pip that writes down what it is told stands for it."""
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/pip").write_text('#!/bin/sh\necho "$@" >>told\n')
    (tmp_path / "bin/pip").chmod(0o755)
    script = ROOT / "workflow/envs/gradrank.post-deploy.sh"
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "GRADRANK_RELEASE": "1.2.3"}
    subprocess.run(["sh", str(script)], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "told").read_text().splitlines()[-1] == last
