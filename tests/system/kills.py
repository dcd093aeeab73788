"""`python tests/system/kills.py [NUMBER] [--seed S] [--run FOLDER]`: kill -9 at random moments of a run.

A fresh run is killed at a random moment: Snakemake alone, whose jobs then live on as orphans, one job, or everything.
Then `snakemake --unlock` and the same command, at once: it must end in the bytes of a run that nobody killed. The
orphans end later, without harm; and the call after it must find nothing to do.
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
    """Start a run, and kill a part of it after so many seconds; return its jobs."""
    run = project.start(*CORES)
    deadline = time.monotonic() + seconds
    while run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    jobs: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        jobs = psutil.Process(run.pid).children(recursive=True)
    what = campaign.draw.choice(("snakemake", "a job", "everything"))
    if run.poll() is not None:
        what = "nothing: it had ended"
    elif what == "snakemake":
        run.kill()
    elif what == "everything":
        os.killpg(run.pid, signal.SIGKILL)
    elif jobs:
        with suppress(psutil.NoSuchProcess):
            campaign.draw.choice(jobs).kill()
    campaign.counts[f"killed {what}"] += 1
    run.wait()
    return jobs


def judge(campaign: Campaign, project: Project, expected: dict[str, bytes]) -> None:
    left = {path for path in project.files() if ".partial" in path}
    campaign.counts["temporary files that a killed job left"] += len(left)
    own = {path: content for path, content in project.files().items() if path not in left}
    if unlike := differing(expected, own):
        campaign.fault(f"other bytes: {', '.join(unlike[:10])}")
    if plan := project.plan():
        campaign.fault(f"something to do afterwards: {', '.join(list(plan)[:10])}")
    if project.run("gradrank", "verify").returncode != 0:
        campaign.fault("verify finds something")
    campaign.counts["same bytes"] += not unlike


if __name__ == "__main__":
    sys.exit(main())
