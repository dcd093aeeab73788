"""docs/performance.md contains what the records of the benchmarks say."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_page_is_made_from_the_records():
    command = [sys.executable, "-c", "import performance_page; print(performance_page.page(), end='')"]
    made = subprocess.run(command, cwd=ROOT / "benchmarks", stdout=subprocess.PIPE, check=True).stdout.decode()
    assert made == (ROOT / "docs/performance.md").read_text(encoding="utf-8")
