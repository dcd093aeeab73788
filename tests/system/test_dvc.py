"""DVC on a small study: what reruns, what comes back from a remote, experiments, a kill; names in its tables."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import warm
import yaml

from conftest import ROOT, Project
from gradrank.pipeline.code_closure import sources

BINARIES = Path(sys.executable).parent
pytestmark = pytest.mark.skipif(shutil.which("dvc", path=BINARIES) is None, reason="needs DVC")

RATE = "models.lambdamart.learning_rate"
SUMMARY = "results/synthetic_net/summary.json"
RUN = {
    "run": {"datasets": ["synthetic_net"], "models": ["lambdamart", "single_feature"]},
    "studies": {"ranknet2005": {"reduced": None}, "pair_targets": {"reduced": None}},
    "datasets": {"synthetic_net": {"queries": 10, "documents": 10}},
    "models": {"lambdamart": {"learning_rate": 0.05, "rounds": 5, "min_data_in_leaf": 2}},
    "evaluation": {"conventions": ["letor4"], "metrics": ["ndcg@10", "map"]},
}


class Repository(Project):
    """A checkout under Git and DVC, with an environment of its own."""

    def env(self) -> dict[str, str]:
        path = f"{BINARIES}{os.pathsep}{os.environ['PATH']}"  # the queue calls `dvc`
        return super().env() | warm.jobs() | {"PATH": path}

    def run(self, *command: str) -> str:
        return self._succeeded(subprocess.run(command, cwd=self.root, env=self.env(), text=True, capture_output=True))

    @staticmethod
    def _succeeded(done: subprocess.CompletedProcess) -> str:
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def git(self, *arguments: str) -> str:
        return self.run("git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments)

    def dvc(self, *arguments: str) -> str:
        return self._succeeded(warm.run("dvc", arguments, self.root, self.env()))

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "x")

    def give_environment(self) -> None:
        """All its programs are this one's but Snakemake, which is forked."""
        binaries = self.root / ".venv/bin"
        binaries.mkdir(parents=True)
        for program in BINARIES.iterdir():
            (binaries / program.name).symlink_to(program)
        (binaries / "snakemake").unlink()
        warm.write_program(binaries / "snakemake")

    def committed(self, experiment: str, path: str) -> str:
        """Return the content of a file of an experiment."""
        from dvc.api import DVCFileSystem

        return DVCFileSystem(self.root, rev=experiment).read_text(path)

    def summary(self, experiment: str = "") -> dict:
        here = self.root / SUMMARY
        return json.loads(self.committed(experiment, SUMMARY) if experiment else here.read_text())


@pytest.fixture(scope="module")
def reproduced(store, tmp_path_factory) -> Repository:
    """A repository after its first `dvc repro`, committed, with a remote; not to be changed."""
    root = tmp_path_factory.mktemp("dvc") / "my checkout"
    root.mkdir()
    Project.copy(root).params(**RUN)
    shutil.copy(store, root)
    repository = Repository(root)
    repository.give_environment()
    for name in (".gitignore", ".dvcignore", "workflow/dvc-run.sh"):
        shutil.copy2(ROOT / name, root / name)
    (root / SUMMARY).parent.mkdir(parents=True)
    (root / SUMMARY).write_text('{"lambdamart": {"ndcg@10": 0.9, "map": 0.9}}')  # committed numbers of another study
    repository.git("init", "--quiet", "--initial-branch", "main")
    repository.dvc("init", "--quiet")
    repository.dvc("config", "core.analytics", "false")
    repository.dvc("remote", "add", "--quiet", "--default", "local", str(root.parent / "the remote"))
    repository.commit()
    first = repository.dvc("repro")
    assert "Running stage 'data@synthetic_net'" in first and "Running stage 'run'" in first
    repository.commit()
    return repository


@pytest.fixture
def repository(reproduced, tmp_path) -> Repository:
    """A copy, with its modification times."""
    root = tmp_path / "my checkout"
    shutil.copytree(reproduced.root, root, symlinks=True)
    return Repository(root)


