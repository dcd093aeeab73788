"""What campaigns share: their arguments, a small finished run, the same command again and what it left.

Each draws its trials with a seed that it prints; `python tests/campaigns/<name>.py 100 --seed 7` repeats one. It ends,
or is ended by SIGTERM, with a line of figures, and exit code 1 where something that must not happen did; each such
thing has a line.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/workflow")]

import warm  # noqa: E402

from conftest import CAMPAIGN_RUN as RUN  # noqa: E402
from conftest import Project  # noqa: E402

(DATASET,) = RUN["run"]["datasets"]


class Campaign:
    """The arguments NUMBER, --seed and --run of a script; its random numbers; what it has counted and found wrong."""

    def __init__(self, usage: str, number: int) -> None:
        parser = argparse.ArgumentParser(usage=usage.splitlines()[0])
        parser.add_argument("number", type=int, nargs="?", default=number)
        parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
        parser.add_argument("--run", type=Path, help="a small finished run; made there if it is not")
        asked = parser.parse_args()
        self.number, self.seed, self.run = asked.number, asked.seed, asked.run
        self.draw = random.Random(asked.seed)
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self.started = time.monotonic()
        self.folder = Path(tempfile.mkdtemp(prefix="campaign-"))
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(self.end()))
        print(f"seed {asked.seed}, {asked.number} trials", flush=True)

    def fault(self, text: str) -> None:
        self.faults.append(text)
        print(f"FAULT {text}", flush=True)

    def end(self) -> int:
        """Print the figures; the exit code."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shown = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        seconds = time.monotonic() - self.started
        print(f"{shown}; {len(self.faults)} faults; {seconds:.0f} s (seed {self.seed})")
        return bool(self.faults)

    def finished(self) -> Project:
        """A checkout of this code whose small run is finished; not to be changed."""
        root = self.run or self.folder / "finished"
        for name in ("src", "workflow", "profiles"):  # of a run that was made before, what has changed since
            shutil.rmtree(root / name, ignore_errors=True)
        root.mkdir(parents=True, exist_ok=True)
        made = Project.copy(root)
        made.params(**RUN)
        made.snakemake("--cores", "2")
        return made

    def copy(self, project: Project) -> Project:
        """Another checkout in the same state, instead of the last one."""
        root = self.folder / "copy"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(project.root, root, symlinks=True)
        return Project(root)


def command(project: Project, *arguments: str, **environment: str) -> tuple[int, str]:
    """Exit code and output of `gradrank ...`, or with the first argument "snakemake" of the run."""
    if arguments[0] == "snakemake":  # of which campaigns kill processes, or look for those that live
        called = [sys.executable, "-m", *arguments]
        done = subprocess.run(
            called,
            cwd=project.root,
            env=project.run_env() | environment,
            text=True,
            errors="replace",
            capture_output=True,
        )
    else:
        done = warm.run("gradrank", arguments, project.root, project.env() | environment)
    return done.returncode, done.stdout + done.stderr


def state(project: Project, left_out: Callable[[str], bool] = lambda path: False) -> dict[str, bytes]:
    """Every file in data/ and results/ by path, but what holds times."""
    found = {}
    for folder, below, names in os.walk(project.root):
        below[:] = [name for name in below if Path(folder) != project.root or name in ("data", "results")]
        for name in names if Path(folder) != project.root else ():
            path = Path(folder, name)
            place = path.relative_to(project.root).as_posix()
            if name not in ("timing.json", ".snakemake_timestamp", ".track.lock") and not left_out(place):
                found[place] = path.read_bytes()
    return found


def unlike(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """The paths of files that came, went or changed."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
