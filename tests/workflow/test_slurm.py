"""The study on a real Slurm: the bytes of a local run, whatever happens to jobs, node, controller and Snakemake."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from slurm_cluster import Cluster, missing

from conftest import SMALL_RUN, Project

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

PROFILE = ("--workflow-profile", "workflow/profiles/slurm")
SLURM = (
    *PROFILE,
    "--slurm-status-command=squeue",
    "--slurm-init-seconds-before-status-checks=1",
    "--latency-wait=10",
)
# A submission a fold, as docs/cluster.md has it.
FOLD_A_JOB = ("--groups", "train={dataset}.{model}.{fold}", "evaluate_folds={dataset}.{model}.evaluation")
# A job that is in training stays there until the test says so, or is killed.
STALL = "import pathlib, time\nwhile not pathlib.Path(__file__).with_name('go on').exists(): time.sleep(0.1)"
FILL_MEMORY = "import time; held = b'1' * 3_000_000_000; time.sleep(600)"
CAUSES = {
    "lambdamart": r"JOB \d+ ON \S+ CANCELLED AT \S+ \*",
    "ranknet_linear": "exceeded memory limit",
    "single_feature": r"JOB \d+ ON \S+ CANCELLED AT \S+ DUE TO TIME LIMIT",
}
# First on PYTHONPATH. Training runs what lies in the file <model>-fold<k> beside it, once, as it starts. Snakemake asks
# Slurm every second, where the plugin would wait 10 s longer after every question that found no job finished.
SITECUSTOMIZE = """
import sys
from pathlib import Path

if sys.orig_argv[2:3] == ["train"]:
    model, fold = Path(sys.orig_argv[sys.orig_argv.index("--out") + 1]).parts[-2:]
    fault = Path(__file__).with_name(f"{model}-{fold}")
    if fault.exists():
        fault = fault.rename(f"{fault}.happening")
        exec(fault.read_text())
elif "--workflow-profile" in sys.orig_argv:
    from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

    RemoteExecutor.next_seconds_between_status_checks = property(lambda self: 1, lambda self, longer: None)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        yield cluster.start()
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def on_slurm(cluster, tmp_path_factory) -> Project:
    """A checkout whose study of one data set was run from scratch on Slurm; not to be changed."""
    root = tmp_path_factory.mktemp("on slurm") / "my checkout"
    root.mkdir()
    done = replace(Project.copy(root), environment=cluster.env | with_faults(root))
    done.params(**SMALL_RUN)
    done.snakemake(*SLURM, "synthetic_net")
    return done


def with_faults(root: Path) -> dict[str, str]:
    """The environment in which faults can be laid in <root>/faults."""
    (root / "faults").mkdir(exist_ok=True)
    (root / "faults/sitecustomize.py").write_text(SITECUSTOMIZE)
    return {"PYTHONPATH": f"{root / 'faults'}:{root / 'src'}"}


