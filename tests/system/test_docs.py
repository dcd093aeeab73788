"""Run the commands of the documentation, and compare what they print with the text below them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from documentation_blocks import COMMANDS, run_blocks
from project import ROOT, Project

COMMITTED = ("mq2007", "ohsumed", "synthetic_net")


def write_my_data(path: Path) -> None:
    """Write a table of the user with three queries or more per fold."""
    rows = [f"{query},{document % 3},{document / 10}" for query in range(12) for document in range(5)]
    path.write_text("\n".join(["qid,label,f1", *rows]) + "\n")


@pytest.mark.parametrize("page", COMMANDS)
def test_the_commands_of_a_page_work_and_print_the_text_below_them(page, tmp_path):
    project = Project.copy(tmp_path)
    write_my_data(tmp_path / "my_data.csv")
    for name in COMMITTED:
        shutil.copytree(ROOT / "results" / name, tmp_path / "results" / name)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = project.env() | {"PATH": path}
    done, runs = None, 0
    for block in run_blocks(f"docs/{page}.md", "sh", "text"):
        if block.language == "text":
            assert done.stdout == block.text
        else:
            command = ["bash", "-euc", block.text]
            done = subprocess.run(command, cwd=tmp_path, env=environment, text=True, capture_output=True)
            assert done.returncode == 0, done.stdout + done.stderr
            runs += 1
    assert runs
