"""Limits of Slurm's partitions, and jobs that wait for a reason that time does not change.

Slurm accepts a job that its partition can never run, and the job then waits without end. The limits are read with
`sinfo`, and the reasons with `squeue`. If a command is missing or fails, nothing is checked.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

SECONDS = 20  # longest time of a Slurm command
# Reasons of the manual page of squeue that no finished job of others removes
NEVER = re.compile(
    r"(Partition(TimeLimit|NodeLimit|Inactive|Config)|(Assoc|QOS)Max\w*PerJob\w*|MaxMemPerLimit|"
    r"Invalid(Account|QOS)|BadConstraints|DependencyNeverSatisfied|(Account|QOS)NotAllowed)"
)
HELD = re.compile(r"JobHeld|launch failed requeued held|held state")


class SlurmQueue:
    """The jobs of one run of Snakemake in Slurm's queue. run: the name of its jobs, which Snakemake prints first."""

    def __init__(self, run: str) -> None:
        self.run = run
        self._reported: set[tuple[str, ...]] = set()

    @cached_property
    def limits(self) -> dict[str, float]:
        """The longest runtime of a job in minutes, by partition. The key of the default partition is an empty text."""
        limits = {}
        for line in _output("sinfo", "--noheader", "--format=%P|%l"):
            name, _, text = line.partition("|")
            if (minutes := _minutes(text)) is not None:
                limits[name.rstrip("*")] = minutes
                limits |= {"": minutes} if name.endswith("*") else {}
        return limits

    def excess(self, name: str, jobs: Iterable[tuple[str, Mapping[str, Any]]]) -> str | None:
        """Return a message about a submission that asks for more time than its partition allows, once per name.

        name: name of the rule or group. jobs: rule and resources of each job of the submission. Jobs of one rule run in
        parallel, and the rules of a group one after the other.
        """
        longest: dict[str, float] = {}
        partitions = set()
        for rule, resources in jobs:
            runtime = resources.get("runtime")
            partitions.add(str(resources.get("slurm_partition") or ""))
            if isinstance(runtime, int | float):
                longest[rule] = max(runtime, longest.get(rule, 0))
        asked, partition = sum(longest.values()), min(partitions, default="")
        limit = self.limits.get(partition)
        if limit is None or asked <= limit or (name, partition) in self._reported:
            return None
        self._reported.add((name, partition))
        where = f"the partition {partition}" if partition else "the default partition"
        parts = " and ".join(f"{rule}:runtime={minutes:g}" for rule, minutes in longest.items())
        return (
            f"{name}: asks for {asked:g} min, and {where} allows {limit:g} min, so Slurm never starts this job. Fix: "
            f"press Ctrl-C, then lower the runtime ({parts}) with --set-resources, or name another partition "
            "(`slurm_partition` in workflow/profiles/slurm/config.yaml)"
        )

    def waiting(self) -> Iterator[str]:
        """Yield a message about each job that waits for a reason that time does not change, once per job and reason."""
        options = ("--noheader", "--me", "--states=PENDING", f"--name={self.run}")
        for line in _output("squeue", *options, "--format=%i|%P|%l|%m|%r|%k"):
            job, partition, time, memory, reason, comment = [*line.split("|", 5), *[""] * 6][:6]
            if not (NEVER.search(reason) or HELD.search(reason)) or (job, reason) in self._reported:
                continue
            self._reported.add((job, reason))
            fix = (
                f"scontrol release {job}"
                if HELD.search(reason)
                else "press Ctrl-C, then change the resources (--set-resources), the partition, the account or the QoS"
            )
            yield (
                f"Slurm job {job} ({comment or 'without comment'}) waits for {reason}, which does not pass: it asks "
                f"for {time} and {memory} of memory in the partition {partition}. Fix: {fix}"
            )


def _output(*command: str) -> list[str]:
    """Return the lines that a command prints; empty if it is missing or fails."""
    if shutil.which(command[0]) is None:
        return []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


def _minutes(text: str) -> float | None:
    """Return the minutes of a time of Slurm, such as 3:00:00 or 1-12:00:00; None if there is no limit."""
    match = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", text.strip())
    if match is None:
        return None
    days, hours, minutes, seconds = (int(number or 0) for number in match.groups())
    return (24 * days + hours) * 60 + minutes + seconds / 60