class Rerun:
    """A copy of the finished checkout in which some models are to be trained again, with faults."""

    def __init__(self, done: Project, root: Path, *models: str):
        shutil.copytree(done.root, root, symlinks=True)
        self.faults = root / "faults"
        self.project = Project(root, done.environment | with_faults(root))
        self.targets = [f"results/synthetic_net/{model}/per_query.parquet" for model in models]
        for model in models:
            shutil.rmtree(root / "results/synthetic_net" / model)

    def fault(self, job: str, code: str) -> Path:
        """Let `code` run as training of `job` (model-fold) starts; the path that shows that it does."""
        (self.faults / job).write_text(code)
        return self.faults / f"{job}.happening"

    def go_on(self) -> None:
        (self.faults / "go on").touch()

    def start(self, *options: str) -> subprocess.Popen:
        return subprocess.Popen(
            self.project.command(*self.targets, *SLURM, *options),
            cwd=self.project.root,
            env=self.project.env(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )


@pytest.fixture
def rerun_of(on_slurm, tmp_path) -> Iterator:
    runs = []

    def make(*models: str) -> Rerun:
        runs.append(Rerun(on_slurm, tmp_path / "my checkout", *models))
        return runs[-1]

    yield make
    for run in runs:  # whatever a failed test left waiting
        run.go_on()


def succeeded(run: subprocess.Popen) -> str:
    output, _ = run.communicate(timeout=300)
    assert run.returncode == 0, output
    return output


def of_one(project: Project) -> dict[str, bytes]:
    """Results of the data set that is run on Slurm, by path."""
    return {path: data for path, data in project.results().items() if "/synthetic_net/" in path}


def test_bytes_of_a_local_run_in_few_submissions(cluster, on_slurm, finished):
    assert of_one(on_slurm) == of_one(finished)
    groups = {f"rule_synthetic_net.{model}_evaluate_folds_train" for model in SMALL_RUN["run"]["models"]}
    rules = {f"rule_{rule}_wildcards_synthetic_net" for rule in ("parse", "pairs", "summary")}
    assert sorted(cluster.jobs("all").values()) == sorted(groups | rules)  # each once; the rest ran here
    assert "Nothing to be done" in on_slurm.snakemake(*SLURM, "synthetic_net")


def test_cancelled_job_and_those_over_memory_and_time_start_again(cluster, on_slurm, rerun_of):
    run = rerun_of("lambdamart", "ranknet_linear", "single_feature")
    cancelled = run.fault("lambdamart-fold2", STALL)
    run.fault("ranknet_linear-fold2", FILL_MEMORY)
    late = run.fault("single_feature-fold2", STALL)
    snakemake = run.start("--set-resources", "train:mem_mb=500 * attempt")
    for happening, model in ((late, "single_feature"), (cancelled, "lambdamart")):
        cluster.wait_for(happening.exists, f"training of {model}")
        (job,) = (job for job, comment in cluster.jobs().items() if model in comment)
        if model == "lambdamart":
            cluster.slurm("scancel", job)
        else:
            cluster.slurm("scontrol", "update", f"jobid={job}", "EndTime=now")
    output = succeeded(snakemake)
    for model, cause in CAUSES.items():  # the message names the group, and shows its log
        assert f"Error in group synthetic_net.{model}\n" in output
        assert re.search(cause, output)
    assert run.project.results() == on_slurm.results()


def test_controller_restarted_then_node_down_and_back(cluster, on_slurm, rerun_of):
    run = rerun_of("single_feature")
    happening = run.fault("single_feature-fold4", STALL)
    before = cluster.jobs("all")
    snakemake = run.start()
    cluster.wait_for(happening.exists, "training")
    with pytest.raises(subprocess.TimeoutExpired):  # a controller saves within 5 s what it knows
        snakemake.wait(6)
    cluster.kill("slurmctld")
    with pytest.raises(subprocess.TimeoutExpired):  # long enough for Snakemake to ask in vain
        snakemake.wait(4)
    cluster.start_controller()
    (job,) = cluster.jobs("running")
    cluster.take_node_down(job)
    cluster.wait_for(lambda: cluster.jobs("pending"), "the job to wait for a node")
    cluster.bring_node_up()
    succeeded(snakemake)
    assert "Restarts=1" in cluster.slurm("scontrol", "show", "job", job)
    assert set(cluster.jobs("all")) - set(before) == {job}  # Snakemake submitted nothing more
    assert run.project.results() == on_slurm.results()


@pytest.mark.parametrize("again", [SLURM, ("--cores", "2")], ids=["on Slurm", "locally"])
def test_killed_snakemake_started_again_runs_no_job_twice_at_once(cluster, on_slurm, rerun_of, again):
    run = rerun_of("single_feature")
    happening = run.fault("single_feature-fold4", STALL)
    snakemake = run.start()
    cluster.wait_for(happening.exists, "training")
    snakemake.kill()
    snakemake.communicate()
    (job,) = cluster.jobs()
    run.project.snakemake("--dry-run", *again, *run.targets)
    assert set(cluster.jobs()) == {job}  # a dry run cancels nothing
    output = run.project.snakemake(*again, *run.targets)
    assert f"Cancelled Slurm jobs of an earlier run in this folder: {job}\n" in output
    times = cluster.times()
    later = [started for other, (started, _) in times.items() if int(other) > int(job)]
    assert bool(later) == (again == SLURM)
    assert all(started >= times[job][1] for started in later)
    assert run.project.results() == on_slurm.results()


def test_full_disk_fails_one_job_and_keeps_the_others(cluster, on_slurm, rerun_of):
    run = rerun_of("lambdamart", "single_feature")
    small = run.project.root / "results/synthetic_net/lambdamart"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", small]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("may not mount a small file system here")
    (small / "ballast").write_bytes(bytes(48 * 1024))
    try:
        snakemake = run.start("--retries", "0")
        output, _ = snakemake.communicate(timeout=300)
    finally:
        subprocess.run(["umount", small], check=True)
    assert snakemake.returncode == 1
    assert "No space left on device" in output
    assert "Logfile logs/train/synthetic_net/lambdamart/fold" in output
    kept = {path: data for path, data in on_slurm.results().items() if "/lambdamart/" not in path}
    assert kept.items() <= run.project.results().items()
    before = cluster.jobs("all")
    succeeded(run.start(*FOLD_A_JOB))
    assert run.project.results() == on_slurm.results()
    comments = {comment for job, comment in cluster.jobs("all").items() if job not in before}
    folds = {f"rule_synthetic_net.lambdamart.{fold}_train" for fold in range(1, 6)}
    assert comments == folds | {"rule_synthetic_net.lambdamart.evaluation_evaluate_folds"}
