"""The package works when it is installed as a wheel in its own environment, without a checkout."""

import os
import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, version

import pytest

from environments import copy_sources
from gradrank.base.files import read_json
from project import MINE, ROOT, SMALL_RUN, Project, differing, trained, write_own_data


class Installed(Project):
    """A folder that `gradrank init` wrote, and the environment that the wheel is installed in."""

    @property
    def python(self) -> str:
        return str(self.root.parent / "environment/bin/python")

    def run(self, module: str, *arguments: str) -> subprocess.CompletedProcess:
        """Run `python -m module` of the environment here."""
        command = [self.python, "-m", module, *arguments]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(command, cwd=self.root, env=environment, text=True, capture_output=True)


def pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", *arguments, "--quiet", "--no-deps"], check=True)


def needs_newer_setuptools() -> bool:
    """Return whether setuptools is missing or too old to build the wheel, so that pip must download it."""
    try:
        return int(version("setuptools").split(".")[0]) < 77
    except PackageNotFoundError:
        return True


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Installed:
    """A project folder and an environment that has a wheel of this checkout and shares all other packages."""
    base = tmp_path_factory.mktemp("installed")
    copy_sources(base / "source")
    isolation = [] if needs_newer_setuptools() else ["--no-build-isolation"]
    pip("wheel", *isolation, "--wheel-dir", str(base), str(base / "source"))
    venv.create(base / "environment", symlinks=True)
    (packages,) = (base / "environment/lib").glob("*/site-packages")
    shared = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "shared.pth").write_text("\n".join(shared) + "\n")
    (wheel,) = base.glob("*.whl")
    pip("--python", str(base / "environment/bin/python"), "install", str(wheel))
    folder = Installed(base / "my folder")
    folder.root.mkdir()
    folder.gradrank("init", ".")
    folder.params(**SMALL_RUN)
    folder.gradrank("init", ".", ok=False)  # edited files are not overwritten
    write_own_data(folder.root / "own data")
    return folder


def test_results_equal_those_of_a_checkout_and_a_users_model_is_found(installed, finished):
    installed.snakemake("--cores", "2", "mine")
    assert differing(finished.files(MINE), installed.files(MINE)) == []
    assert installed.plan("mine") == {}

    own = installed.root / "models/own.py"
    own.parent.mkdir()
    shipped = (ROOT / "src/gradrank/models/single_feature.py").read_text()
    own.write_text(shipped.replace('"single_feature"', '"own"'))
    installed.params(run={"datasets": ["mine"], "models": [*SMALL_RUN["run"]["models"], "own"]})
    assert trained(installed.plan("mine")) == {"mine/own/fold1"}
    installed.snakemake("--cores", "2", "mine")
    assert ">own<" in (installed.root / MINE / "report.html").read_text()
    summary = read_json(installed.root / MINE / "summary.json")
    assert summary["own"] == summary["single_feature"]

    installed.edit("models/own.py", "return self.sign *", "return 2 * self.sign *")
    assert trained(installed.plan("mine")) == {"mine/own/fold1"}
    options = ["-k", "own and (survive or saved)", "-p", "no:cacheprovider", "-rA"]
    done = installed.run("pytest", "--pyargs", "gradrank.training.contract.test_models", *options)
    assert done.returncode == 0 and "[own]" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("files", "last"),
    [
        ((), "install --quiet gradrank[arrow,nets,track]==1.2.3"),
        (("requirements.lock", "src/gradrank/__init__.py"), "install --quiet --no-deps --editable ."),
    ],
)
def test_the_post_deploy_script_installs_the_release_or_the_checkout(tmp_path, files, last):
    """Run the script as conda does, with a stand-in for pip that logs its arguments."""
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/pip").write_text('#!/bin/sh\necho "$@" >>pip.log\n')
    (tmp_path / "bin/pip").chmod(0o755)
    script = ROOT / "workflow/envs/gradrank.post-deploy.sh"
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "GRADRANK_RELEASE": "1.2.3"}
    subprocess.run(["sh", str(script)], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "pip.log").read_text().splitlines()[-1] == last
