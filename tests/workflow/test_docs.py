"""What the documentation tells its reader to type works, and prints what it says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import warm

from conftest import Project

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(sh|text|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("page", ["contest", "conventions", "diff", "models", "tutorial"])
def test_a_page_s_commands_print_what_it_shows(page, store, tmp_path, tmp_path_factory):
    """After a block of `sh`, one of `text` is all that it printed, one of `console` lines of it."""
    project = Project.copy(tmp_path)
    programs = tmp_path_factory.mktemp("programs")
    warm.write_program(programs / "snakemake")
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    uri = f"sqlite:///{shutil.copy(store, tmp_path_factory.mktemp('store'))}"
    done, runs = None, 0
    for kind, text in BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8")):
        if kind == "text":
            assert done.stdout == text
        elif kind == "console":
            assert [line for line in lines(text) if line not in lines(done.stdout + done.stderr)] == []
        else:
            command = ["bash", "-euc", text]
            environment = project.env() | warm.jobs() | {"PATH": path, "MLFLOW_TRACKING_URI": uri}
            done = subprocess.run(command, cwd=tmp_path, env=environment, text=True, capture_output=True)
            assert done.returncode == 0, done.stderr
            runs += 1
    assert runs
