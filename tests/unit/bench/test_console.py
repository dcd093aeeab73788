"""The console output of a run for the log events that Snakemake sends to a logger plugin."""

import io
import logging
import os
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_gradrank import LOG_LINES, LogHandler
from snakemake_logger_plugin_gradrank.running_jobs import RunningJob, shown_jobs
from snakemake_logger_plugin_gradrank.slurm_queue import SlurmQueue


@pytest.fixture
def run(monkeypatch):
    """A function that returns a handler with the given settings, and its output stream."""

    def start(**changes):
        stream = io.StringIO()
        monkeypatch.setattr("sys.stderr", stream)
        settings = {"stdout": False, "dryrun": False, "verbose": False, "debug_dag": False}
        return LogHandler(SimpleNamespace(**settings | changes), None), stream

    return start


def record(event=None, msg="", created=0.0, **fields):
    log_record = logging.LogRecord("snakemake", logging.INFO, "", 0, msg, None, None)
    log_record.created = created
    vars(log_record).update(fields | ({"event": event} if event else {}))
    return log_record


def started(jobid, created=0.0, rule="train", log=(), **wildcards):
    return record(LogEvent.JOB_INFO, "", created, jobid=jobid, rule_name=rule, wildcards=wildcards, log=list(log))


def finished(*jobids, created, done, total=4):
    jobs = [record(LogEvent.JOB_FINISHED, "", created, job_id=jobid) for jobid in jobids]
    return [*jobs, record(LogEvent.PROGRESS, None, created, done=done, total=total)]


def failed(jobid):
    return record(LogEvent.JOB_ERROR, "Error", jobid=jobid)


def output(handler, stream, *records) -> list[str]:
    for each in records:
        handler.handle(each)
    handler.close()
    handler.close()  # as Snakemake does
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
    first, second = lines.index("train, fold=1, 2", end), lines.index(f"{tmp_path / 'absent.log'}:", end)
    assert lines[first + 1] == f"{log}:" and len(lines[first + 2 : second]) == LOG_LINES
    assert lines[second - 1].strip() == "the cause"


def test_the_folds_of_a_method_with_one_error_have_one_message(run, tmp_path):
    logs = [tmp_path / f"fold{fold}.log" for fold in range(1, 6)]
    for fold, log in enumerate(logs, start=1):
        log.write_text(f"Traceback\nValueError: fold {fold} is broken\n")
    jobs = [started(fold, log=[str(log)], model="m", fold=str(fold)) for fold, log in enumerate(logs, start=1)]
    lines = output(*run(), *jobs, *(failed(fold) for fold in range(1, 6)))
    assert sum("Traceback" in line for line in lines) == 1
    assert "train: model=m, fold=1, 2, 3, 4, 5" in lines and "5 failed. The end of each log:" in lines
    assert all(f"{log}: the same error" in lines for log in logs[1:])


def test_the_time_of_a_job_is_that_of_its_benchmark_file(run, tmp_path):
    benchmark = tmp_path / "job.tsv"
    benchmark.write_text("s\th:m:s\tmax_rss\n82.5\t0:01:22\t100\n")
    job = started(1, 0.0)
    job.benchmark = str(benchmark)
    lines = output(*run(), job, *finished(1, created=660.0, done=1))
    assert lines == ["[1/4] train (82 s)"]


def test_a_long_job_is_shown_with_its_step_and_the_time_left(tmp_path):
    log = tmp_path / "fold1.log"
    log.write_text("d/m/fold1: selection under letor4\nd/m/fold1: step 20  vali_map 0.5\n")
    os.utime(log, (20, 20))
    job = started(1, 0.0, log=[str(log)], model="m")
    job.shellcmd = """gradrank train --model m --params '{"epochs": 80}'"""
    running = RunningJob.of(job)
    assert shown_jobs([running], 5.0) == []
    (line,) = shown_jobs([running], 20.0)
    assert line == "train: model=m: running for 20 s, step 20 of at most 80  vali_map 0.5; at most about 60 s left"
    assert shown_jobs([running], 30.0) == [] and len(shown_jobs([running], 40.0)) == 1


def test_the_time_in_a_cluster_s_queue_is_not_part_of_the_time_of_a_running_job(tmp_path):
    log = tmp_path / "log"
    running = RunningJob.of(started(1, 1000.0, log=[str(log)], model="m"))
    assert shown_jobs([running], 1600.0) == [], "it waits in the queue"
    log.write_text("step 1")
    assert shown_jobs([running], 1605.0) == []
    (line,) = shown_jobs([running], 1620.0)
    assert line.startswith("train: model=m: running for 15 s")


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Programs `sinfo` and `squeue` of a cluster with a partition of three hours and two waiting jobs."""
    lines = {
        "sinfo": "short*|3:00:00\nlong|2-00:00:00\nfree|infinite",
        "squeue": "7|short|3:02:00|2000M|PartitionTimeLimit|rule_train\n8|short|10:00|2000M|Priority|rule_pairs",
    }
    for name, text in lines.items():
        (tmp_path / name).write_text(f"#!/bin/sh\ncat <<'EOF'\n{text}\nEOF\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return SlurmQueue("run")


def test_a_submission_that_asks_for_more_time_than_its_partition_allows_is_named_once(slurm):
    group = [("train", {"runtime": 122})] * 5 + [("evaluate_folds", {"runtime": 60})]
    message = slurm.excess("group d.m", group)
    assert "asks for 182 min" in message and "allows 180 min" in message and "train:runtime=122" in message
    assert slurm.excess("group d.m", group) is None
    assert slurm.excess("train", [("train", {"runtime": 180})]) is None
    assert slurm.excess("train", [("train", {"runtime": 3000, "slurm_partition": "free"})]) is None
    assert "2880 min" in slurm.excess("train", [("train", {"runtime": 3000, "slurm_partition": "long"})])


def test_a_job_that_waits_without_end_is_named_once_and_others_are_not(slurm):
    (message,) = slurm.waiting()
    assert "job 7 (rule_train)" in message and "PartitionTimeLimit" in message and "Fix:" in message
    assert list(slurm.waiting()) == []


def test_without_slurm_nothing_is_checked(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    queue = SlurmQueue("run")
    assert list(queue.waiting()) == [] and queue.excess("train", [("train", {"runtime": 9999})]) is None


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
def test_a_dry_run_prints_what_snakemake_prints(run, option):
    handler, stream = run(**{option: True})
    handler.setFormatter(logging.Formatter("Snakemake's text of %(event)s"))
    assert output(handler, stream, started(1)) == ["Snakemake's text of job_info"]


def test_a_record_without_the_expected_fields_is_ignored(run, monkeypatch):
    monkeypatch.setattr(logging, "raiseExceptions", False)
    assert output(*run(), record(LogEvent.JOB_INFO), record(msg="seen")) == ["seen"]
