"""What the documentation tells its reader to type works, and prints what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["conventions"])
def test_a_page_s_commands_print_what_it_shows(page, tmp_path):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    printed, runs = "", 0
    for kind, text in BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8")):
        if kind == "text":
            assert printed == text
            continue
        command = ["bash", "-euc", text]
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | {"PATH": path}, text=True, capture_output=True
        )
        assert done.returncode == 0, done.stderr
        printed, runs = done.stdout, runs + 1
    assert runs