@pytest.fixture(scope="module")
def from_scratch(tmp_path_factory) -> dict:
    """summary.json of the study with a learning rate of 0.5, by Snakemake alone."""
    root = tmp_path_factory.mktemp("scratch") / "my checkout"
    root.mkdir()
    project = Project.copy(root)
    project.params(**RUN)
    project.params(models={"lambdamart": {"learning_rate": 0.5}})
    project.snakemake("--cores", "2", SUMMARY)
    return json.loads((root / SUMMARY).read_text())


def only_told(repository: Repository) -> bool:
    """Whether what is planned is what every machine makes for itself: a report, MLflow's runs, DVC's copy."""
    return {rule for rule, _, _ in repository.planned()} <= {"report", "track", "snapshot", "all"}


def trained(output: str) -> dict[str, int]:
    """Training jobs by model in Snakemake's output."""
    models = [line.partition("model=")[2].split(",")[0] for line in output.splitlines() if "fold=" in line]
    return {model: models.count(model) for model in models}


def test_a_second_repro_does_nothing_and_a_value_reruns_its_model_alone(reproduced, repository, from_scratch):
    assert "Data and pipelines are up to date" in repository.dvc("repro")
    repository.params(models={"lambdamart": {"learning_rate": 0.5}})
    again = repository.dvc("repro")
    assert "Stage 'data@synthetic_net' didn't change" in again and "Running stage 'run'" in again
    assert trained(again) == {"lambdamart": 5}
    assert repository.summary() == from_scratch
    assert "Data and pipelines are up to date" in repository.dvc("repro")
    repository.params(models={"lambdamart": {"learning_rate": 0.05}})
    assert trained(repository.dvc("repro")) == {}  # DVC's run cache has it, and the files come back with it
    assert repository.results() == reproduced.results()
    assert only_told(repository)


def test_a_run_that_dvc_did_not_make_is_taken_over_where_its_bytes_are_the_locks(repository):
    shutil.rmtree(repository.dvc("cache", "dir").strip())
    assert "not in cache" in repository.dvc("status", "dvc.yaml")
    repository.dvc("commit", "dvc.yaml")  # as `make reproduce` ends
    assert "Data and pipelines are up to date" in repository.dvc("status", "dvc.yaml")
    path = repository.root / "results/methods.csv"
    path.write_text(path.read_text().replace(".", ".1", 1))
    with pytest.raises(AssertionError, match="unable to commit changed stage: 'run'"):
        repository.dvc("commit", "dvc.yaml")


def test_pulled_after_a_wipe_nothing_is_done_again(reproduced, repository):
    repository.dvc("push")
    for name in ("data", "results", repository.dvc("cache", "dir").strip()):
        shutil.rmtree(repository.root / name)
    repository.git("checkout", "--", "results")
    repository.dvc("pull")
    assert only_told(repository)
    assert repository.results() == reproduced.results()
    assert "DIFFERS" not in repository.gradrank("verify")


def test_pulled_into_a_fresh_clone_nothing_is_made_but_its_report(reproduced, tmp_path):
    reproduced.dvc("push")
    reproduced.git("clone", "--quiet", str(reproduced.root), str(tmp_path / "another clone"))
    clone = Repository(tmp_path / "another clone")
    clone.give_environment()
    clone.dvc("pull")
    assert only_told(clone)
    assert clone.results() == reproduced.results()
    assert "DIFFERS" not in clone.gradrank("verify")
    clone.params(models={"lambdamart": {"learning_rate": 0.5}})
    assert clone.planned()["train", "synthetic_net", "lambdamart"] == 5  # the records came along
    assert clone.planned()["train", "synthetic_net", "single_feature"] == 0


