"""What is missing between Snakemake and Slurm: jobs that outlive their run, are cancelled, or are to be cancelled.

A killed Snakemake leaves its jobs in the queue, and the next one does not know them: it would submit the same work
again, and two jobs would write the same files. Slurm knows the folder a job was submitted from, and the plugin names
its jobs by a run's UUID, so what an earlier run left is found without any record of ours.
"""

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from gradrank.errors import GradrankError

# How the plugin names its jobs: a prefix, where one is set, and a UUID of the run.
RUN = re.compile(r"(^|_)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def cancel_left_over(seconds: float = 300) -> list[str]:
    """Cancel the jobs of runs in this folder that are in Slurm's queue; return their ids when they are gone.

    To be called by a run that holds the folder alone, before it submits anything or when it is interrupted. A
    GradrankError says that Slurm did not answer, or that a job is still there after `seconds`.
    """
    left = _left_over()
    if left:
        _slurm("scancel", *left)
    deadline = time.monotonic() + seconds
    while left and (remaining := sorted(set(left) & set(_left_over()))):
        if time.monotonic() > deadline:
            raise GradrankError(
                f"Slurm jobs {', '.join(remaining)} of a run in this folder are still there {seconds:.0f} s "
                "after scancel; start again when `squeue --me` no longer lists them"
            )
        time.sleep(1)
    return left


def submitted_before(state: Path = Path(".snakemake")) -> bool:
    """Whether a run that ended early had handed jobs to a cluster: Snakemake's marks of unfinished files say so."""
    marks = (path for path in (state / "incomplete").rglob("*") if path.is_file())
    return any(json.loads(mark.read_text()).get("external_jobid") for mark in marks)


def see_cancelled_jobs() -> None:
    """Let the plugin see that a job was cancelled, for the rest of this process.

    sacct often says by whom, `CANCELLED by 1000`, where the plugin (2.8.0) knows `CANCELLED` alone: it would take the
    job for one that still runs, and wait for it for ever.
    """
    import snakemake_executor_plugin_slurm as plugin

    query = plugin.query_job_status

    async def states(command, logger) -> tuple[dict[str, str] | None, float | None]:
        found, seconds = await query(command, logger)
        return found and {job: state.partition(" ")[0] for job, state in found.items()}, seconds

    plugin.query_job_status = states


def cancel_whole_run() -> None:
    """Let an interrupted run, which holds its folder alone, cancel all its jobs, for the rest of this process.

    Snakemake's executors for clusters set the list of their jobs aside while they ask for the jobs' states; a Ctrl-C in
    that moment finds the list empty, and would leave the jobs running.
    """
    import snakemake_executor_plugin_slurm as plugin

    def cancel_jobs(self, active_jobs) -> None:
        try:
            cancel_left_over()
        except GradrankError as error:
            self.logger.error(str(error))

    plugin.Executor.cancel_jobs = cancel_jobs


def leave_marks() -> None:
    """Let the Snakemake of a cluster's job, for the rest of its process, leave each file marked as unfinished.

    It would take the marks away when the job ends, and the run's Snakemake records how the files were made only when it
    hears of that: killed between the two, it left files that passed for finished, and of which nothing is known.
    """
    from snakemake.persistence.file import FilePersistence

    FilePersistence._unmark_incomplete = lambda self, key: None


def _left_over() -> list[str]:
    """Ids of this user's jobs that are pending, running or ending, of runs of Snakemake in this folder."""
    if not shutil.which("squeue"):
        return []
    here = os.path.realpath(".")
    lines = _slurm("squeue", f"--user={os.getuid()}", "--noheader", "--format=%F|%j|%Z").splitlines()
    jobs = [line.split("|", 2) for line in lines]
    return sorted(
        {job for job, name, folder in jobs if RUN.search(name) and os.path.realpath(folder) == here}
    )


def _slurm(*command: str) -> str:
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode:
        raise GradrankError(
            f"`{command[0]}` failed, so nobody knows whether jobs of runs in this folder are left: "
            f"{done.stderr.strip()}; start again when Slurm answers"
        )
    return done.stdout
