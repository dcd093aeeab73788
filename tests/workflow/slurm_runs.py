"""Runs on the Slurm of slurm_cluster.py, with faults laid into their jobs and nodes."""

import shutil
import subprocess
from pathlib import Path

import warm
from slurm_cluster import Cluster

from conftest import SMALL_RUN, Project

SLURM = (
    *("--workflow-profile", "workflow/profiles/slurm"),
    "--slurm-init-seconds-before-status-checks=1",
    "--latency-wait=10",
)
MODELS = SMALL_RUN["run"]["models"]
# A job that is in training stays there until the test says so, or is killed: a process that Slurm itself has started,
# while the others are forked.
STALL = "import pathlib, time\nwhile not pathlib.Path(__file__).with_name('go on').exists(): time.sleep(0.1)"
# First on PYTHONPATH. Training runs what lies in the file <model>-fold<k> beside it, once, as it starts. Snakemake asks
# Slurm every second, where the plugin would wait 10 s longer after every question that found no job finished. The
# Snakemake of a Slurm job is forked, too, where no such file waits.
SITECUSTOMIZE = """
import os
import sys
from pathlib import Path

if sys.orig_argv[2:3] == ["train"]:
    model, fold = Path(sys.orig_argv[sys.orig_argv.index("--out") + 1]).parts[-2:]
    fault = Path(__file__).with_name(model + "-" + fold)
    if fault.exists():
        fault = fault.rename(str(fault) + ".happening")
        exec(fault.read_text())
elif "--workflow-profile" in sys.orig_argv:
    from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

    RemoteExecutor.next_seconds_between_status_checks = property(lambda self: 1, lambda self, longer: None)
elif "--target-jobs" in sys.orig_argv and not any(Path(__file__).parent.glob("*-fold?")):
    os.execv({forked[0]!r}, {forked!r} + sys.orig_argv[2:])
"""


class Rerun:
    """A copy of the checkout of a local run in which models, or one fold, are to be trained again, with faults."""

    def __init__(self, done: Project, cluster: Cluster, root: Path, *models: str, fold: str = ""):
        shutil.copytree(done.root, root, symlinks=True)
        self.faults = root / "faults"
        self.faults.mkdir()
        (self.faults / "sitecustomize.py").write_text(SITECUSTOMIZE.format(forked=warm.command()))
        self.started = []
        path = {"PYTHONPATH": f"{self.faults}:{root / 'src'}"}
        jobs = warm.jobs(cold_while=f"{self.faults}/*-fold?")
        self.project = Project(root, cluster.env | path | jobs)
        self.targets = [f"results/synthetic_net/{model}/per_query.parquet" for model in models]
        for model in models:
            results = root / "results/synthetic_net" / model
            (results / "per_query.parquet").unlink()
            shutil.rmtree(results / fold)

    def fault(self, job: str, code: str) -> Path:
        """Let `code` run as training of `job` (model-fold) starts; the path that shows that it does."""
        (self.faults / job).write_text(code)
        return self.faults / f"{job}.happening"

    def go_on(self) -> None:
        (self.faults / "go on").touch()

    def start(self, *options: str) -> subprocess.Popen:
        self.started.append(self.project.start(*self.targets, *SLURM, *options, stdout=subprocess.PIPE))
        return self.started[-1]

    def stop(self) -> None:
        """Every Snakemake of this run has ended; its jobs may go on."""
        for snakemake in self.started:
            snakemake.kill()
            snakemake.wait()


def succeeded(run: subprocess.Popen) -> str:
    output, _ = run.communicate(timeout=600)
    assert run.returncode == 0, output
    return output


class Disturbed:
    """A run on three nodes, all in training, when one loses power, one gets more urgent work, and one is drained."""

    FAULTS = ("no power", "urgent work", "drained")

    def __init__(self, cluster: Cluster, run: Rerun):
        self.cluster, self.run = cluster, run
        happening = [run.fault(f"{model}-fold2", STALL) for model in MODELS]
        snakemake = run.start()
        cluster.wait_for(lambda: all(path.exists() for path in happening), "training on each node")
        self.jobs = dict(zip(self.FAULTS, sorted(cluster.jobs(), key=int), strict=True))
        self.nodes = {fault: cluster.node_of(job) for fault, job in self.jobs.items()}
        cluster.cut_power(self.nodes["no power"])
        cluster.drain(self.nodes["drained"])
        urgent = cluster.occupy(self.nodes["urgent work"])
        stopped = {self.jobs["no power"], self.jobs["urgent work"]}
        # One node has room, but is drained.
        cluster.wait_for(lambda: set(cluster.jobs("pending")) == stopped, "two jobs to wait for a node")
        cluster.slurm("scancel", urgent)
        run.go_on()
        succeeded(snakemake)
        self.drained = cluster.node_states()[self.nodes["drained"]]

    def starts(self, fault: str) -> list[tuple[str, ...]]:
        """How each start of the job on the node of this fault ended, and where."""
        records = self.cluster.accounted(self.run.project.root, "JobIDRaw", "State", "NodeList")
        return [record[1:] for record in records if record[0] == self.jobs[fault]]
