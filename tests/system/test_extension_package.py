"""The example package, when it is installed, adds a model, a loss and a data set to the commands and the workflow."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gradrank.base.files import read_json
from gradrank.data.sources.synthetic import generate
from project import ROOT, Project, trained

EXAMPLE = ROOT / "examples/gradrank-example"
LOSS, MODEL = "losses/squared_hinge.py", "models/borda_count.py"


@pytest.fixture
def installed(tmp_path) -> Path:
    """A folder in which the example package is installed."""
    source = shutil.copytree(EXAMPLE, tmp_path / "source", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path / "site")]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True)
    if "No matching distribution found for setuptools" in done.stderr:
        pytest.skip("needs setuptools from an index, to build the package")
    assert done.returncode == 0, done.stderr
    return tmp_path / "site"


@pytest.fixture
def extended(project, installed) -> Project:
    """A project in an environment with the example package."""
    project.environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(installed)])
    return project


def test_a_model_a_loss_and_a_data_set_of_another_package_are_found_and_trained(extended, installed, tmp_path):
    extended.environment["COLUMNS"] = "250"  # the table is not wrapped
    (listed,) = (line for line in extended.gradrank("models", "--long").splitlines() if line.startswith("borda_count "))
    assert listed.rstrip().endswith("from gradrank-example 0.1.0")
    assert "number of features" in extended.gradrank("models", "borda_count")
    assert "example_web: An example" in extended.gradrank("datasets")

    extended.params(
        run={"datasets": ["mine"], "models": ["borda_count", "single_feature", "with_squared_hinge"]},
        models={"with_squared_hinge": {"model": "softmax", "loss": "squared_hinge", "epochs": 2}},
    )
    new = {"mine/borda_count/fold1", "mine/with_squared_hinge/fold1"}
    generate("net", 10, 8, 1, tmp_path / "mirror/example_web")
    extended.environment["GRADRANK_MIRROR"] = str(tmp_path / "mirror")
    web, summary = "results/example_web/methods/borda_count/fold1/spec.json", "results/mine/summary.json"
    extended.snakemake("--cores", "2", web, summary)
    stamps = (extended.root / f"results/{fold.replace('/', '/methods/', 1)}/spec.json" for fold in sorted(new))
    versions = [read_json(stamp)["versions"] for stamp in stamps]
    versions += [read_json(extended.root / web)["versions"]]
    assert [found["gradrank-example"] for found in versions] == ["0.1.0"] * 3
    assert "gradrank-example" in read_json(extended.root / "results/mine/provenance.json")["versions"]
    assert {"borda_count", "with_squared_hinge"} <= read_json(extended.root / summary).keys()

    package = installed / "gradrank_example"
    edit(package / MODEL, '"""Borda count:', '"""Borda\'s count:')
    assert trained(extended.plan(summary)) == set()
    edit(package / MODEL, "np.sign(covariance[best])", "-np.sign(covariance[best])")
    assert trained(extended.plan(summary)) == {"mine/borda_count/fold1"}
    edit(package / LOSS, "1.0 - (s[:, None] - s)", "2.0 - (s[:, None] - s)")
    assert trained(extended.plan(summary)) == new


def test_the_contract_holds_for_the_model_of_another_package(installed):
    paths = [str(ROOT / "src"), str(installed)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-k", "borda_count", "tests/contract"]
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout


def test_two_packages_with_the_same_name_of_a_model_are_an_error_that_names_both(extended, installed):
    shutil.copytree(installed / "gradrank_example", installed / "another_package")
    (installed / "another-1.0.dist-info").mkdir()
    (installed / "another-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: another\nVersion: 1.0\n")
    points = installed / "another-1.0.dist-info/entry_points.txt"
    points.write_text("[gradrank.models]\nanother = another_package.models\n")
    output = extended.gradrank("models", "borda_count", ok=False)
    assert all(
        name in output for name in ("'borda_count'", "gradrank_example.models", "another_package.models", "Fix:")
    )
    points.write_text("[gradrank.losses]\nanother = another_package.losses\n")
    output = extended.gradrank("models", ok=False)
    assert all(name in output for name in ("'squared_hinge'", "gradrank_example.losses", "another_package.losses"))
    points.write_text("[gradrank.datasets]\nanother = another_package.datasets\n")
    output = extended.gradrank("datasets", ok=False)
    assert all(name in output for name in ("'example_web'", "gradrank-example 0.1.0", "another 1.0"))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
