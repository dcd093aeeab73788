import logging

import pytest

from gradrank.errors import GradrankError
from gradrank.pipeline.slurm_jobs import cancel_left_over, cancel_whole_run, submitted_before

RUN = "29df2e9c-0001-4f3a-9a80-2b6c0d5e7f11"


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """A Slurm whose queue is a file of lines `id|name|folder`; scancel writes down what it was given."""
    monkeypatch.chdir(tmp_path)
    programs = {
        "squeue": "cat queue",
        "scancel": 'echo "$@" >cancelled; grep -v "^[17]|" queue >rest; mv rest queue',
    }
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path / "queue"


def test_cancels_the_jobs_of_snakemake_in_this_folder_alone(queue, tmp_path):
    others = f"2|{RUN}|/elsewhere\n3|my own job|{tmp_path}\n"
    queue.write_text(f"1|{RUN}|{tmp_path}\n{others}7|prefix_{RUN}|{tmp_path}\n")
    assert cancel_left_over() == ["1", "7"]
    assert (tmp_path / "cancelled").read_text() == "1 7\n"
    assert queue.read_text() == others
    (tmp_path / "cancelled").unlink()
    assert cancel_left_over() == []
    assert not (tmp_path / "cancelled").exists()


def test_job_that_does_not_end_is_an_error(queue, tmp_path):
    queue.write_text(f"4|{RUN}|{tmp_path}\n")
    with pytest.raises(GradrankError, match="jobs 4 of a run"):
        cancel_left_over(seconds=0)


def test_slurm_that_does_not_answer_is_an_error(queue):
    with pytest.raises(GradrankError, match="start again when Slurm answers"):
        cancel_left_over()


def test_interrupted_run_cancels_jobs_that_snakemake_has_set_aside(queue, tmp_path, monkeypatch, caplog):
    plugin = pytest.importorskip("snakemake_executor_plugin_slurm")
    monkeypatch.setattr(plugin.Executor, "cancel_jobs", plugin.Executor.cancel_jobs)  # put back afterwards
    cancel_whole_run()
    executor = object.__new__(plugin.Executor)
    executor.logger = logging.getLogger(__name__)
    queue.write_text(f"1|{RUN}|{tmp_path}\n")
    executor.cancel_jobs([])
    assert queue.read_text() == ""
    queue.unlink()
    executor.cancel_jobs([])
    assert "start again when Slurm answers" in caplog.text


def test_marks_of_unfinished_files_tell_submitted_jobs_from_local_ones(tmp_path):
    assert not submitted_before(tmp_path)
    (tmp_path / "incomplete/deep").mkdir(parents=True)
    (tmp_path / "incomplete/bG9jYWw=").write_text('{"external_jobid": null}')
    assert not submitted_before(tmp_path)
    (tmp_path / "incomplete/deep/c3VibWl0dGVk").write_text('{"external_jobid": "17"}')
    assert submitted_before(tmp_path)
