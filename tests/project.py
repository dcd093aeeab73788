"""A copy of the project with a small run, on which tests call Snakemake and `gradrank` as a user does."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from gradrank.bench.config.studies import settings_path, study_names
from gradrank.data.sources.synthetic import generate

ROOT = Path(__file__).resolve().parents[1]
study_names()  # found once per process: those of this checkout, before a test changes the working folder
COPIED = ("studies", "workflow", "profiles", "Snakefile", "params.yaml", "dvc.yaml")
NET, MINE, STUDY = "results/synthetic_net", "results/mine", "results/studies/ranknet2005/reduced"
DOCUMENTS = 8  # per query of the user's own data
# An artificial data set of five folds; the user's own data of one fold, with pairs.
SMALL_RUN = {
    "run": {"datasets": ["synthetic_net", "mine"], "models": ["lambdamart", "ranknet_linear", "single_feature"]},
    "datasets": {
        "synthetic_net": {"queries": 10, "documents": 10},
        "synthetic_poly": {"queries": 10, "documents": 10},
        "mine": {"path": "own data", "pairs": "own data/pairs.csv"},
    },
    "models": {"lambdamart": {"rounds": 5, "min_data_in_leaf": 2}, "ranknet_linear": {"l2": [0.1]}},
}
SMALL_STUDY = {"reduced": {"artificial": {"draws": 1, "sizes": [50], "tie_sizes": []}}}  # of ranknet2005
# Files that differ between two equal runs.
TIMED = ("timing.json", "tracked.json", "report.html", ".snakemake_timestamp")


@dataclass
class Project:
    """A checkout: edit its files, run its workflow, look at what a run would do.

    It runs the package of this checkout, whose compiled code is cached per path, unless `copy_package` was called.
    """

    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    @classmethod
    def copy(cls, root: Path) -> "Project":
        """Copy the project without the package into an existing folder, with modification times."""
        for name in COPIED:
            _copy(name, root)
        return cls(root)

    @classmethod
    def small(cls, root: Path) -> "Project":
        """Copy the project into a new or empty folder, with the small run and the user's own data."""
        root.mkdir(parents=True, exist_ok=True)
        project = cls.copy(root)
        project.params(**SMALL_RUN)
        project.study("ranknet2005", **SMALL_STUDY)
        project.study("pair_targets", reduced=None)
        write_own_data(root / "own data")
        return project

    def copy_package(self) -> Path:
        """Copy the package into the project, for a test that changes its code. Returns its folder."""
        _copy("src", self.root)
        return self.root / "src/gradrank"

    def params(self, **changes) -> None:
        """Merge nested values into params.yaml."""
        _change(self.root / "params.yaml", changes)

    def study(self, name: str, **changes) -> None:
        """Merge nested values into the settings of a study."""
        _change(settings_path(name, self.root), changes)

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace the first occurrence of a text in a file."""
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{path} does not contain {old!r}"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def env(self) -> dict[str, str]:
        """Return the environment of commands."""
        package = next(path for path in (self.root / "src", ROOT / "src") if path.is_dir())
        return os.environ | {"PYTHONPATH": str(package)} | self.environment

    def run(self, module: str, *arguments: str) -> subprocess.CompletedProcess:
        """Run `python -m module` in the folder of the project."""
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(command, cwd=self.root, env=self.env(), text=True, capture_output=True)

    def gradrank(self, *arguments: str, ok: bool = True) -> str:
        """Return the output of `gradrank`. Fails the test unless it succeeds (with ok=False: fails)."""
        return _output(self.run("gradrank", *arguments), ok)

    def snakemake(self, *arguments: str, ok: bool = True) -> str:
        """Return the output of Snakemake. Fails the test unless it succeeds (with ok=False: fails)."""
        return _output(self.run("snakemake", *arguments), ok)

    def start(self, *arguments: str) -> subprocess.Popen:
        """Start Snakemake in a process group of its own, as a shell does."""
        command = [sys.executable, "-m", "snakemake", *arguments]
        null = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, cwd=self.root, env=self.env(), start_new_session=True, **null)

    def plan(self, *targets: str) -> dict[str, str]:
        """Return the rule of each output that a call would make, by path, from Snakemake's table of its plan."""
        done = self.run("snakemake", "--summary", *targets)
        assert done.returncode == 0, done.stdout + done.stderr
        header, *rows = (line.split("\t") for line in done.stdout.splitlines() if "\t" in line)
        path, rule, plan = (header.index(name) for name in ("output_file", "rule", "plan"))
        return {row[path]: row[rule] for row in rows if row[plan] != "no update"}

    def files(self, *below: str) -> dict[str, bytes]:
        """Return the content of every file that is the same in each run, by path."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for folder in below or ("data", "results")
            for path in sorted((self.root / folder).rglob("*"))
            if path.is_file() and path.name not in TIMED and "report" not in path.parts
        }


def trained(plan: dict[str, str]) -> set[str]:
    """Return the folders of the folds that a plan trains: "synthetic_net/lambdamart/fold1"."""
    stamps = (path for path, rule in plan.items() if rule in ("train", "import_scores"))
    return {path.removeprefix("results/").replace("/methods/", "/").rpartition("/")[0] for path in stamps}


def differing(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """Return the paths of files that were added, removed or changed."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def write_own_data(folder: Path) -> None:
    """Write train.txt, vali.txt and test.txt, and pairs.csv, which prefers the document with the lower grade."""
    generate("net", 10, DOCUMENTS, 3, folder / "parts")
    pairs = ["qid,first_row,second_row,target"]
    for number, split in enumerate(("train", "vali", "test"), start=1):
        text = (folder / f"parts/S{number}.txt").read_text()
        (folder / f"{split}.txt").write_text(text)
        rows = [line.split()[:2] for line in text.splitlines()]
        for start in range(0, len(rows), DOCUMENTS):
            grades = [int(grade) for grade, _ in rows[start : start + DOCUMENTS]]
            qid = rows[start][1].removeprefix("qid:")
            for i, high in enumerate(grades, start=1):
                pairs += (f"{qid},{i},{j},0.1" for j, low in enumerate(grades, start=1) if high > low)
    (folder / "pairs.csv").write_text("\n".join(pairs) + "\n")
    shutil.rmtree(folder / "parts")


def _copy(name: str, root: Path) -> None:
    source = ROOT / name
    if source.is_dir():
        shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy2(source, root / name)


def _output(done: subprocess.CompletedProcess, ok: bool) -> str:
    output = done.stdout + done.stderr
    assert (done.returncode == 0) == ok, output
    return output


def _change(path: Path, changes: dict) -> None:
    old = yaml.safe_load(path.read_text()) if path.is_file() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(_merge(old, changes), sort_keys=False))


def _merge(old: dict, new: dict) -> dict:
    merged = dict(old)
    for key, value in new.items():
        both = isinstance(value, dict) and isinstance(old.get(key), dict)
        merged[key] = _merge(old[key], value) if both else value
    return merged