def test_experiment_in_the_workspace_reruns_its_model_and_is_shown_by_name(repository, from_scratch):
    output = repository.dvc("exp", "run", "--name", "faster", "--set-param", f"{RATE}=0.5")
    assert trained(output) == {"lambdamart": 5}
    assert repository.summary() == repository.summary("faster") == from_scratch
    changed = [line.split() for line in repository.dvc("params", "diff").splitlines()]
    assert ["params.yaml", RATE, "0.05", "0.5"] in changed
    moved = repository.dvc("metrics", "diff")
    row = ["results/metrics.json", "synthetic_net.lambdamart.ndcg@10"]
    assert any(line.split()[:2] == row for line in moved.splitlines())
    assert "single_feature" not in moved
    shown = repository.dvc("exp", "show", "--csv")
    assert "lambdamart.ndcg@10" in shown and RATE in shown and "faster" in shown
    repository.dvc("plots", "diff", "HEAD", "faster", "--out", "compared")
    page = (repository.root / "compared/index.html").read_text()
    assert "ndcg@10 of each method" in page and "synthetic_net: lambdamart" in page
    repository.git("checkout", "--force", "main")
    repository.dvc("checkout")
    assert "outputs restored" in repository.gradrank("restore")
    assert only_told(repository)


def test_experiments_in_copies_have_the_numbers_of_a_run_from_scratch(repository, from_scratch):
    """A sweep through the queue: never the old metrics under new parameters."""
    repository.dvc("exp", "run", "--queue", "--set-param", f"{RATE}=0.05,0.5")
    repository.dvc("exp", "run", "--run-all", "--jobs", "1")
    found = {}
    for name in repository.dvc("exp", "list", "--name-only").split():
        values = yaml.safe_load(repository.committed(name, "params.yaml"))
        rate = values["models"]["lambdamart"]["learning_rate"]
        found[rate] = repository.summary(name)
    assert found[0.5] == from_scratch != repository.summary()
    assert found.get(0.05, repository.summary()) == repository.summary()


def test_an_experiment_in_one_copy_has_the_numbers_of_a_run_from_scratch(repository, from_scratch):
    repository.dvc("exp", "run", "--temp", "--name", "apart", "--set-param", f"{RATE}=0.5")
    assert repository.summary("apart") == from_scratch != repository.summary()


def test_killed_experiment_is_completed_by_the_same_command(repository, from_scratch):
    # Not forked: it is killed with all that the experiment started.
    snakemake = repository.root / ".venv/bin/snakemake"
    snakemake.unlink()
    snakemake.symlink_to(BINARIES / "snakemake")
    command = [str(BINARIES / "dvc"), "exp", "run", "--set-param", f"{RATE}=0.5"]
    run = subprocess.Popen(
        command, cwd=repository.root, env=repository.env(), stdout=subprocess.DEVNULL, start_new_session=True
    )
    spec, before = repository.root / "results/synthetic_net/lambdamart", time.time()
    while not any(path.stat().st_mtime > before for path in spec.glob("fold*/spec.json")):
        assert run.poll() is None and time.time() < before + 300, "ended before it could be killed"
        time.sleep(0.02)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    assert trained(repository.run(*command)) != {}
    assert repository.summary() == from_scratch
    assert "DIFFERS" not in repository.gradrank("verify")


def test_the_data_stage_depends_on_its_code_and_no_other():
    stage = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]["data"]["do"]
    collections = yaml.safe_load((ROOT / "workflow/collections/dvc.yaml").read_text())["stages"]["collection"]["do"]
    assert stage["deps"] == collections["deps"]
    modules = ("gradrank.data.fetch", "gradrank.data.synthetic", "gradrank.data.parse", "gradrank.data.pairs")
    needed = [os.path.relpath(path, ROOT) for path in sources(*modules)]
    named = [dep for dep in stage["deps"] if dep.startswith("src/")]
    assert [path for path in needed if not path.startswith(tuple(named))] == []
    assert [dep for dep in named if not any(path.startswith(dep) for path in needed)] == []


def test_nothing_persists():
    assert "persist: true" not in (ROOT / "dvc.yaml").read_text()
