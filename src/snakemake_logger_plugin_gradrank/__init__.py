"""A logger plugin for Snakemake that prints one line per finished job, and failures last.

It is selected by `logger: gradrank` in a profile. Snakemake finds the plugin by the name of this package. The log
events are documented in snakemake-interface-logger-plugins. Every Snakemake process of this environment imports the
plugin, so the plugin imports gradrank only to explain an error.
"""

import sys
from dataclasses import dataclass
from logging import LogRecord
from pathlib import Path
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

LOG_LINES, LOGS = 20, 10  # for failed jobs: number of lines per log, and number of logs, that are printed


@dataclass
class RunningJob:
    """A job that was started. log: paths of its log files. started: time in seconds."""

    name: str
    log: list[str]
    started: float
    is_report: bool = False


@dataclass
class Failure:
    """A failed job, or a failed group of jobs on a cluster."""

    name: str
    jobs: set[int]
    logs: str  # ends of the log files, read when the job fails, because a retry overwrites the files


class LogHandler(LogHandlerBase):
    """Print finished jobs immediately and failures at the end.

    With --dry-run, --verbose and --debug-dag, print Snakemake's own text instead.
    """

    def __post_init__(self) -> None:
        settings = self.common_settings
        self._stream = sys.stdout if settings.stdout else sys.stderr
        self._prints_all = settings.dryrun or settings.verbose or settings.debug_dag
        self._jobs: dict[int, RunningJob] = {}
        self._finished: list[RunningJob] = []  # finished jobs that are not printed yet
        self._failures: list[Failure] = []
        self._report = ""  # log of the last report job, which lists the best methods
        # jobs of failed groups; an error of each job follows that of its group, and is not printed again
        self._grouped: set[int] = set()
        self._messages: set[str] = set()

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
        """Print the summary of the report and the failed jobs, with the end of their logs."""
        if self._report:
            self._print("", _text_of(self._report).rstrip())
            self._report = ""  # Snakemake closes a handler more than once
        if self._failures:
            self._print("", f"{len(self._failures)} failed. The end of each log:")
            for failure in self._failures[:LOGS]:
                self._print("", failure.name, failure.logs)
            self._print(*(f"{failure.name}: also failed" for failure in self._failures[LOGS:]))
            self._print("", "Fix: remove the cause, then run the same command again. Finished jobs are kept.")
            self._failures = []
        super().close()

    def _emit(self, record: Any) -> None:
        """Handle one event. Snakemake adds the fields of the event to the record as attributes."""
        match getattr(record, "event", None):
            case LogEvent.JOB_INFO:
                self._jobs[record.jobid] = _job(record)
            case LogEvent.JOB_FINISHED:
                if job := self._jobs.pop(record.job_id, None):
                    job.name += f" ({_duration(record.created - job.started)})"
                    self._finished.append(job)
                    self._report = job.log[0] if job.is_report else self._report
                self._failures = [failure for failure in self._failures if record.job_id not in failure.jobs]
            case LogEvent.PROGRESS:
                self._print(*(f"[{record.done}/{record.total}] {job.name}" for job in self._finished))
                self._finished.clear()
            case LogEvent.JOB_ERROR:
                if record.jobid not in self._grouped:
                    job = self._jobs.get(record.jobid) or RunningJob(f"job {record.jobid}", [], 0)
                    self._fail(job.name, {record.jobid}, getattr(record, "log", None) or job.log)
            case LogEvent.GROUP_ERROR:
                logs = [log for job in record.job_error_info for log in job["log"]]
                jobs = {job["jobid"] for job in record.job_error_info}
                self._grouped |= jobs
                self._fail(f"group {record.groupid}", jobs, [*record.aux_logs, *logs])
            case LogEvent.ERROR if getattr(record, "exception", None) == "RuleException" and self._jobs:
                pass  # the job's own error event follows
            case None | LogEvent.ERROR | LogEvent.RUN_INFO | LogEvent.SHELLCMD:
                if (text := self._text(record)) not in self._messages:  # Snakemake repeats many messages
                    self._messages.add(text)
                    self._print(text)

    def _text(self, record: Any) -> str:
        """Return Snakemake's text, or a message with the fix for an error that gradrank can explain."""
        text = self.format(record)
        if getattr(record, "event", None) != LogEvent.ERROR:
            return text
        from gradrank.bench.workflow_support.checks import explain

        return explain(getattr(record, "exception", None) or "", text) or text

    def _fail(self, name: str, jobs: set[int], logs: list[str]) -> None:
        self._failures = [failure for failure in self._failures if failure.jobs != jobs]
        self._failures.append(Failure(name, jobs, "\n".join(map(_end_of, logs))))
        self._print(f"FAILED {name}: see the log at the end")

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


def _job(record: Any) -> RunningJob:
    is_report = record.rule_name.endswith("report") and bool(record.log)
    return RunningJob(_job_name(record), list(record.log or []), record.created, is_report)


def _job_name(record: Any) -> str:
    wildcards = ", ".join(f"{name}={value}" for name, value in (record.wildcards or {}).items())
    return f"{record.rule_name}: {wildcards}" if wildcards else record.rule_name


def _text_of(log: str) -> str:
    try:
        return Path(log).read_text(errors="replace")
    except OSError as error:
        return f"{log}: {error.strerror}"


def _end_of(log: str) -> str:
    """Return the path of a log file and its last lines."""
    lines = _text_of(log).splitlines()
    return "\n".join([f"{log}:", *(f"    {line}" for line in lines[-LOG_LINES:])])


def _duration(seconds: float) -> str:
    """Return a time such as `8 s`, `3 min` or `2 h 05 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
