import os
import subprocess
import sys

from snakemake import exceptions

from gradrank.pipeline.folder_lock import clear_partials, clear_stale_locks

HOLDER = "from gradrank.pipeline.folder_lock import *; print(clear_stale_locks(), flush=True); input()"


def test_live_run_keeps_its_locks_and_a_killed_one_loses_them(tmp_path, monkeypatch):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout.readline() == "True\n"
    state = tmp_path / ".snakemake"
    (state / "locks").mkdir()
    (state / "locks/0.output.lock").write_text("results/report.html\n")
    monkeypatch.setattr(exceptions, "LockException", exceptions.LockException)
    assert not clear_stale_locks(state)
    assert (state / "locks/0.output.lock").exists()
    assert f"alive in this folder: process {holder.pid} on " in str(exceptions.LockException())
    assert "--unlock" not in str(exceptions.LockException())
    holder.kill()
    holder.wait()
    assert clear_stale_locks(state)
    assert not (state / "locks/0.output.lock").exists()


def test_what_a_dead_process_was_writing_goes_and_what_a_live_one_writes_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gone, dead = (subprocess.Popen(["sleep", "60"]) for _ in range(2))
    gone.kill()
    gone.wait()
    dead.kill()
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has asked after it
    killed, unheard, live = (
        f".part1.parquet.{number}.partial" for number in (gone.pid, dead.pid, os.getpid())
    )
    for place in ("data/parquet/x", "results/x/model", "elsewhere"):
        (tmp_path / place).mkdir(parents=True)
        for name in (killed, unheard, live, "part1.parquet", ".partial", ".a.partial"):
            (tmp_path / place / name).touch()
    fold = tmp_path / "results/x/model" / killed.replace("part1.parquet", "fold1")
    fold.mkdir()
    (fold / "scores.parquet").touch()
    clear_partials()
    dead.wait()
    kept = {live, "part1.parquet", ".partial", ".a.partial"}
    left = {
        place: {path.name for path in (tmp_path / place).iterdir()}
        for place in ("data/parquet/x", "results/x/model", "elsewhere")
    }
    assert left == {
        "data/parquet/x": kept,
        "results/x/model": kept,
        "elsewhere": {*kept, killed, unheard},
    }
