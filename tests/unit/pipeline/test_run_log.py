"""What a run prints, from the records that Snakemake makes."""

import io
import logging
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from gradrank.pipeline.run_log import CLOSING, RunLog, duration
from snakemake_logger_plugin_gradrank import LogHandler


class Stream(io.StringIO):
    def __init__(self, terminal=False):
        super().__init__()
        self.isatty = lambda: terminal


def settings(**changes):
    given = {
        "stdout": False,
        "dryrun": False,
        "verbose": False,
        "debug_dag": False,
        "quiet": None,
        "nocolor": True,
    }
    return SimpleNamespace(**given | changes)


@pytest.fixture
def run(monkeypatch):
    """A started log and its output; call it with the settings that differ."""

    def start(terminal=False, **changes):
        stream = Stream(terminal)
        monkeypatch.setattr("sys.stderr", stream)
        monkeypatch.setattr("sys.stdout", stream)
        return RunLog(settings(nocolor=not terminal, **changes)), stream

    return start


def record(event=None, msg="", created=0.0, **fields):
    made = logging.LogRecord("snakemake", logging.INFO, "", 0, msg, None, None)
    made.created = created
    vars(made).update(fields | ({"event": event} if event else {}))
    return made


def started(jobid, created=0.0, rule="train", **wildcards):
    return record(
        LogEvent.JOB_INFO, "", created, jobid=jobid, rule_name=rule, wildcards=wildcards, rule_msg=None, local=False,
        is_checkpoint=False, input=["in"], output=["out"], log=[], benchmark=None, reason="new", priority=0, threads=1,
        resources={},
    )  # fmt: skip


def finished(*jobids, created, done, total=4):
    return [
        *(
            record(LogEvent.JOB_FINISHED, f"Finished jobid: {jobid}", created, job_id=jobid)
            for jobid in jobids
        ),
        record(LogEvent.PROGRESS, None, created, done=done, total=total),
    ]


def failed(jobid, log, indent=False):
    return record(
        LogEvent.JOB_ERROR, "Error", jobid=jobid, rule_name="train", rule_msg=None, input=[], output=["out"],
        log=[str(log)], conda_env=None, shellcmd="gradrank train", aux={}, indent=indent,
    )  # fmt: skip


def stats(**counts):
    return record(LogEvent.RUN_INFO, "Job stats:\n...", stats=counts | {"total": sum(counts.values())})


def test_a_line_a_finished_job(run):
    log, stream = run()
    for each in (
        record(msg="Building DAG of jobs..."),
        stats(train=3, report=1),
        record(msg="Select jobs to execute..."),
        started(1, 0.0, dataset="d", model="m", fold="2"),
        started(2, 1.0, "report"),
        *finished(1, created=10.0, done=1),
        *finished(2, created=100.0, done=2),
        record(msg="Complete log(s): /there/it.log"),
        record(msg="Elapsed time: 0:01"),
    ):
        log.take(each)
    log.close()
    assert stream.getvalue().splitlines() == [
        "4 jobs: 3 train, 1 report",
        "[1/4] train: dataset=d, model=m, fold=2 (10 s; about 30 s left)",
        "[2/4] report (2 min; about 2 min left)",
        "Everything else: /there/it.log",
    ]


