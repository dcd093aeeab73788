"""What Snakemake prints while it runs and when it ends: a line a finished job, failures last and whole.

Snakemake's own output is a paragraph a job, with its inputs and reasons: hundreds of lines in which a failure is lost.
That goes into the log file, which the last line names; a dry run and `--verbose` print it as ever. On a terminal the
lines of the jobs are one that changes.
"""

import re
import sys
from dataclasses import dataclass
from logging import LogRecord
from shutil import get_terminal_size
from typing import Any

from snakemake.logging import ColorizingTextHandler, DefaultFormatter, show_logs

from gradrank.results import Results

CLOSING = "closing"  # a record that has this comes last, after the failures
# Messages of Snakemake that are the same every time, that are of interest to nobody but those who plan the next job, or
# that repeat a failed job's command.
ROUTINE = re.compile(
    r"Using (workflow specific profile|shell)|Assuming unrestricted|Building DAG|Provided (cores|remote|resources)|"
    r"Rules claiming|Conda environments|Singularity|Group jobs|Select jobs|Execute \d+ jobs|Complete log|Elapsed time|"
    r"Exiting because a job execution failed|Removing (output files of failed job|temporary)|Job rate limit|"
    r"Shutting down|WorkflowError:\s+At least one job did not complete|RuleException:\s+CalledProcessError|$"
)


@dataclass
class Job:
    """A job as it is printed, and when it was started."""

    words: str
    started: float


@dataclass
class Failure:
    """Of a job, or of a group of them; `text` is all that is known of it, `cause` by what equal ones are known."""

    words: str
    jobs: set[int]
    text: str
    cause: str


