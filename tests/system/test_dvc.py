"""DVC on a small run: a new project folder, reruns, experiments, a failed stage, and a pulling clone."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from project import ROOT, SMALL_RUN, Project, differing, trained, write_own_data

BIN = Path(sys.executable).parent
pytestmark = pytest.mark.skipif(not (BIN / "dvc").exists(), reason="needs the command dvc: the extra `dvc`")

RATE = "models.lambdamart.learning_rate"
RECORD = "results/synthetic_net/provenance.json"
SMALLER_RUN = {
    "run": {"datasets": ["synthetic_net", "mine"], "models": ["lambdamart", "single_feature"]},
    "datasets": {
        "synthetic_net": SMALL_RUN["datasets"]["synthetic_net"],
        "mine": {"path": "own data", "models": ["single_feature"]},
    },
    "models": {"lambdamart": SMALL_RUN["models"]["lambdamart"]},
}
MADE_HERE = {
    "report",
    "track",
}  # rules whose files belong to one machine: the report has times, and MLflow its own store


class Repository(Project):
    """A checkout under git and DVC, with the environment's commands on PATH."""

    def env(self) -> dict[str, str]:
        return super().env() | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}

    def call(self, *command: str, ok: bool = True) -> str:
        """Return the standard output of a command. Fails the test unless it succeeds (with ok=False: fails)."""
        done = subprocess.run(command, cwd=self.root, env=self.env(), text=True, capture_output=True)
        assert (done.returncode == 0) == ok, done.stdout + done.stderr
        return done.stdout

    def dvc(self, *arguments: str, ok: bool = True) -> str:
        return self.call("dvc", *arguments, ok=ok)

    def commit(self) -> None:
        self.call("git", "add", "--all")
        self.call("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "x")

    def trained(self, model: str) -> dict[str, int]:
        """Return the modification time of the stamp of each fold, by path."""
        stamps = list((self.root / "results/synthetic_net/methods" / model).glob("fold*/spec.json"))
        assert len(stamps) == 5
        return {stamp.relative_to(self.root).as_posix(): stamp.stat().st_mtime_ns for stamp in stamps}


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory) -> Repository:
    """A repository after its first `dvc repro`, committed; not to be changed."""
    root = tmp_path_factory.mktemp("dvc") / "my checkout"
    root.mkdir()
    repository = Repository.copy(root)
    for name in (".gitignore", ".dvcignore"):
        shutil.copy2(ROOT / name, root / name)
    for study in ("ranknet2005", "pair_targets"):
        repository.study(study, reduced=None)  # `snakemake` without a target would run the reduced forms
    repository.params(**SMALLER_RUN)
    write_own_data(root / "own data")
    repository.call("git", "init", "--quiet", "--initial-branch", "main")
    repository.dvc("init", "--quiet")
    repository.dvc("remote", "add", "--default", "store", str(root.parent / "the store"))
    repository.commit()
    repository.dvc("repro")
    repository.commit()
    return repository


@pytest.fixture
def repository(reproduced, tmp_path) -> Repository:
    """A copy of the reproduced repository, with modification times."""
    return Repository(Path(shutil.copytree(reproduced.root, tmp_path / "my checkout", symlinks=True)))


def test_an_experiment_runs_at_once_in_a_new_project_folder(tmp_path, monkeypatch):
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "a")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "a@b")
    new = Repository(tmp_path / "my study", {"PYTHONPATH": str(ROOT / "src")})
    new.root.mkdir()
    write_own_data(new.root / "own data")
    new.gradrank("init", "--git", "--dvc", "--data", "own data", ".")
    new.params(run={"models": ["single_feature"]})
    new.dvc("exp", "run")
    (values,) = json.loads(new.dvc("metrics", "show", "--json"))[""]["data"].values()
    assert values["data"]["my_data"]["single_feature"]


def test_a_second_repro_trains_nothing_and_changes_no_record(repository):
    before = {model: repository.trained(model) for model in SMALLER_RUN["run"]["models"]}
    repository.dvc("repro")
    assert {model: repository.trained(model) for model in before} == before
    assert repository.call("git", "status", "--porcelain") == ""  # dvc.lock is what was committed
    assert json.loads(repository.dvc("status", "--json", "dvc.yaml")) == {"run": ["always changed"]}


