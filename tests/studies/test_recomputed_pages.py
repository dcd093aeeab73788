"""Scripts that do not import gradrank recompute every number of the committed pages from files in git."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = {path.stem.removeprefix("check_"): path for path in sorted((ROOT / "tools").glob("check_*.py"))}
COMMITTED = [name for name in TOOLS if (ROOT / "results/studies" / name / "numbers.json").is_file()]


@pytest.mark.parametrize("name", COMMITTED)
def test_every_number_is_recomputed(name):
    command = [sys.executable, TOOLS[name], ROOT / "results/studies" / name]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_pages_with_values_in_git_have_a_script():
    assert {"best_ranking", "contest", "factorial", "learning_curves"} <= set(COMMITTED)
