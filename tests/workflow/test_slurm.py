"""The run on a real Slurm: the bytes of a local run, whatever happens to jobs, nodes, controller and Snakemake."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from slurm_cluster import NODES, Cluster, missing

from conftest import SMALL_RUN, Project

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

PROFILE = ("--workflow-profile", "workflow/profiles/slurm")
SLURM = (
    *PROFILE,
    "--slurm-init-seconds-before-status-checks=1",
    "--latency-wait=10",
)
# A submission a fold, as docs/cluster.md has it.
FOLD_A_JOB = ("--groups", "train={dataset}.{model}.{fold}", "evaluate_folds={dataset}.{model}.evaluation")
NO_ACCOUNTING = "--slurm-status-command=squeue"
MODELS = SMALL_RUN["run"]["models"]
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


@pytest.fixture(scope="session")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        yield cluster.start()
    finally:
        cluster.stop()


class Rerun:
    """A copy of the checkout of a local run in which some models are to be trained again, on Slurm, with faults."""

    def __init__(self, done: Project, cluster: Cluster, root: Path, *models: str):
        shutil.copytree(done.root, root)
        self.faults = root / "faults"
        self.faults.mkdir()
        (self.faults / "sitecustomize.py").write_text(SITECUSTOMIZE)
        self.project = Project(root, cluster.env | {"PYTHONPATH": f"{self.faults}:{root / 'src'}"})
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
        return self.project.start(*self.targets, *SLURM, *options, stdout=subprocess.PIPE)


@pytest.fixture(scope="module")
def rerun_of(cluster, finished, tmp_path_factory) -> Iterator[Callable[..., Rerun]]:
    runs = []

    def make(*models: str) -> Rerun:
        runs.append(Rerun(finished, cluster, tmp_path_factory.mktemp("on slurm") / "my checkout", *models))
        return runs[-1]

    yield make
    for run in runs:  # whatever a failed test left waiting
        run.go_on()


def succeeded(run: subprocess.Popen) -> str:
    output, _ = run.communicate(timeout=300)
    assert run.returncode == 0, output
    return output


def waits(run: subprocess.Popen, seconds: float) -> None:
    """Let `seconds` pass, in which the run is not to end."""
    with pytest.raises(subprocess.TimeoutExpired):
        run.wait(seconds)


def of_one(project: Project) -> dict[str, bytes]:
    """Results of the data set that is run on Slurm, by path."""
    return {
        path: data for path, data in project.results().items() if path.startswith("results/synthetic_net/")
    }


def test_bytes_of_a_local_run_in_few_submissions(cluster, finished, rerun_of):
    project = rerun_of().project
    for made in ("results", "data", ".snakemake"):
        shutil.rmtree(project.root / made)
    project.snakemake(*SLURM, "synthetic_net")
    assert of_one(project) == of_one(finished)
    groups = {f"rule_synthetic_net.{model}_evaluate_folds_train" for model in MODELS}
    rules = {f"rule_{rule}_wildcards_synthetic_net" for rule in ("parse", "pairs", "summary")}
    submitted = cluster.accounted(project.root, "State", "Comment")  # the rest ran here
    assert sorted(submitted) == sorted(("COMPLETED", comment) for comment in groups | rules)
    assert "Nothing to be done" in project.snakemake(*SLURM, "synthetic_net")


def test_cancelled_job_and_those_over_memory_and_time_start_again(cluster, finished, rerun_of):
    run = rerun_of(*MODELS)
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
    print(cluster.accounted(run.project.root, "State", "Comment"))
    assert run.project.results() == finished.results()


def test_controller_restarted_and_accounting_away(cluster, finished, rerun_of):
    run = rerun_of("single_feature")
    happening = run.fault("single_feature-fold4", STALL)
    snakemake = run.start()
    cluster.wait_for(happening.exists, "training")
    waits(snakemake, 6)  # a controller saves within 5 s what it knows
    cluster.daemons.kill("slurmctld")
    waits(snakemake, 2)  # long enough for Snakemake to ask in vain
    cluster.start_controller()
    cluster.daemons.kill("slurmdbd")
    run.go_on()
    (job,) = cluster.jobs("running")
    cluster.wait_for(lambda: job in cluster.jobs("completed"), "the job to end")
    waits(snakemake, 2)  # only accounting is asked
    cluster.start_accounting()
    succeeded(snakemake)
    assert cluster.accounted(run.project.root, "JobIDRaw", "State") == [(job, "COMPLETED")]
    assert run.project.results() == finished.results()


class Disturbed:
    """A run on three nodes, all in training, when one loses power, one gets more urgent work, and one is drained."""

    FAULTS = ("no power", "urgent work", "drained")

    def __init__(self, cluster: Cluster, run: Rerun):
        self.cluster, self.run = cluster, run
        happening = [run.fault(f"{model}-fold2", STALL) for model in MODELS]
        snakemake = run.start()
        cluster.wait_for(lambda: all(path.exists() for path in happening), "training on each node")
        self.jobs = dict(zip(self.FAULTS, sorted(cluster.jobs()), strict=True))
        self.nodes = {fault: cluster.node_of(job) for fault, job in self.jobs.items()}
        cluster.cut_power(self.nodes["no power"])
        cluster.drain(self.nodes["drained"])
        urgent = cluster.occupy(self.nodes["urgent work"])
        cluster.wait_for(lambda: len(cluster.jobs("pending")) == 2, "two jobs to wait for a node")
        self.waiting = cluster.jobs("pending")
        cluster.slurm("scancel", urgent)
        run.go_on()
        self.output = succeeded(snakemake)
        self.drained = cluster.node_states()[self.nodes["drained"]]
        for node in NODES:
            cluster.bring_up(node)

    def starts(self, fault: str) -> list[tuple[str, ...]]:
        """How each start of the job on the node of this fault ended, and where."""
        records = self.cluster.accounted(self.run.project.root, "JobIDRaw", "State", "NodeList")
        return [record[1:] for record in records if record[0] == self.jobs[fault]]


@pytest.fixture(scope="module")
def disturbed(cluster, rerun_of) -> Disturbed:
    return Disturbed(cluster, rerun_of(*MODELS))


def test_job_of_a_node_that_loses_power_starts_again_elsewhere(disturbed):
    assert disturbed.starts("no power") == [
        ("NODE_FAIL", disturbed.nodes["no power"]),
        ("COMPLETED", disturbed.nodes["urgent work"]),
    ]


def test_preempted_job_starts_again_when_there_is_room(disturbed):
    node = disturbed.nodes["urgent work"]
    assert disturbed.starts("urgent work") == [("PREEMPTED", node), ("COMPLETED", node)]


def test_drained_node_ends_its_job_and_gets_no_other(disturbed):
    assert disturbed.starts("drained") == [("COMPLETED", disturbed.nodes["drained"])]
    assert disturbed.drained == "drain"
    assert set(disturbed.waiting) == {disturbed.jobs["no power"], disturbed.jobs["urgent work"]}


def test_three_nodes_disturbed_give_the_bytes_of_a_local_run(disturbed, finished):
    assert sorted(disturbed.nodes.values()) == list(NODES)
    assert disturbed.run.project.results() == finished.results()
    records = disturbed.cluster.accounted(disturbed.run.project.root, "JobIDRaw")
    assert {job for (job,) in records} == set(disturbed.jobs.values())  # Snakemake submitted nothing more


def test_ctrl_c_cancels_the_jobs_and_the_same_command_completes(cluster, finished, rerun_of):
    run = rerun_of("single_feature")
    happening = run.fault("single_feature-fold4", STALL)
    snakemake = run.start()
    cluster.wait_for(happening.exists, "training")
    os.killpg(snakemake.pid, signal.SIGINT)
    output, _ = snakemake.communicate(timeout=60)
    print(output)
    assert snakemake.returncode == 1
    cluster.wait_for(lambda: not cluster.jobs(), "the job to be gone")
    succeeded(run.start())
    states = cluster.accounted(run.project.root, "State")
    assert states == [(f"CANCELLED by {os.getuid()}",), ("COMPLETED",)]
    assert run.project.results() == finished.results()


@pytest.mark.parametrize("again", [SLURM, ("--cores", "2")], ids=["on Slurm", "locally"])
def test_killed_snakemake_started_again_runs_no_job_twice_at_once(cluster, finished, rerun_of, again):
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
    (_, ended), *later = cluster.accounted(run.project.root, "Start", "End")
    assert bool(later) == (again == SLURM)
    assert all(started >= ended for started, _ in later)
    assert run.project.results() == finished.results()


def test_full_disk_fails_one_job_and_keeps_the_others(cluster, finished, rerun_of):
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
    kept = {
        path: data for path, data in finished.results().items() if "synthetic_net/lambdamart/" not in path
    }
    assert kept.items() <= run.project.results().items()
    before = len(cluster.accounted(run.project.root))
    succeeded(run.start(*FOLD_A_JOB, NO_ACCOUNTING))
    assert run.project.results() == finished.results()
    folds = {f"rule_synthetic_net.lambdamart.{fold}_train" for fold in range(1, 6)}
    comments = {comment for (comment,) in cluster.accounted(run.project.root, "Comment")[before:]}
    assert comments == folds | {"rule_synthetic_net.lambdamart.evaluation_evaluate_folds"}