def test_a_call_with_nothing_to_do_says_where_the_report_is(run, tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    (tmp_path / "results/report.html").touch()
    monkeypatch.chdir(tmp_path)
    log, stream = run()
    log.take(record(msg="Nothing to be done (all requested files are present and up to date)."))
    log.close()
    assert stream.getvalue().splitlines()[1:] == [f"The report: {tmp_path}/results/report.html"]


def test_what_is_not_routine_is_printed(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log, stream = run()
    log.take(record(msg="Nothing to be done (all requested files are present and up to date)."))
    log.take(record(msg="Trying to restart job 3."))
    log.take(record(LogEvent.ERROR, "WorkflowError:\nparams.yaml: a fault"))
    log.take(record(LogEvent.ERROR, "WorkflowError:\nAt least one job did not complete successfully."))
    log.take(
        record(LogEvent.ERROR, "RuleException:\nCalledProcessError in file train.smk, line 28:\nCommand 'x'")
    )
    log.close()
    first, *others = stream.getvalue().splitlines()
    assert first.startswith("Nothing to be done")
    assert others == ["Trying to restart job 3.", "WorkflowError:", "params.yaml: a fault"]


def test_failures_come_last_and_whole_and_the_closing_after_them(run, tmp_path):
    log, stream = run()
    logs = [tmp_path / name for name in ("one.log", "two.log", "three.log")]
    for path, text in zip(logs, ("a\ncause: x", "b\ncause: x", "c\ncause: y"), strict=True):
        path.write_text(text)
    for each in (
        stats(train=4),
        *(started(jobid, fold=str(jobid)) for jobid in (1, 2, 3, 4)),
        *(failed(jobid, path) for jobid, path in zip((1, 2, 3), logs, strict=True)),
        record(msg="the best", **{CLOSING: True}),
        *finished(4, created=1.0, done=1),
        record(msg="Exiting because a job execution failed. Look above for error messages"),
    ):
        log.take(each)
    logs[0].write_text("overwritten by another run")
    log.close()
    before, after = stream.getvalue().split("\n3 failed:\n")
    assert [line for line in before.splitlines() if "FAILED" in line] == [
        f"FAILED train: fold={jobid}: see the end" for jobid in (1, 2, 3)
    ]
    assert "cause" not in before and "the best" not in before and "Exiting" not in before
    assert "a\ncause: x" in after and "b\ncause" not in after and "c\ncause: y" in after
    assert "The same cause ended 1 more: train: fold=2" in after
    assert "1 of 4 jobs are done" in after
    assert after.index("cause: y") < after.index("1 of 4") < after.index("the best")


def test_a_failure_that_another_attempt_mended_is_none_but_told(run, tmp_path):
    log, stream = run()
    (tmp_path / "log").write_text("killed")
    (tmp_path / "empty").touch()
    logs = [str(tmp_path / name) for name in ("empty", "log")]
    group = record(
        LogEvent.GROUP_ERROR, "Error in group d.m", groupid="d.m", aux_logs=[],
        job_error_info=[
            {"jobid": jobid, "rule_name": "train", "output": [], "log": [log]} for jobid, log in enumerate(logs, 1)
        ],
    )  # fmt: skip
    for each in (group, failed(1, tmp_path / "log", indent=True), failed(2, tmp_path / "log", indent=True)):
        log.take(each)
    for each in finished(1, 2, created=3.0, done=2, total=2):
        log.take(each)
    log.close()
    assert stream.getvalue().count("FAILED") == 1 and "failed:" not in stream.getvalue()
    assert "1 failed, and went well at another attempt:\n" in stream.getvalue()
    assert "Error in group d.m\n" in stream.getvalue() and "jobs are done" not in stream.getvalue()
    log, stream = run()
    log.take(group)
    log.close()
    assert "1 failed:" in stream.getvalue() and "Error in group d.m\n" in stream.getvalue()
    assert "empty: empty file" in stream.getvalue() and "killed\n" in stream.getvalue()


@pytest.mark.parametrize("option", ["dryrun", "verbose", "debug_dag"])
def test_a_dry_run_prints_what_snakemake_prints(run, option):
    log, stream = run(**{option: True})
    log.take(record(msg="Building DAG of jobs..."))
    log.take(started(1, dataset="d"))
    log.close()
    text = stream.getvalue()
    assert "Building DAG" in text and "rule train:\n    input: in\n    output: out" in text
    assert "reason: new\n    wildcards: dataset=d" in text


def test_on_a_terminal_one_line_changes(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    log, stream = run(terminal=True)
    for jobid in (1, 2):
        log.take(started(jobid, model="m" * 40))
        for each in finished(jobid, created=1.0, done=jobid):
            log.take(each)
    log.close()
    lines = stream.getvalue().split("\r\033[K")
    assert len(lines) == 3 and all(len(line) < 30 and "\n" not in line for line in lines)


def test_the_plugin_hands_on_and_survives_what_it_cannot_read(monkeypatch, capsys):
    stream = Stream()
    monkeypatch.setattr("sys.stderr", stream)
    handler = LogHandler(settings(), None)
    monkeypatch.setattr(logging, "raiseExceptions", False)
    handler.handle(record(LogEvent.JOB_INFO))  # lacks everything
    handler.handle(record(msg="seen"))
    handler.close()
    assert stream.getvalue() == "seen\n"
    assert handler.writes_to_stream and not handler.writes_to_file


def test_a_reader_that_has_seen_enough_is_no_error(monkeypatch):
    class Closed(Stream):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr("sys.stderr", Closed())
    handler = LogHandler(settings(), None)
    faults = []
    monkeypatch.setattr(handler, "handleError", faults.append)
    handler.handle(record(msg="unseen"))
    assert faults == []


def test_durations():
    assert [duration(s) for s in (0.4, 89, 90, 3600, 7500)] == [
        "0 s",
        "89 s",
        "2 min",
        "60 min",
        "2 h 05 min",
    ]
