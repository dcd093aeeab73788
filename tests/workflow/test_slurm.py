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
from slurm_runs import MODELS, SLURM, STALL, Disturbed, Rerun, succeeded

from conftest import Project
from gradrank.pipeline.snapshot import record

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

# A submission a fold, as docs/cluster.md has it.
FOLD_A_JOB = ("--groups", "train={dataset}.{model}.{fold}", "evaluate_folds={dataset}.{model}.evaluation")
# Several methods a submission, as docs/cluster.md has it.
METHODS_A_JOB = (
    *("--groups", "train={dataset}", "evaluate_folds={dataset}"),
    *("--group-components", "{dataset}=10"),
    *("--resources", "mem_mb=8000"),
)
NO_ACCOUNTING = "--slurm-status-command=squeue"
FILL_MEMORY = "import time; held = b'1' * 3_000_000_000; time.sleep(600)"
CAUSES = {
    "lambdamart": r"JOB \d+ ON \S+ CANCELLED AT \S+ \*",
    "ranknet_linear": "exceeded memory limit",
    "single_feature": r"JOB \d+ ON \S+ CANCELLED AT \S+ DUE TO TIME LIMIT",
}


@pytest.fixture(scope="session")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        yield cluster.start()
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def runs() -> list[Rerun]:
    """Those that the present test made."""
    return []


@pytest.fixture(scope="module")
def rerun_of(cluster, finished, runs, tmp_path_factory) -> Callable[..., Rerun]:
    def make(*models: str, **fold: str) -> Rerun:
        root = tmp_path_factory.mktemp("on slurm") / "my checkout"
        runs.append(Rerun(finished, cluster, root, *models, **fold))
        return runs[-1]

    return make


@pytest.fixture(autouse=True)
def nothing_left(cluster, runs: list[Rerun]) -> Iterator[None]:
    """A test that fails half-way leaves its own run undone, and no job, to the next test's run."""
    yield
    while runs:
        runs.pop().stop()
    cluster.clear()


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
            # An end that has passed by the time the controller hears of it is refused.
            cluster.slurm("scontrol", "update", f"jobid={job}", "EndTime=now+10")
    output = succeeded(snakemake)
    for model, cause in CAUSES.items():  # the message names the group, and shows its log
        assert f"Error in group synthetic_net.{model}\n" in output
        assert re.search(cause, output)
    ended = {state.split()[0] for (state,) in cluster.accounted(run.project.root, "State")}
    assert ended == {"CANCELLED", "FAILED", "TIMEOUT", "COMPLETED"}
    assert run.project.results() == finished.results()


def test_controller_restarted_and_accounting_away_with_a_fold_a_job(cluster, finished, rerun_of):
    run = rerun_of("single_feature", fold="fold4")
    happening = run.fault("single_feature-fold4", STALL)
    snakemake = run.start(*FOLD_A_JOB)
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
    groups = ("4_train", "evaluation_evaluate_folds")
    submitted = [("COMPLETED", f"rule_synthetic_net.single_feature.{group}") for group in groups]
    assert cluster.accounted(run.project.root, "State", "Comment") == submitted
    assert run.project.results() == finished.results()


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


def test_three_nodes_disturbed_give_the_bytes_of_a_local_run(disturbed, finished):
    assert sorted(disturbed.nodes.values()) == list(NODES)
    assert disturbed.run.project.results() == finished.results()
    records = disturbed.cluster.accounted(disturbed.run.project.root, "JobIDRaw")
    assert {job for (job,) in records} == set(disturbed.jobs.values())  # Snakemake submitted nothing more


def test_ctrl_c_cancels_methods_in_one_submission_and_the_same_command_completes(cluster, finished, rerun_of):
    run = rerun_of("ranknet_linear", "single_feature")
    happening = run.fault("single_feature-fold4", STALL)
    snakemake = run.start(*METHODS_A_JOB)
    cluster.wait_for(happening.exists, "training")
    os.killpg(snakemake.pid, signal.SIGINT)
    output, _ = snakemake.communicate(timeout=180)
    assert snakemake.returncode == 1 and "Terminating processes on user request" in output
    cluster.wait_for(lambda: not cluster.jobs(), "the job to be gone")
    succeeded(run.start(*METHODS_A_JOB))
    submitted = cluster.accounted(run.project.root, "State", "ReqCPUS")
    assert [state.split()[0] for state, _ in submitted] == ["CANCELLED", "COMPLETED"]
    assert {cpus for _, cpus in submitted} == {"5"}  # the folds of one method side by side
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


def test_job_that_ended_unheard_of_is_no_result_without_a_record(cluster, finished, rerun_of):
    run = rerun_of("single_feature")
    made = [*run.targets, *(f"results/synthetic_net/single_feature/fold{fold}/model" for fold in range(1, 6))]
    records = [run.project.root / record(Path(path)) for path in made]
    for path in records:
        path.unlink()
    happening = run.fault("single_feature-fold4", STALL)
    snakemake = run.start()
    cluster.wait_for(happening.exists, "training")
    snakemake.send_signal(signal.SIGSTOP)
    run.go_on()
    cluster.wait_for(lambda: not cluster.jobs(), "the job to end")
    snakemake.kill()
    snakemake.communicate()
    succeeded(run.start())
    assert all(path.is_file() for path in records)
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
        output, _ = snakemake.communicate(timeout=600)
    finally:
        subprocess.run(["umount", small], check=True)
    assert snakemake.returncode == 1
    assert "no space left on its disk" in output
    assert "Logfile logs/train/synthetic_net/lambdamart/fold" in output
    kept = {
        path: data for path, data in finished.results().items() if "synthetic_net/lambdamart/" not in path
    }
    assert kept.items() <= run.project.results().items()
    succeeded(run.start(NO_ACCOUNTING))
    assert run.project.results() == finished.results()
