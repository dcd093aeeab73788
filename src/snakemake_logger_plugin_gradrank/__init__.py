"""A logger plugin for Snakemake that prints one line per finished job, and failures last.

Jobs that run for more than 10 s are shown with the last line of their logs. On Slurm, requests that a partition never
grants are named before they are submitted, and jobs that wait for a reason that time does not change when they do.

It is selected by `logger: gradrank` in a profile. Snakemake finds the plugin by the name of this package. The log
events are documented in snakemake-interface-logger-plugins. Every Snakemake process of this environment imports the
plugin, so the plugin imports gradrank only to explain an error.
"""

import re
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from logging import LogRecord
from pathlib import Path
from threading import Event, Thread
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_gradrank.running_jobs import RunningJob, duration, job_name, shown_jobs
from snakemake_logger_plugin_gradrank.slurm_queue import SlurmQueue

LOG_LINES, LOGS = 20, 10  # for failed jobs: number of lines per log, and number of messages, that are printed
TICK, QUEUE_TICKS = 5.0, 6  # seconds between two looks at the running jobs; looks between two at Slurm's queue
SLURM_RUN = re.compile(r"SLURM run ID: (\S+)")  # the Slurm plugin prints it before it submits jobs


@dataclass
class Failure:
    """A failed job, or a failed group of jobs on a cluster."""

    name: str
    jobs: set[int]
    logs: list[str]  # ends of the log files, read when the job fails, because a retry overwrites the files
    method: str  # the name without the fold
    folds: list[str] = field(default_factory=list)