class RunLog:
    """One call's output; records come in the order in which they were made."""

    def __init__(self, settings: Any) -> None:
        stream = sys.stdout if settings.stdout else sys.stderr
        self._whole = settings.dryrun or settings.verbose or settings.debug_dag
        self._brief = DefaultFormatter(settings.quiet, show_failed_logs=False)
        whole = DefaultFormatter(settings.quiet, show_failed_logs=True)
        self._default = ColorizingTextHandler(settings.nocolor, stream, whole)
        self._stream, self._changes = stream, stream.isatty() and not settings.nocolor
        self._jobs: dict[int, Job] = {}
        self._fresh: list[int] = []  # finished, and not yet printed
        self._failures: list[Failure] = []
        self._mended: list[Failure] = []  # by another attempt
        self._closing: list[str] = []
        self._log_file = ""
        self._first: float | None = None
        self._done = self._total = 0

    def take(self, record: LogRecord) -> None:
        """Print what is to be seen at once, and keep what comes last."""
        event = getattr(record, "event", None)
        if self._whole:
            self._default.emit(record)
        elif hasattr(record, CLOSING):
            self._closing.append(record.msg)
        elif event is None:
            self._message(record)
        elif (handler := getattr(self, f"_{event}", None)) is not None:
            handler(record)

    def close(self) -> None:
        """Failures, whole; then what the run itself has to say."""
        if self._mended:
            self._print(f"\n{len(self._mended)} failed, and went well at another attempt:")
            self._tell(self._mended)
        if self._failures:
            self._print(f"\n{len(self._failures)} failed:")
            self._tell(self._failures)
            self._print(
                f"{self._done} of {self._total} jobs are done. When the cause is mended, the same command goes on with "
                "the others."
            )
        self._print(*self._closing)
        if self._log_file:
            self._print(f"Everything else: {self._log_file}")
        self._failures, self._mended, self._closing, self._log_file = [], [], [], ""

    def _message(self, record: LogRecord) -> None:
        text = str(record.msg or "")
        if found := re.match(r"Complete log\(s\): (.*)", text):
            self._log_file = found[1]
        if not ROUTINE.match(text):
            self._clear()
            self._default.emit(record)
        report = Results().report_path
        if text.startswith("Nothing to be done") and report.is_file():  # no job, so the workflow says nothing
            self._closing.append(f"The report: {report.resolve()}")

    _error = _message  # an exception's, such as a fault in params.yaml

    def _run_info(self, record: LogRecord) -> None:
        """`49 jobs: 30 train, 6 evaluate_folds, ...` in place of a table."""
        counts = {rule: count for rule, count in getattr(record, "stats", {}).items() if rule != "total"}
        named = ", ".join(f"{count} {rule}" for rule, count in counts.items())
        self._total = sum(counts.values())
        self._print(f"{self._total} jobs: {named}")

    def _job_info(self, record: LogRecord) -> None:
        self._first = record.created if self._first is None else self._first
        wildcards = ", ".join(f"{name}={value}" for name, value in record.wildcards.items())
        words = f"{record.rule_name}: {wildcards}" if wildcards else record.rule_name
        self._jobs[record.jobid] = Job(words, record.created)

    def _job_finished(self, record: LogRecord) -> None:
        self._fresh.append(record.job_id)
        mended = [failure for failure in self._failures if record.job_id in failure.jobs]
        self._mended += mended
        self._failures = [failure for failure in self._failures if failure not in mended]

    def _progress(self, record: LogRecord) -> None:
        """Comes after the records of one finished job, or of a group's."""
        self._done, self._total = record.done, record.total
        seconds = 0.0 if self._first is None else record.created - self._first
        left = seconds / max(record.done, 1) * (record.total - record.done)
        for job in filter(None, (self._jobs.pop(each, None) for each in self._fresh)):
            took = duration(record.created - job.started)
            self._line(f"[{record.done}/{record.total}] {job.words} ({took}; about {duration(left)} left)")
        self._fresh.clear()

    def _job_error(self, record: LogRecord) -> None:
        if not record.indent:  # else it is of a group, which has told it
            words = self._jobs[record.jobid].words if record.jobid in self._jobs else record.rule_name
            text = self._with_logs(record, record.log)
            lines = [line for line in text.splitlines() if line.strip("= ")]
            self._fail(
                Failure(words, {record.jobid}, text, cause=lines[-1])
            )  # a program's error ends its log

    def _group_error(self, record: LogRecord) -> None:
        logs = [*record.aux_logs, *(log for job in record.job_error_info for log in job["log"])]
        text = self._with_logs(record, logs)
        jobs = {job["jobid"] for job in record.job_error_info}
        self._fail(Failure(f"group {record.groupid}", jobs, text, cause=text))

    def _with_logs(self, record: LogRecord, logs: list[str]) -> str:
        """As they are now: another attempt writes them anew. Asked for several, `show_logs` ends at an empty one."""
        return "\n".join([self._brief.format(record), *(line for log in logs for line in show_logs([log]))])

    def _fail(self, failure: Failure) -> None:
        """At once a line; whole at the end."""
        self._failures = [other for other in self._failures if other.jobs != failure.jobs]
        self._failures.append(failure)
        self._print(f"FAILED {failure.words}: see the end")

    def _tell(self, failures: list[Failure]) -> None:
        """Each cause once, whole."""
        for same in by_cause(failures):
            self._print(same[0].text)
            if others := [failure.words for failure in same[1:]]:
                self._print(f"The same cause ended {len(others)} more: {'; '.join(others)}", "")

    def _line(self, text: str) -> None:
        if not self._changes:
            self._print(text)
            return
        self._clear()
        self._stream.write(
            text[: get_terminal_size().columns - 1]
        )  # of a wrapped line only the last row is cleared
        self._stream.flush()

    def _clear(self) -> None:
        if self._changes:
            self._stream.write("\r\033[K")

    def _print(self, *texts: str) -> None:
        if texts:
            self._clear()
            self._stream.write("".join(f"{text}\n" for text in texts))
            self._stream.flush()


def by_cause(failures: list[Failure]) -> list[list[Failure]]:
    """Each cause's failures, in the order in which they came."""
    found: dict[str, list[Failure]] = {}
    for failure in failures:
        found.setdefault(failure.cause, []).append(failure)
    return list(found.values())


def duration(seconds: float) -> str:
    """`8 s`, `3 min`, `2 h 05 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
