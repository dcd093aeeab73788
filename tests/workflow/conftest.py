"""A copy of the project, in a folder with a space in its name, on which the real Snakefile runs."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import warm
import yaml

# A test run in the background ignores Ctrl-C, and so would every run that it starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[2]
# What is read as Python starts, or as numpy is imported; and where jobs are to be forked as a user's are.
COLD = {"GRADRANK_CPU", "GRADRANK_FORK", "PYTHONPATH"}
SMALL_RUN = {
    "run": {
        "datasets": ["synthetic_net", "synthetic_poly"],
        "models": ["lambdamart", "ranknet_linear", "single_feature"],
    },
    "datasets": {
        "synthetic_net": {"queries": 10, "documents": 10},
        "synthetic_poly": {"queries": 10, "documents": 10},
    },
    "models": {"lambdamart": {"rounds": 5}},
    "studies": {"ranknet2005": {"reduced": None}, "pair_targets": {"reduced": None}},
}
CAMPAIGN_RUN = {
    "run": {"datasets": ["synthetic_net"], "models": ["single_feature", "ranksvm"]},
    "datasets": {"synthetic_net": {"queries": 10, "documents": 10}},
    "models": {"ranksvm": {"C": [0.01, 1.0]}},
    "studies": {"ranknet2005": {"reduced": None}, "pair_targets": {"reduced": None}},
}


@dataclass
class Project:
    """A checkout: edit its files, run its workflow, look at what it would do."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    @classmethod
    def copy(cls, root: Path) -> "Project":
        for name in ("src", "workflow", "profiles", "Snakefile", "params.yaml", "dvc.yaml"):
            source = ROOT / name
            # Both keep modification times. Machine code is shared by all copies: equal sources, one folder.
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, root / name)
        return cls(root)

    def params(self, **changes) -> None:
        """Merge nested values into params.yaml."""
        path = self.root / "params.yaml"
        path.write_text(yaml.safe_dump(_merge(yaml.safe_load(path.read_text()), changes), sort_keys=False))

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "snakemake", *arguments]

    def env(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(self.root / "src")} | self.environment

    @property
    def warm(self) -> bool:
        """Whether its processes are forked off others, and not new from their start on, as a user has it."""
        return not COLD & self.environment.keys()

    def run_env(self) -> dict[str, str]:
        """Snakemake's; its jobs are forked as it would be."""
        return self.env() | (warm.jobs() if self.warm else {})

    def snakemake(self, *arguments: str, ok: bool = True) -> str:
        """Run Snakemake here; its whole output. The test fails unless it succeeds (with ok=False: fails)."""
        if not self.warm:
            command = self.command(*arguments)
            done = subprocess.run(command, cwd=self.root, env=self.env(), text=True, capture_output=True)
        else:
            done = warm.run("snakemake", arguments, self.root, self.run_env())
        output = done.stdout + done.stderr
        assert (done.returncode == 0) == ok, output
        return output

    def start(self, *arguments: str, **popen) -> subprocess.Popen:
        """Snakemake, started here in a process group of its own as by a shell; output goes where `popen` says."""
        unheard = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.root,
            env=self.run_env(),
            text=True,
            start_new_session=True,
            **(unheard | popen),
        )

    def ask(self, *arguments: str) -> subprocess.CompletedProcess:
        """A command of this checkout, `gradrank ...`, that has ended."""
        return warm.run("gradrank", arguments, self.root, self.env())

    def gradrank(self, *arguments: str) -> str:
        """What a command of this checkout prints, whatever it thinks of it."""
        return self.ask(*arguments).stdout

    def planned(self, *targets: str) -> Counter:
        """What a call would run, by a dry run: {(rule, data set, model): jobs}."""
        return self.listed(self.snakemake("--cores", "2", "--dry-run", *targets))

    @staticmethod
    def listed(output: str) -> Counter:
        """The jobs that a dry run's output names."""
        jobs = Counter()
        for block in re.split(r"\n *(?=(?:local)?rule \w+:)", output)[1:]:  # a group's jobs are indented
            rule = re.match(r"(?:local)?rule (\w+):", block).group(1)
            found = dict(re.findall(r"(dataset|model)=([^,\s]+)", block))
            jobs[rule, found.get("dataset"), found.get("model")] += 1
        return jobs

    def results(self, below: str = "results") -> dict[str, bytes]:
        """Everything that must not differ between two runs: summaries, scores and models, by path."""
        kept = (
            "summary.json",
            "summary.md",
            "scores.parquet",
            "spec.json",
            "history.parquet",
            "per_query.parquet",
        )
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted((self.root / below).rglob("*"))
            if path.is_file() and (path.name in kept or "model" in path.parts)
        }


def _merge(old: dict, new: dict) -> dict:
    merged = dict(old)
    for key, value in new.items():
        both = isinstance(value, dict) and isinstance(old.get(key), dict)
        merged[key] = _merge(old[key], value) if both else value
    return merged


# As `gradrank track` makes a store, which takes as long as ten jobs.
MAKE_STORE = (
    "import sys, pathlib; from gradrank.tracking.store import create_tables; "
    "create_tables(pathlib.Path(sys.argv[1]))"
)


@pytest.fixture(scope="session")
def store(shared) -> Path:
    """An MLflow store that has its tables and no run; not to be changed."""

    def make(folder: Path) -> None:
        command = [sys.executable, "-c", MAKE_STORE, str(folder / "mlflow.db")]
        subprocess.run(command, env=os.environ | {"DO_NOT_TRACK": "true"}, check=True)

    return shared("store", make) / "mlflow.db"


@pytest.fixture(scope="session")
def checkout(store) -> Callable[..., Project]:
    """`checkout(root, run)`: a fresh checkout with a small run, in that folder, and with a store."""

    def fresh(root: Path, run: dict = SMALL_RUN) -> Project:
        root.mkdir(parents=True)
        project = Project.copy(root)
        project.params(**run)
        shutil.copy(store, root)
        return project

    return fresh


@pytest.fixture
def project(checkout, tmp_path) -> Project:
    """A fresh checkout with a small run."""
    return checkout(tmp_path / "my checkout")


@pytest.fixture(scope="session")
def finished(shared) -> Project:
    """A checkout whose small run was made from scratch with --cores 2; not to be changed."""
    return Project(shared("finished", _finish))


def _finish(root: Path) -> None:
    done = Project.copy(root)
    done.params(**SMALL_RUN)
    done.snakemake("--cores", "2")


@pytest.fixture
def rerun(finished, tmp_path) -> Project:
    """The finished checkout, copied with its modification times and Snakemake's records."""
    root = tmp_path / "my checkout"
    shutil.copytree(finished.root, root)
    return Project(root)
