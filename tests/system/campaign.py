"""The common part of campaigns: arguments, a seed that is printed, a finished run, counts and faults.

A campaign is a script: `python tests/system/damage.py 100 --seed 7`. It prints one line per fault and
a last line with counts. A fault is a result that must not occur. The exit code is 1 if there was a fault.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from project import Project

RUN = {"run": {"datasets": ["mine"], "models": ["ranknet_linear", "single_feature"]}}


class Campaign:
    """The arguments NUMBER, --seed and --run of a script, its random numbers, its counts and its faults."""

    def __init__(self, usage: str, number: int) -> None:
        parser = argparse.ArgumentParser(usage=usage.splitlines()[0])
        parser.add_argument("number", type=int, nargs="?", default=number)
        parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
        parser.add_argument("--run", type=Path, help="a small finished run; made there if the folder is missing")
        arguments = parser.parse_args()
        self.number, self.seed, self.run = arguments.number, arguments.seed, arguments.run
        self.draw = random.Random(arguments.seed)
        self.counts: Counter[str] = Counter()
        self.faults = 0
        self.started = time.monotonic()
        self.folder = Path(tempfile.mkdtemp(prefix="campaign-"))
        print(f"seed {arguments.seed}, {arguments.number} trials", flush=True)

    def fault(self, text: str) -> None:
        """Count and print a fault."""
        self.faults += 1
        print(f"FAULT {text}", flush=True)

    def end(self) -> int:
        """Print the counts; return the exit code."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shown = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        print(f"{shown}; {self.faults} faults; {time.monotonic() - self.started:.0f} s (seed {self.seed})")
        return bool(self.faults)

    def fresh(self, name: str) -> Project:
        """Return a copy of the project with a small run, without any output."""
        shutil.rmtree(self.folder / name, ignore_errors=True)
        project = Project.small(self.folder / name)
        project.params(**RUN)
        project.study("ranknet2005", reduced=None)
        return project

    def finished(self) -> Project:
        """Return a project whose small run is finished; not to be changed."""
        root = self.run or self.folder / "finished"
        if not (root / "results/report.html").is_file():
            project = Project.small(root)
            project.params(**RUN)
            project.study("ranknet2005", reduced=None)
            project.snakemake("--cores", "2")
        return Project(root)

    def copy(self, project: Project) -> Project:
        """Return a copy of a project. It replaces the previous copy."""
        shutil.rmtree(self.folder / "copy", ignore_errors=True)
        return Project(Path(shutil.copytree(project.root, self.folder / "copy", symlinks=True)))