def test_an_experiment_retrains_only_its_model(repository):
    others, own = repository.trained("single_feature"), repository.trained("lambdamart")
    repository.dvc("exp", "run", "--name", "faster", "--set-param", f"{RATE}=0.5")
    assert repository.trained("single_feature") == others
    assert not own.items() & repository.trained("lambdamart").items()
    (changed,) = json.loads(repository.dvc("metrics", "diff", "--json")).values()
    assert {name.split(".")[1] for name in changed} == {"lambdamart"}
    drawn = json.loads(repository.dvc("plots", "diff", "--json"))["data"]
    for kind, value in (("curves", "value"), ("queries", "ndcg@10")):
        rows = drawn[f"results/plots/{kind}/synthetic_net/lambdamart.csv"][0]["content"]["data"]["values"]
        before, after = ([row[value] for row in rows if row["rev"] == revision] for revision in ("HEAD", "workspace"))
        assert before and after and before != after


def test_a_queued_experiment_has_the_numbers_of_a_plain_run(repository, tmp_path):
    repository.dvc("exp", "run", "--queue", "--name", "queued", "--set-param", f"{RATE}=0.9")
    repository.dvc("queue", "start")
    deadline = time.monotonic() + 600
    while any(state in repository.dvc("queue", "status") for state in ("Queued", "Running")):
        assert time.monotonic() < deadline, repository.dvc("queue", "status")
        time.sleep(2)
    plain = Project.copy(tmp_path)
    shutil.copy2(repository.root / "params.yaml", tmp_path / "params.yaml")
    shutil.copytree(repository.root / "own data", tmp_path / "own data")
    plain.params(models={"lambdamart": {"learning_rate": 0.9}})
    plain.snakemake("--cores", "2", RECORD)
    compared = json.loads(repository.gradrank("diff", "HEAD", "queued", "--json"))
    assert [(change["name"], change["b"]) for change in compared["changes"]["params"]] == [(RATE, 0.9)]
    assert {row["model"] for row in compared["rows"] if row["difference"] != 0} == {"lambdamart"}
    with_plain = json.loads(repository.gradrank("diff", "queued", str(tmp_path / "results"), "--json"))
    assert with_plain["rows"] and {row["verdict"] for row in with_plain["rows"]} == {"unchanged"}


def test_a_failed_stage_leaves_the_folds_in_place(repository):
    before = repository.files("results/synthetic_net", "results/mine")
    repository.params(datasets={"synthetic_net": {"queries": 3}})  # fewer than there are parts
    repository.dvc("repro", ok=False)
    assert repository.files("results/synthetic_net", "results/mine") == before


def test_a_clone_pulls_a_finished_state(reproduced, tmp_path):
    reproduced.dvc("push")
    clone = Repository(tmp_path / "another clone")
    reproduced.call("git", "clone", "--quiet", str(reproduced.root), str(clone.root))
    clone.dvc("pull")
    held = ("data/parquet", "data/pairs", "results")
    missing = differing(reproduced.files(*held), clone.files(*held))
    assert {Path(path).name for path in missing} == {"printed.json"}  # what the last report printed
    clone.gradrank("verify")
    clone.snakemake("--cores", "1", "--touch", "--forceall")
    assert set(clone.plan().values()) == MADE_HERE
    clone.snakemake("--cores", "2")
    assert clone.plan() == {}
    clone.params(models={"lambdamart": {"rounds": 6}})
    assert trained(clone.plan()) == {f"synthetic_net/lambdamart/fold{fold}" for fold in range(1, 6)}


def test_garbage_collection_keeps_every_committed_state(repository):
    first = repository.files("results")
    repository.params(models={"lambdamart": {"rounds": 6}})
    repository.dvc("repro")
    repository.commit()
    second = repository.files("results")
    assert any("methods" in path for path in differing(first, second))
    repository.dvc("gc", "--all-commits", "--force")
    for revision, expected in (("HEAD~1", first), ("main", second)):
        repository.call("git", "checkout", "--quiet", revision)
        repository.dvc("checkout")
        changed = {Path(path).name for path in differing(expected, repository.files("results"))}
        assert changed <= {"printed.json"}  # what the last report printed
