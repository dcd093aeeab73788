"""Run the commands of the documentation, and compare what they print with the text below them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from project import ROOT, Project

BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["contest", "conventions", "diff", "explain", "models", "tutorial"])
def test_the_commands_of_a_page_work_and_print_the_text_below_them(page, tmp_path):
    project = Project.copy(tmp_path)
    for name in ("mq2007", "ohsumed"):  # results that are in git
        shutil.copytree(ROOT / "results" / name, tmp_path / "results" / name)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = project.env() | {"PATH": path}
    done, runs = None, 0
    for kind, text in BLOCK.findall((ROOT / f"docs/{page}.md").read_text(encoding="utf-8")):
        if kind == "text":
            assert done.stdout == text
        else:
            command = ["bash", "-euc", text]
            done = subprocess.run(command, cwd=tmp_path, env=environment, text=True, capture_output=True)
            assert done.returncode == 0, done.stdout + done.stderr
            runs += 1
    assert runs
