"""The same bytes at any --cores, after a kill, from any working folder."""

import os
import shutil
import signal
import time
from collections import Counter
from contextlib import suppress

import psutil

NET = "results/synthetic_net"
FORKING = "gradrank.pipeline.forked_jobs"


def test_one_core_gives_the_bytes_of_two_and_forked_jobs_those_of_others(finished, project):
    project.environment["GRADRANK_FORK"] = "yes"
    run = project.start("--cores", "1", f"{NET}/summary.json")
    forked = set()
    while run.poll() is None:
        with suppress(psutil.NoSuchProcess):
            by = [each for each in psutil.Process(run.pid).children() if FORKING in each.cmdline()]
            forked |= {each.pid for own in by for each in own.children(recursive=True)}
        time.sleep(0.02)
    assert run.returncode == 0 and len(forked) > 3 * 5
    assert project.results() == finished.results(NET)
    assert len(finished.results()) > 2 * 3 * 5 * 4  # data sets x models x folds x files a fold


def test_killed_in_training_then_the_same_command_completes(finished, project):
    project.params(run={"datasets": ["synthetic_net"]})
    project.environment["GRADRANK_FORK"] = "yes"
    run = project.start("--cores", "2")
    deadline = time.monotonic() + 120
    while len(list(project.root.glob("results/*/*/fold*/spec.json"))) < 3:
        assert run.poll() is None and time.monotonic() < deadline, "the run ended before it could be killed"
        time.sleep(0.02)
    jobs = psutil.Process(run.pid).children(recursive=True)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    psutil.wait_procs(jobs, timeout=3)  # in vain where nobody hears of orphans' ends
    assert not (project.root / "results/report.html").exists()
    left = project.root / f"results/.report.html.{run.pid}.partial"
    left.touch()
    project.snakemake("--cores", "2")
    assert project.results(NET) == finished.results(NET)
    assert not [path for place in ("data", "results") for path in (project.root / place).rglob(".*.partial")]
    assert "Nothing to be done" in project.snakemake("--cores", "2")


def test_what_is_deleted_or_half_written_is_made_again_by_the_same_command(finished, rerun):
    half = rerun.root / "results/synthetic_poly/lambdamart/fold3"
    (half / "scores.parquet").write_bytes((half / "scores.parquet").read_bytes()[:100])
    (half / "spec.json").unlink()
    net = rerun.root / NET
    shutil.rmtree(net / "ranknet_linear")
    shutil.rmtree(net / "lambdamart/fold2")
    (net / "lambdamart/fold3/history.parquet").unlink()
    (net / "single_feature/per_query.parquet").unlink()
    planned = Counter()
    for (rule, _, _), jobs in rerun.planned().items():
        planned[rule] += jobs
    assert planned["evaluate_folds"] == 3 + 1 and planned["train"] == 7 + 1
    rerun.snakemake("--cores", "2")
    assert rerun.results() == finished.results()
    assert "Nothing to be done" in rerun.snakemake("--cores", "2")