class LogHandler(LogHandlerBase):
    """Print finished jobs immediately and failures at the end.

    With --dry-run, --verbose and --debug-dag, print Snakemake's own text instead.
    """

    def __post_init__(self) -> None:
        settings = self.common_settings
        self._stream = sys.stdout if settings.stdout else sys.stderr
        self._prints_all = settings.dryrun or settings.verbose or settings.debug_dag
        self._jobs: dict[int, RunningJob] = {}
        self._finished: list[tuple[RunningJob, float]] = []  # finished jobs that are not printed yet, and their seconds
        self._failures: list[Failure] = []
        self._report = ""  # log of the last report job, which lists the best methods
        # jobs of failed groups; an error of each job follows that of its group, and is not printed again
        self._grouped: set[int] = set()
        self._messages: set[str] = set()
        self._progress = (0, 0)  # numbers of finished jobs and of all jobs
        self._begun: float | None = None  # time of the first job
        self._queue: SlurmQueue | None = None
        self._ended = Event()

    def emit(self, record: LogRecord) -> None:
        """Handle one log event of Snakemake."""
        try:
            if self._prints_all:
                self._print(self._text(record))
            else:
                self._emit(record)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Print the summary of the report and the failed jobs, with the end of their logs.

        The failed folds of a method have one message. A log that ends like another one is only named.
        """
        self._ended.set()
        if self._report:
            self._print("", _text_of(self._report).rstrip())
            self._report = ""  # Snakemake closes a handler more than once
        if self._failures:
            self._print("", f"{len(self._failures)} failed. The end of each log:")
            messages = _by_method(self._failures)
            for name, logs in messages[:LOGS]:
                self._print("", name, *_without_repetition(logs))
            self._print(*(f"{name}: also failed" for name, _ in messages[LOGS:]))
            self._print(
                "",
                "Fix: remove the cause, then run the same command again. Finished jobs are kept.",
                "     `gradrank report --finished` shows the methods that are finished.",
            )
            self._failures = []
        super().close()

    def _emit(self, record: Any) -> None:
        """Handle one event. Snakemake adds the fields of the event to the record as attributes."""
        match getattr(record, "event", None):
            case LogEvent.JOB_INFO:
                self._jobs[record.jobid] = job = RunningJob.of(record)
                self._warn_about_limits(job.rule, [(job.rule, getattr(record, "resources", None) or {})])
                if self._begun is None:
                    self._begun = job.started
                    Thread(target=self._watch, daemon=True).start()
            case LogEvent.GROUP_INFO:
                self._warn_about_limits(
                    f"group {record.group_id}", [(job.rule.name, job.resources) for job in record.jobs]
                )
            case LogEvent.JOB_FINISHED:
                if job := self._jobs.pop(record.job_id, None):
                    self._finished.append((job, job.seconds(record.created)))
                    self._report = job.log[0] if job.is_report else self._report
                self._failures = [failure for failure in self._failures if record.job_id not in failure.jobs]
            case LogEvent.PROGRESS:
                done = self._progress = (record.done, record.total)
                lines = (f"{job.name} ({duration(seconds)})" for job, seconds in self._finished)
                self._print(*(f"[{done[0]}/{done[1]}] {line}" for line in lines))
                self._finished.clear()
            case LogEvent.JOB_ERROR:
                if record.jobid not in self._grouped:
                    job = self._jobs.get(record.jobid) or RunningJob(f"job {record.jobid}")
                    self._fail(job, {record.jobid}, getattr(record, "log", None) or job.log)
            case LogEvent.GROUP_ERROR:
                logs = [log for job in record.job_error_info for log in job["log"]]
                jobs = {job["jobid"] for job in record.job_error_info}
                self._grouped |= jobs
                self._fail(RunningJob(f"group {record.groupid}"), jobs, [*record.aux_logs, *logs])
            case LogEvent.ERROR if getattr(record, "exception", None) == "RuleException" and self._jobs:
                pass  # the job's own error event follows
            case None | LogEvent.ERROR | LogEvent.RUN_INFO | LogEvent.SHELLCMD:
                if (text := self._text(record)) not in self._messages:  # Snakemake repeats many messages
                    self._messages.add(text)
                    self._print(text)
                if match := SLURM_RUN.search(text):
                    self._queue = SlurmQueue(match[1])

    def _text(self, record: Any) -> str:
        """Return Snakemake's text, or a message with the fix for an error that gradrank can explain."""
        text = self.format(record)
        if getattr(record, "event", None) != LogEvent.ERROR:
            return text
        from gradrank.bench.workflow_support.checks import explain

        return explain(getattr(record, "exception", None) or "", text) or text

    def _fail(self, job: RunningJob, jobs: set[int], logs: list[str]) -> None:
        self._failures = [failure for failure in self._failures if failure.jobs != jobs]
        others = {name: value for name, value in job.wildcards.items() if name != "fold"}
        folds = [job.wildcards["fold"]] if "fold" in job.wildcards else []
        ends = list(map(_end_of, logs))
        self._failures.append(Failure(job.name, jobs, ends, job_name(job.rule, others), folds))
        self._print(f"FAILED {job.name}: see the log at the end")

    def _warn_about_limits(self, name: str, jobs: Iterable[tuple[str, Any]]) -> None:
        """Print a message if Slurm can never start a submission, before it is submitted."""
        if self._queue and (text := self._queue.excess(name, jobs)):
            self._print(f"WARNING: {text}")

    def _watch(self) -> None:
        """Print running jobs and jobs that wait without end, until the handler is closed."""
        looks = 0
        while not self._ended.wait(TICK):
            looks += 1
            waiting = list(self._queue.waiting()) if self._queue and looks % QUEUE_TICKS == 1 else []
            self.acquire()
            try:
                self._print(*(f"WARNING: {text}" for text in waiting), *self._running(time.time()))
            finally:
                self.release()

    def _running(self, now: float) -> list[str]:
        """Return lines about the jobs that have run for long, with the estimated end of the run."""
        lines = shown_jobs(self._jobs.values(), now)
        done, total = self._progress
        if lines and done and self._begun is not None:
            left = duration((now - self._begun) * (total - done) / done)
            lines[0] += f" (in all, {done} of {total} jobs are finished; about {left} left)"
        return lines

    def _print(self, *lines: str) -> None:
        self._stream.writelines(f"{line}\n" for line in lines)
        self._stream.flush()

    @property
    def writes_to_stream(self) -> bool:
        return True

    @property
    def writes_to_file(self) -> bool:
        return False

    @property
    def has_filter(self) -> bool:
        return False

    @property
    def has_formatter(self) -> bool:
        return False

    @property
    def needs_rulegraph(self) -> bool:
        return False


def _by_method(failures: Iterable[Failure]) -> list[tuple[str, list[str]]]:
    """Return (name, ends of logs) per failed method. The name lists the failed folds."""
    grouped: dict[str, list[Failure]] = {}
    for failure in failures:
        grouped.setdefault(failure.method, []).append(failure)
    messages = []
    for method, failed in grouped.items():
        folds = [fold for failure in failed for fold in failure.folds]
        name = failed[0].name if len(failed) == 1 else f"{method}, fold={', '.join(folds)}" if folds else method
        messages.append((name, [end for failure in failed for end in failure.logs]))
    return messages


def _without_repetition(ends: Iterable[str]) -> list[str]:
    """Return the ends of logs. If two logs have the same last line, except for numbers, the second is only named."""
    shown, lines = {""}, []
    for end in ends:
        path, _, text = end.partition("\n")
        last = re.sub(r"\d+", "#", text.strip().rpartition("\n")[2])
        lines.append(end if last not in shown or not last else f"{path} the same error")
        shown.add(last)
    return lines


def _text_of(log: str) -> str:
    try:
        return Path(log.removesuffix(" (send to storage)")).read_text(errors="replace")
    except OSError as error:
        return f"{log}: {error.strerror}"


def _end_of(log: str) -> str:
    """Return the path of a log file and its last lines."""
    lines = _text_of(log).splitlines()
    return "\n".join([f"{log}:", *(f"    {line}" for line in lines[-LOG_LINES:])])
