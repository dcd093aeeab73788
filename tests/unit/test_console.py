"""The console output of a run, from the log events that Snakemake sends to a logger plugin."""

import io
import logging
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_gradrank import LOG_LINES, LogHandler


@pytest.fixture
def run(monkeypatch):
    """`run(**settings)`: a new handler and the stream that it writes to."""

    def start(**changes):
        stream = io.StringIO()
        monkeypatch.setattr("sys.stderr", stream)
        settings = {"stdout": False, "dryrun": False, "verbose": False, "debug_dag": False}
        return LogHandler(SimpleNamespace(**settings | changes), None), stream

    return start


def record(event=None, msg="", created=0.0, **fields):
    entry = logging.LogRecord("snakemake", logging.INFO, "", 0, msg, None, None)
    entry.created = created
    vars(entry).update(fields | ({"event": event} if event else {}))
    return entry


def started(jobid, created=0.0, rule="train", log=(), **wildcards):
    return record(LogEvent.JOB_INFO, "", created, jobid=jobid, rule_name=rule, wildcards=wildcards, log=list(log))


def finished(*jobids, created, done, total=4):
    jobs = [record(LogEvent.JOB_FINISHED, "", created, job_id=jobid) for jobid in jobids]
    return [*jobs, record(LogEvent.PROGRESS, None, created, done=done, total=total)]


def failed(jobid):
    return record(LogEvent.JOB_ERROR, "Error", jobid=jobid)


def output(handler, stream, *records) -> list[str]:
    for entry in records:
        handler.handle(entry)
    handler.close()
    return stream.getvalue().splitlines()


def test_one_line_per_finished_job_with_wildcards_and_time(run):
    lines = output(
        *run(),
        record(LogEvent.RUN_INFO, "Job stats: 4"),
        record(LogEvent.RESOURCES_INFO, "unused"),
        started(1, 0.0, dataset="d", model="m", fold="2"),
        started(2, 1.0, "report"),
        *finished(1, created=10.0, done=1),
        *finished(2, created=100.0, done=2),
        started(3, 0.0, "long"),
        *finished(3, created=7500.0, done=3),
        record(msg="The report: results/report.html"),
    )
    assert lines == [
        "Job stats: 4",
        "[1/4] train: dataset=d, model=m, fold=2 (10 s)",
        "[2/4] report (2 min)",
        "[3/4] long (2 h 05 min)",
        "The report: results/report.html",
    ]


def test_failures_come_last_with_the_end_of_their_logs(run, tmp_path):
    log = tmp_path / "one.log"
    log.write_text("\n".join(map(str, range(LOG_LINES + 5))) + "\nthe cause\n")
    lines = output(
        *run(),
        *(started(1, log=[str(log)], fold="1"), started(2, log=[str(tmp_path / "absent.log")], fold="2")),
        record(LogEvent.ERROR, "CalledProcessError", exception="RuleException"),
        *(failed(1), failed(2)),
        *(started(3, fold="3"), *finished(3, created=1.0, done=1)),
    )
    end = lines.index("[1/4] train: fold=3 (1 s)")
    assert not any("cause" in line or "CalledProcessError" in line for line in lines[:end])
    first, second = lines.index("train: fold=1", end), lines.index("train: fold=2", end)
    assert lines[first + 1] == f"{log}:" and len(lines[first + 2 : second - 1]) == LOG_LINES
    assert lines[second - 2].strip() == "the cause" and str(tmp_path / "absent.log") in lines[second + 1]


def test_a_job_that_succeeds_on_retry_is_not_reported_as_failed(run, tmp_path):
    lines = output(*run(), started(1), failed(1), started(1), *finished(1, created=1.0, done=1))
    assert lines[-1] == "[1/4] train (1 s)"


@pytest.mark.parametrize("retried", [False, True])
def test_a_group_fails_as_a_whole_and_shows_all_logs(run, tmp_path, retried):
    paths = [tmp_path / name for name in ("slurm.log", "one.log", "empty.log")]
    for path, text in zip(paths, ("over memory", "killed", ""), strict=True):
        path.write_text(text)
    slurm, *logs = map(str, paths)
    members = [{"jobid": jobid, "rule_name": "train", "log": [log]} for jobid, log in enumerate(logs, 1)]
    group = record(LogEvent.GROUP_ERROR, "", groupid="d.m", aux_logs=[slurm], job_error_info=members)
    retry = finished(1, 2, created=1.0, done=2) if retried else []
    lines = output(*run(), started(1), started(2), group, failed(1), failed(2), *retry)
    assert sum("FAILED" in line for line in lines) == 1
    assert all((f"{path}:" in lines) == (not retried) for path in paths)
    assert ("    over memory" in lines) == ("group d.m" in lines) == (not retried)


@pytest.mark.parametrize("option", ["dryrun", "verbose", "debug_dag"])
def test_a_dry_run_has_the_output_of_snakemake(run, option):
    handler, stream = run(**{option: True})
    handler.setFormatter(logging.Formatter("Snakemake's text of %(event)s"))
    assert output(handler, stream, started(1)) == ["Snakemake's text of job_info"]


def test_a_record_without_the_expected_fields_is_ignored(run, monkeypatch):
    monkeypatch.setattr(logging, "raiseExceptions", False)
    assert output(*run(), record(LogEvent.JOB_INFO), record(msg="seen")) == ["seen"]
