"""`python tests/system/kills.py [NUMBER] [--seed S] [--run FOLDER]`: kill -9 at random moments of a run.

At a random moment of a fresh run, one of three things is killed: Snakemake, whose jobs continue as orphans; one job; or
all processes. `snakemake --unlock` and the same command follow at once, and must give the bytes of an undisturbed run.
Orphans that end later must change no file, and a further run must have no jobs.
"""

import os
import signal
import sys
import time
from contextlib import suppress

import psutil
from campaign import Campaign

from project import Project, differing

CORES = ("--cores", "2")


def main() -> int:
    campaign = Campaign(__doc__, 20)
    finished = campaign.finished()
    expected, length = finished.files(), duration(finished)
    for _ in range(campaign.number):
        project = campaign.fresh("killed")
        jobs = kill(campaign, project, campaign.draw.uniform(0.5, length))
        project.run("snakemake", "--unlock")
        done = project.run("snakemake", *CORES)
        if "Traceback" in (output := done.stdout + done.stderr) or done.returncode != 0:
            campaign.fault(f"the same command: exit {done.returncode}: {output[-800:]!r}")
            continue
        alive = [job for job in jobs if job.is_running() and job.status() != psutil.STATUS_ZOMBIE]
        campaign.counts["orphans that outlived the next run"] += len(alive)
        psutil.wait_procs(alive, timeout=60)
        judge(campaign, project, expected)
    return campaign.end()


def duration(project: Project) -> float:
    """Return about how many seconds a run takes, from the times of the files of a finished run."""
    written = [path.stat().st_mtime for path in (project.root / "results").rglob("*")]
    first = min(path.stat().st_mtime for path in (project.root / "data").rglob("*"))
    return min(3.0 + max(written) - first, 60.0)


def kill(campaign: Campaign, project: Project, seconds: float) -> list[psutil.Process]:
    """Start a run and kill a part of it after `seconds`; return its jobs."""
    run = project.start(*CORES)
    deadline = time.monotonic() + seconds
    while run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    jobs: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        jobs = psutil.Process(run.pid).children(recursive=True)
    victim = campaign.draw.choice(("snakemake", "a job", "everything"))
    if run.poll() is not None:
        victim = "nothing: it had ended"
    elif victim == "snakemake":
        run.kill()
    elif victim == "everything":
        os.killpg(run.pid, signal.SIGKILL)
    elif jobs:
        with suppress(psutil.NoSuchProcess):
            campaign.draw.choice(jobs).kill()
    campaign.counts[f"killed {victim}"] += 1
    run.wait()
    return jobs


def judge(campaign: Campaign, project: Project, expected: dict[str, bytes]) -> None:
    """Record a fault if the results are not the expected ones, a run has further jobs or verify fails."""
    left = {path for path in project.files() if ".partial" in path}
    campaign.counts["temporary files that a killed job left"] += len(left)
    results = {path: content for path, content in project.files().items() if path not in left}
    if unlike := differing(expected, results):
        campaign.fault(f"different bytes: {', '.join(unlike[:10])}")
    if plan := project.plan():
        campaign.fault(f"a further run has jobs: {', '.join(list(plan)[:10])}")
    if project.run("gradrank", "verify").returncode != 0:
        campaign.fault("verify fails")
    campaign.counts["same bytes"] += not unlike


if __name__ == "__main__":
    sys.exit(main())
