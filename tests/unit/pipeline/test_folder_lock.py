import subprocess
import sys

from snakemake import exceptions

from gradrank.pipeline.folder_lock import clear_stale_locks

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
