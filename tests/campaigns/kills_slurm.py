"""`python tests/campaigns/kills_slurm.py [NUMBER] [--seed S] [--run FOLDER]`: kill -9 at random moments on Slurm.

The cluster is that of the tests: three nodes and accounting on this machine, which needs root and Debian's Slurm.
Killed are Snakemake, a process of a job, all of both, or a node with all that it does. Then the same command: it must
end in the bytes of a local run that nobody killed, nothing left over, and no job left in the queue.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from small import Campaign, Project, command, state

# isort: split
from daemons import kill_processes
from kills import fresh, judge, left_out, started
from slurm_cluster import NODES, Cluster, missing
from slurm_runs import SITECUSTOMIZE, SLURM


def main() -> int:
    campaign = Campaign(__doc__, 20)
    if reason := missing():
        print(f"{reason}: nothing tried")
        return 0
    expected = state(campaign.finished(), left_out)
    (campaign.folder / "slurm").mkdir()
    cluster = Cluster(campaign.folder / "slurm")
    try:
        cluster.start()
        length = undisturbed(campaign, cluster)
        for trial in range(campaign.number):
            project = on_slurm(campaign, cluster, trial)
            kill(campaign, cluster, project, campaign.draw.uniform(1, length))
            code, told = command(project, "snakemake", *SLURM)
            judge(campaign, project, expected, code, told)
            if left := cluster.jobs():
                campaign.fault(f"jobs left in the queue: {left}")
    finally:
        cluster.stop()
    return campaign.end()


def on_slurm(campaign: Campaign, cluster: Cluster, trial: int) -> Project:
    project = fresh(campaign, trial)
    (project.root / "quick").mkdir()
    (project.root / "quick/sitecustomize.py").write_text(SITECUSTOMIZE)  # asks for jobs' states every second
    project.environment |= cluster.env | {"PYTHONPATH": f"{project.root / 'quick'}:{project.root / 'src'}"}
    return project


def undisturbed(campaign: Campaign, cluster: Cluster) -> float:
    """Seconds that a run takes here."""
    begun = time.monotonic()
    code, told = command(on_slurm(campaign, cluster, 0), "snakemake", *SLURM)
    assert code == 0, told
    return time.monotonic() - begun


def kill(campaign: Campaign, cluster: Cluster, project: Project, seconds: float) -> None:
    run = started(project, seconds, *SLURM)
    what = campaign.draw.choice(("snakemake", "a job", "everything", "a node"))
    if run.poll() is not None:
        what = "nothing: it had ended"
    elif what == "a node":
        cluster.cut_power(node := campaign.draw.choice(NODES))
        cluster.bring_up(node)
        run.wait()
    elif what == "a job":
        if found := of_jobs(cluster):
            with suppress(ProcessLookupError):
                os.kill(campaign.draw.choice(found), signal.SIGKILL)
        run.wait()
    else:
        os.killpg(run.pid, signal.SIGKILL)  # jobs are no children of it
        if what == "everything":
            kill_processes(*marks(cluster))
    campaign.counts[f"killed {what}"] += 1
    run.wait()


def marks(cluster: Cluster) -> tuple[str, ...]:
    """What the processes of this cluster's jobs have in their environment, and its daemons have not."""
    return (f"SLURM_CONF={cluster.configuration}", "SLURM_CLUSTER_NAME=gradrank")


def of_jobs(cluster: Cluster) -> list[int]:
    needed, found = {mark.encode() for mark in marks(cluster)}, []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if needed <= set(environment.read_bytes().split(b"\0")):
                found.append(int(environment.parent.name))
    return found


if __name__ == "__main__":
    sys.exit(main())
