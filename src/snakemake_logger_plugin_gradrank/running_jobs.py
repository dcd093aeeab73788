"""Running jobs: their duration, and what they do according to the last line of their logs."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FIRST, LONGEST = 10.0, 600.0  # seconds until a running job is shown first, and between two of its lines
WIDTH, MOST_SHOWN = 100, 5  # characters of a line of a log; number of jobs that are shown at a time
STEPS = re.compile(r'"(?:epochs|rounds|iterations)": (\d+)')  # in the command of a training job
STEP = re.compile(r"\bstep (\d+)\b")


@dataclass
class RunningJob:
    """A job that was started.

    rule, wildcards: as in the Snakefile. log: paths of its log files. started: time in seconds. benchmark: path of the
    file with its measured seconds. steps: largest number of training steps, if its command has one.
    """

    rule: str
    wildcards: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    started: float = 0.0
    benchmark: str | None = None
    steps: int | None = None
    due: float = FIRST  # seconds after it began at which it is shown again
    begun: float | None = None  # time when it was first seen to run; on a cluster, long after its start event

    @classmethod
    def of(cls, record: Any) -> "RunningJob":
        """Return the job of an event JOB_INFO."""
        match = STEPS.search(getattr(record, "shellcmd", None) or "")
        return cls(
            record.rule_name,
            dict(record.wildcards or {}),
            list(record.log or []),
            record.created,
            getattr(record, "benchmark", None),
            int(match[1]) if match else None,
        )

    @property
    def name(self) -> str:
        return job_name(self.rule, self.wildcards)

    @property
    def is_report(self) -> bool:
        return self.rule.endswith("report") and bool(self.log)

    def seconds(self, now: float) -> float:
        """Return the seconds that the job itself took, without the time in a cluster's queue.

        They are in its benchmark file. Without a file of this run, the time since the start event is returned.
        """
        try:
            path = Path(self.benchmark or "")
            # Times of a network file system have whole seconds.
            if self.benchmark and path.stat().st_mtime >= self.started - 2:
                return float(path.read_text(encoding="utf-8").splitlines()[1].split("\t")[0])
        except (OSError, ValueError, IndexError):
            pass
        return now - self.started

    def state(self, now: float) -> str | None:
        """Return what the job does, such as `step 40 of at most 80  vali_map 0.51`; None if it has not begun to run."""
        try:
            path = Path(self.log[0])
            if path.stat().st_mtime < self.started - 2:
                return None
            lines = path.read_text(errors="replace").splitlines()
        except (OSError, IndexError):
            return None
        line = next((line.strip() for line in reversed(lines) if line.strip()), "")
        text = line.partition(": ")[2] or line
        step = STEP.search(text)
        if step is None or self.steps is None or not 0 < int(step[1]) <= self.steps:
            return text[:WIDTH]
        # The step was printed when the log was last written.
        per_step = (path.stat().st_mtime - self.started) / int(step[1])
        left = max(per_step * self.steps - (now - self.started), 0)
        told = text.replace(step[0], f"{step[0]} of at most {self.steps}", 1)[:WIDTH]
        return f"{told}; at most about {duration(left)} left"


def shown_jobs(jobs: Iterable[RunningJob], now: float) -> list[str]:
    """Return one line per job that has run for at least FIRST seconds and is due. The times between lines double."""
    lines = []
    for job in sorted(jobs, key=lambda job: job.started):
        if job.begun is None and job.state(now) is not None:
            job.begun = job.started if now - job.started <= FIRST else now
        if job.begun is None or (age := now - job.begun) < job.due or (state := job.state(now)) is None:
            continue
        job.due = age + min(max(age, FIRST), LONGEST)
        lines.append(f"{job.name}: running for {duration(age)}" + (f", {state}" if state else ""))
    more = [f"and {len(lines) - MOST_SHOWN} more running jobs"] if len(lines) > MOST_SHOWN else []
    return lines[:MOST_SHOWN] + more


def job_name(rule: str, wildcards: dict[str, str]) -> str:
    """Return a name such as `train: dataset=mq2007, model=mart, fold=1`."""
    values = ", ".join(f"{name}={value}" for name, value in wildcards.items())
    return f"{rule}: {values}" if values else rule


def duration(seconds: float) -> str:
    """Return a time such as `8 s`, `3 min` or `2 h 05 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
