"""The two DVC stages: they run, and a second `dvc repro` finds nothing to do."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

dvc = pytest.mark.skipif(shutil.which("dvc", path=Path(sys.executable).parent) is None, reason="needs DVC")


def run(project, *command: str) -> str:
    done = subprocess.run(command, cwd=project.root, env=project.env(), text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@dvc
def test_repro_runs_once_and_only_what_changed_again(finished, rerun):
    binaries = Path(sys.executable).parent
    (rerun.root / ".venv").mkdir()
    (rerun.root / ".venv/bin").symlink_to(binaries)
    for command in (
        ("git", "init", "--quiet"),
        ("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "x"),
        (f"{binaries}/dvc", "init", "--quiet"),
        (f"{binaries}/dvc", "config", "core.analytics", "false"),
    ):
        run(rerun, *command)
    first = run(rerun, f"{binaries}/dvc", "repro")
    assert "Running stage 'data'" in first and "Running stage 'study'" in first
    assert rerun.results() == finished.results()
    assert "Data and pipelines are up to date" in run(rerun, f"{binaries}/dvc", "repro")
    rerun.params(models={"lambdamart": {"learning_rate": 0.07}})
    again = run(rerun, f"{binaries}/dvc", "repro")
    assert "Stage 'data' didn't change" in again and "Running stage 'study'" in again
    assert "model=lambdamart" in again and "model=ranknet_linear" not in again
