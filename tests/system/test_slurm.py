"""The workflow on a real Slurm gives the bytes of a local run, also after failed, cancelled and killed jobs."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from slurm_cluster import Cluster, missing

from snakemake_logger_plugin_gradrank.slurm_queue import SlurmQueue

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

ROOT = Path(__file__).resolve().parents[2]
SLURM = ("--workflow-profile", "workflow/profiles/slurm", "--slurm-init-seconds-before-status-checks=1")
# One fold per submission, as in docs/cluster.md.
FOLD_PER_JOB = ("--groups", "train={dataset}.{model}.{fold}", "evaluate_folds={dataset}.{model}.evaluation")
FAULTY = "results/synthetic_net/methods/faulty"
# A training job of the model `faulty` renames one file in faults/ after its Slurm job and runs the code in it.
TAKE_A_FAULT = """
        import os, pathlib, time
        for fault in sorted(pathlib.Path("faults").glob("*.py")):
            taken = fault.with_suffix("." + os.environ["SLURM_JOB_ID"])
            try:
                fault.rename(taken)
            except FileNotFoundError:
                continue
            exec(taken.read_text())
            break
"""
FAIL, WAIT, FILL_MEMORY = ("raise ValueError('broken')", "time.sleep(600)", "held = b'1' * 10**9; time.sleep(600)")


class Project:
    """A copy of the checkout with a small run of two models, one of them `faulty`."""

    def __init__(self, root: Path, cluster: Cluster):
        self.root, self.cluster = root, cluster

    def make(self) -> "Project":
        for name in ("src", "studies", "workflow", "profiles"):
            shutil.copytree(ROOT / name, self.root / name)
        shutil.copy(ROOT / "Snakefile", self.root)
        models = self.root / "src/gradrank/models"
        text = (models / "single_feature.py").read_text().replace('"single_feature"', '"faulty"')
        text, replaced = re.subn(r"def fit\(.*?:\n", rf"\g<0>{TAKE_A_FAULT}", text, flags=re.DOTALL)
        assert replaced == 1
        (models / "faulty.py").write_text(text)
        params = yaml.safe_load((ROOT / "params.yaml").read_text())
        params["run"] |= {"datasets": ["synthetic_net"], "models": ["single_feature", "faulty"]}
        params["datasets"]["synthetic_net"] = {"queries": 10, "documents": 10}
        (self.root / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
        (self.root / "faults").mkdir()
        return self

    def start(self, *arguments: str) -> subprocess.Popen:
        environment = self.root / "environment"  # a path without spaces, for the scripts of remote jobs
        if not environment.exists():
            environment.symlink_to(sys.prefix)
        command = [environment / "bin/python", "-m", "snakemake", *arguments]
        env = self.cluster.env | {"PYTHONPATH": str(self.root / "src")}
        pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(command, cwd=self.root, env=env, text=True, **pipe)

    def fault(self, name: str, code: str) -> None:
        """Let one training job run this code."""
        (self.root / f"faults/{name}.py").write_text(code)

    def taken(self) -> dict[str, str]:
        """Return the id of the job that took each fault."""
        paths = (self.root / "faults").iterdir()
        return {path.stem: path.suffix[1:] for path in paths if path.suffix != ".py"}

    def results(self) -> dict[str, bytes]:
        """Return models, scores, stamps and per-query values by path, without folders that a killed job left."""
        names = ("summary.json", "scores.parquet", "spec.json", "history.parquet", "per_query.parquet")
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted((self.root / "results/synthetic_net").rglob("*"))
            if path.is_file() and (path.name in names or "model" in path.parts) and ".partial" not in str(path)
        }


def ended(run: subprocess.Popen, code: int = 0) -> str:
    """Return the output of a run that must end with this exit code."""
    output, _ = run.communicate(timeout=600)
    assert run.returncode == code, output
    return output


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        yield cluster.start()
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def local(cluster, tmp_path_factory) -> Project:
    """A project that was run locally, without Slurm; not to be changed."""
    project = Project(tmp_path_factory.mktemp("local"), cluster).make()
    ended(project.start("--cores", "2", "synthetic_net"))
    return project


@pytest.fixture
def rerun(local, cluster, tmp_path) -> Iterator[Project]:
    """A copy of the local run in which the model `faulty` is to be trained again."""
    shutil.copytree(local.root, tmp_path / "project", symlinks=True)
    shutil.rmtree(tmp_path / "project" / FAULTY)
    yield Project(tmp_path / "project", cluster)
    cluster.clear()


def test_a_run_on_slurm_gives_the_bytes_of_a_local_run(cluster, local, tmp_path):
    project = Project(tmp_path, cluster).make()
    ended(project.start(*SLURM, "synthetic_net"))
    assert project.results() == local.results()
    submitted = cluster.accounted(tmp_path, "State", "Comment")
    assert {state for state, _ in submitted} == {"COMPLETED"}
    assert sum("train" in comment for _, comment in submitted) == 2  # one submission per model


def test_failed_cancelled_and_killed_jobs_are_retried_with_more_memory_and_time(cluster, local, rerun):
    faults = {"failed": FAIL, "memory": FILL_MEMORY, "time": WAIT, "cancelled": WAIT}
    for name, code in faults.items():
        rerun.fault(name, code)
    limits = ("--set-resources", "train:mem_mb=600*attempt")
    run = rerun.start(f"{FAULTY}/per_query.parquet", *SLURM, *FOLD_PER_JOB, *limits)
    cluster.wait_for(lambda: rerun.taken().keys() == faults.keys(), "four jobs in training")
    jobs = rerun.taken()
    cluster.slurm("scancel", jobs["cancelled"])
    cluster.slurm("scontrol", "update", f"jobid={jobs['time']}", "EndTime=now+10")
    output = ended(run)
    assert rerun.results() == local.results()
    assert all(f"logs/train/synthetic_net/faulty/fold{fold}.log" not in output for fold in range(1, 6))
    records = cluster.accounted(rerun.root, "JobIDRaw", "State", "ReqMem", "TimelimitRaw", "Comment")
    states = {job: state.split()[0] for job, state, *_ in records}
    assert states[jobs["failed"]] == "FAILED" and states[jobs["time"]] == "TIMEOUT"
    assert states[jobs["cancelled"]] == "CANCELLED" and states[jobs["memory"]] != "COMPLETED"
    first = [record for record in records if states[record[0]] != "COMPLETED"]
    for *_, comment in first:
        again = [record[2:4] for record in records if record[4] == comment and record not in first]
        assert again == [("1200M", "60")]  # twice the memory and minutes of the first attempt
    assert len(first) == 4


def test_a_job_that_always_fails_is_reported_with_its_log(cluster, rerun):
    for number in range(3):
        rerun.fault(str(number), FAIL)
    output = ended(rerun.start(f"{FAULTY}/fold1/spec.json", *SLURM, *FOLD_PER_JOB), code=1)
    end = output[output.rindex("logs/train/synthetic_net/faulty/fold1.log:") :]
    assert "ValueError: broken" in end
    assert [state for (state,) in cluster.accounted(rerun.root, "State")] == ["FAILED"] * 3


def test_a_killed_run_continues_after_scancel_and_unlock(cluster, local, rerun):
    rerun.fault("1", WAIT)
    command = (f"{FAULTY}/per_query.parquet", *SLURM)
    run = rerun.start(*command)
    cluster.wait_for(rerun.taken, "training")
    run.kill()
    run.communicate()
    (name,) = cluster.queue("%j")
    cluster.slurm("scancel", "--name", name)
    cluster.wait_for(lambda: not cluster.queue(), "the job to end")
    ended(rerun.start("--unlock", *command))
    ended(rerun.start(*command))
    assert rerun.results() == local.results()


def test_a_request_that_its_partition_never_grants_is_named_before_and_after_the_submission(
    cluster, tmp_path, monkeypatch
):
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, cluster.env[name])
    queue = SlurmQueue("never")
    message = queue.excess("train", [("train", {"runtime": 182, "slurm_partition": "short"})])
    assert "allows 180 min" in message and "--set-resources" in message
    options = ("--job-name=never", "--partition=short", "--time=182", "--comment=rule_train", f"--chdir={tmp_path}")
    cluster.slurm("sbatch", *options, "--wrap=true")
    cluster.wait_for(lambda: cluster.queue("%r") == ["PartitionTimeLimit"], "the reason")
    (message,) = queue.waiting()
    assert "PartitionTimeLimit" in message and "rule_train" in message and "3:02:00" in message
    cluster.clear()
