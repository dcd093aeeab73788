"""`gradrank verify --recheck`: the stages of tuned studies, the jobs of studies, and their pages."""

import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from gradrank.base.files import sha256
from gradrank.base.stamps import read_sealed, write_sealed
from gradrank.bench.config import code_digest
from gradrank.bench.config.code_digest import PACKAGE
from gradrank.bench.config.params import load
from gradrank.bench.config.studies import TunedStudySettings
from gradrank.bench.provenance.records import study_settings, tuning_code
from gradrank.bench.provenance.study_records import study_code, write_study_record
from gradrank.bench.results import Results
from gradrank.bench.tuning.choices import tuner_choices, write_choices
from gradrank.bench.tuning.folders import Contest
from gradrank.bench.tuning.refits import Refits, refit
from gradrank.bench.tuning.trials import Plan, tune
from gradrank.bench.workflow_support.recheck import Recheck
from gradrank.bench.workflow_support.samples import with_source
from gradrank.bench.workflow_support.study_samples import DIGEST, write_entry_points
from gradrank.measures.conventions import resolve
from made_project import DATASET, SETTINGS, write_params

OLD, JOBS = "0" * 16, "pair_targets"
METHODS = ("regression", "single_feature")
CONTEST = {"datasets": [DATASET], "methods": [*METHODS], "trials": 2, "tuners": 1, "seeds": 1}
RECORDS = {name: Results().study(name).provenance_path for name in ("contest", JOBS)}


def commit(*paths: str) -> None:
    for command in (["init", "--quiet"], ["add", "--", *paths], ["commit", "--quiet", "--message", "a project"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *command], check=True)


def forget(name: str, *keys: str, digest: str = OLD) -> None:
    record = read_sealed(RECORDS[name])
    record["code"] |= dict.fromkeys(keys, digest)
    write_sealed(RECORDS[name], record)


def outcomes(check: Recheck) -> dict[str, bool | None]:
    """Compute the samples of studies without the workflow, which would only store the data."""
    check.folder.mkdir()
    shutil.copy("params.yaml", check.folder)
    (check.folder / "data").symlink_to(Path("data").resolve())
    for part in check.parts:
        for task in part.tasks():
            task()
    return {outcome.text: outcome.ok for outcome in check.outcomes()}


def recheck() -> Recheck:
    return Recheck(load(), Results(), Path("params.yaml"), 1, 5)


@pytest.fixture
def tuned(project):
    """A project with a small contest, in which one value of `single_feature` is wrong."""
    params = write_params(project, studies=SETTINGS["studies"] | {"contest": CONTEST})
    study, data = Results().study("contest"), Path("data/parquet") / DATASET
    contest, settings = Contest(study.folder), params.studies["contest"]
    assert isinstance(settings, TunedStudySettings)
    convention = resolve(params.convention(DATASET))
    for method in METHODS:
        code = tuning_code("tune", settings, method)
        tune(method, data, Plan(2), 5, contest.trials_path(DATASET, method, 1), code=code, convention=convention)
    write_choices(contest, [(DATASET, method, 1) for method in METHODS], settings.seconds)
    for method in METHODS:
        chosen = tuner_choices(contest, data, method, 1, settings.seconds)
        refit(contest, method, 1, chosen, Refits(data, 1, 5, None, tuning_code("refit", settings, method), convention))
    wrong = contest.values_path(DATASET, "single_feature", 1)
    pl.read_parquet(wrong).with_columns(pl.col("ndcg@10") + pl.lit(0.001, pl.Float32)).write_parquet(wrong)
    shutil.rmtree(contest.folder / "runs")
    for path in (study.numbers_path, study.markdown_path):
        path.write_text("{}")
    values, code = study_settings(params, "contest"), study_code(params, "contest")
    write_study_record(study, Results(), "contest", values, code, [])
    commit("params.yaml")
    return contest


def test_the_stages_of_a_method_are_confirmed_by_equal_values(tuned):
    expected = read_sealed(RECORDS["contest"])["code"]
    forget("contest", "tune regression", "refit regression", "refit single_feature", "choices")
    before = {path: sha256(path) for path in tuned.folder.rglob("*.parquet")}
    wrong = [text for text, ok in outcomes(recheck()).items() if not ok]
    assert len(wrong) == 1 and "single_feature" in wrong[0]
    record = read_sealed(RECORDS["contest"])
    assert record["code"] == expected | {"refit single_feature": OLD}
    assert {*record["rechecked"]} == {"tune regression", "refit regression", "choices"}
    assert "tuner 1" in record["rechecked"]["refit regression"]["sample"]
    assert before == {path: sha256(path) for path in tuned.folder.rglob("*.parquet")}


def test_a_job_and_a_page_are_confirmed_by_the_files_of_the_project(project):
    commit("params.yaml")
    expected = read_sealed(RECORDS[JOBS])["code"]
    forget(JOBS, "study_job", "study")
    assert all(outcomes(recheck()).values())
    record = read_sealed(RECORDS[JOBS])
    assert record["code"] == expected and {*record["rechecked"]} == {"study", "study_job"}


@pytest.fixture
def forgotten_paths():
    """Afterwards, forget the paths of studies/ in the working folder, because other tests have none there."""
    yield
    for function in ("code_digest", "named", "imported_files", "module_files", "module_file"):
        getattr(code_digest, function).cache_clear()


@pytest.mark.usefixtures("forgotten_paths")
def test_without_results_a_job_is_compared_with_that_of_the_former_code(project):
    shutil.copytree(PACKAGE, "src/gradrank", ignore=shutil.ignore_patterns("__pycache__", "project"))
    left_out = shutil.ignore_patterns("__pycache__", "tests", "study.yaml")
    shutil.copytree(PACKAGE.parents[1] / "studies", "studies", ignore=left_out, dirs_exist_ok=True)
    former = Path("src/gradrank/base/errors.py")
    former.write_text(former.read_text() + "\nFORMER = True\n")
    shutil.rmtree(Results().study(JOBS).job_path("targets").parent)
    command, source = [sys.executable, "-c", DIGEST, JOBS], with_source(Path("src").resolve())
    own = subprocess.run(command, env=source, capture_output=True, text=True, check=True)
    forget(JOBS, "study_job", digest=own.stdout.strip())
    commit("params.yaml", "src", "studies", "results/studies")
    assert [ok for ok in outcomes(recheck()).values() if ok is not None] == [True]
    assert "results without times" in read_sealed(RECORDS[JOBS])["rechecked"]["study_job"]["compared"]


def test_former_code_has_its_own_entry_points(tmp_path):
    text = '[project.entry-points."gradrank.studies"]\nformer = "former.studies"\n'
    write_entry_points(text, tmp_path)
    listed = "*(point.value for point in entry_points(group='gradrank.studies'))"
    script = f"from importlib.metadata import entry_points; print({listed})"
    done = subprocess.run([sys.executable, "-c", script], env=with_source(tmp_path), capture_output=True, text=True)
    assert done.stdout.split() == ["former.studies"]
