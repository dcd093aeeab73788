"""The report of the finished methods of a run in which another method failed."""

import shutil

import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.config.params import load
from gradrank.bench.report.finished import finished_report
from made_project import DATASET, SETTINGS, make_project, write_params


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("made")
    make_project(root)
    return root


@pytest.fixture
def project(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def finished(project):
    settings = load(project / "params.yaml")
    out = project / "results/finished.html"
    return finished_report(project / "results", settings, out, project / "params.yaml", project / "data/parquet")


def content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "finished" not in str(path)}


def test_methods_without_a_fold_are_named_and_the_results_stay_as_they_are(project):
    shutil.rmtree(project / f"results/{DATASET}/methods/prank/fold2")
    before = content(project / "results")
    assert f"{DATASET}: 1 of 2 methods; not finished: prank" in finished(project)
    page = (project / "results/finished.html").read_text()
    assert "Not finished, and therefore not compared: prank" in page and "single_feature" in page
    assert content(project / "results") == before


def test_a_method_with_other_parameters_than_in_params_yaml_is_not_finished(project):
    write_params(project, models={"prank": {"epochs": 3}})
    assert "not finished: prank" in finished(project)


def test_without_a_finished_method_the_error_says_what_to_run(project):
    write_params(project, seed=SETTINGS["seed"] + 1, run=SETTINGS["run"] | {"seeds": [77]})
    with pytest.raises(GradrankError, match="Fix: run `snakemake"):
        finished(project)
    assert not (project / "results/finished.html").exists()
