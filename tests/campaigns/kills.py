"""`python tests/campaigns/kills.py [NUMBER] [--seed S] [--run FOLDER]`: kill -9 at random moments of a run.

A fresh run is killed at a moment drawn from its whole length: Snakemake alone, one job, or everything; sometimes twice.
Then the same command, at once where jobs may still be alive: it must end in the bytes of a run that nobody killed, with
no temporary file left, and the call after it must find nothing to do.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil
from small import RUN, Campaign, Project, command, state, unlike

CORES = ("--cores", "2")
START, LONGEST = 3.0, 90.0  # seconds before the first job writes anything, and that any run takes


def main() -> int:
    campaign = Campaign(__doc__, 20)
    finished = campaign.finished()
    expected, length = state(finished, left_out), duration(finished)
    for trial in range(campaign.number):
        project = fresh(campaign, trial)
        for _ in range(campaign.draw.choice((1, 1, 2))):
            kill(campaign, project, campaign.draw.uniform(0.5, length))
        code, told = command(project, "snakemake", *CORES)
        judge(campaign, project, expected, code, told)
    return campaign.end()


def left_out(place: str) -> bool:
    """What says when it was made: the report's times, MLflow's run numbers."""
    return place.startswith(("results/report", "results/tracked.json"))


def fresh(campaign: Campaign, trial: int) -> Project:
    root = campaign.folder / f"trial{trial}"
    subprocess.run(["rm", "-rf", str(root), str(campaign.folder / f"trial{trial - 1}")], check=True)
    root.mkdir()
    project = Project.copy(root)
    project.params(**RUN)
    project.environment["GRADRANK_FORK"] = "yes"  # as a user's jobs are
    return project


def duration(project: Project) -> float:
    """Seconds from the start of a finished run to its last file, as far as files show it."""
    written = [path.stat().st_mtime for path in (project.root / "results").rglob("*")]
    first = min(path.stat().st_mtime for path in (project.root / "data").rglob("*"))
    return min(START + max(written) - first, LONGEST)


def kill(campaign: Campaign, project: Project, seconds: float) -> None:
    """Start the run, and kill of it what is drawn when that time has passed."""
    run = started(project, seconds, *CORES)
    what = campaign.draw.choice(("snakemake", "a job", "everything"))
    if run.poll() is not None:
        what = "nothing: it had ended"
    elif what == "snakemake":
        run.kill()  # its jobs hear of it, and end
    elif what == "everything":
        os.killpg(run.pid, signal.SIGKILL)
    elif jobs := psutil.Process(run.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has ended by itself
            campaign.draw.choice(jobs).kill()
    campaign.counts[f"killed {what}"] += 1
    run.wait()


def started(project: Project, seconds: float, *arguments: str) -> subprocess.Popen:
    """The run, so many seconds after its start or as soon as it has ended."""
    run = project.start(*arguments)
    deadline = time.monotonic() + seconds
    while run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return run


def judge(campaign: Campaign, project: Project, expected: dict[str, bytes], code: int, told: str) -> None:
    if code != 0 or "Traceback" in told:
        campaign.fault(f"the same command: exit {code}: {told[-800:]!r}")
        return
    if differing := unlike(expected, state(project, left_out)):
        campaign.fault(f"other bytes: {', '.join(differing[:10])}")
    places = [project.root / name for name in ("data", "results")]
    if left := [str(path) for place in places for path in place.rglob("*.partial")]:
        campaign.fault(f"left over: {', '.join(left)}")
    _, told = command(project, "snakemake", *CORES)
    if "Nothing to be done" not in told:
        campaign.fault(f"something to do after it: {told[-400:]!r}")
    campaign.counts["same bytes"] += not differing


if __name__ == "__main__":
    sys.exit(main())
