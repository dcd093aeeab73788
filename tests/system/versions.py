"""Test the lowest and the newest versions of the dependencies, and write the result to docs/versions.md.

    python tests/system/versions.py [--python 3.11 --python 3.12] [--tests tests/unit/data ...]

For each version of Python that the package supports, two environments are made: one with the lowest versions
that pyproject.toml allows for the direct dependencies, and one with the newest versions. In each environment, the unit
tests and a small workflow run. By default, these are all unit tests, which takes hours.

Only one version of torch is tested, that of requirements.lock, from a folder with its build for the CPU
(PIP_FIND_LINKS). If the folder has no build for a version of Python, the extra `nets` is left out there, because the
build for CUDA takes gigabytes. The tests must not need torch then.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from environments import Environment, InstallError, copy_sources, locked_versions
from project import SMALL_RUN, write_own_data

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = re.findall(r"Python :: (\d\.\d+)", "\n".join(PROJECT["classifiers"]))
EXTRAS = sorted(PROJECT["optional-dependencies"].keys() - {"all", "test"})
TOOLS = ("pytest", "hypothesis", "psutil", "ir-measures", "pytrec-eval-terrier")  # what the unit tests import
RESOLUTIONS = {"lowest": "lowest-direct", "newest": "highest"}


@dataclass
class Run:
    """The result for one Python and one kind of versions (`lowest` or `newest`). failed: what failed, "" if nothing."""

    python: str
    kind: str
    versions: dict[str, str] = field(default_factory=dict)
    tests: str = "not run"
    failed: str = ""
    seconds: float = 0.0


def main() -> None:
    """Run all combinations, write docs/versions.md, and exit with 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", help="version of Python; by default, every supported one")
    parser.add_argument("--tests", nargs="+", default=["tests/unit"], help="tests to run; by default, all unit tests")
    arguments = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        source = copy_sources(Path(folder, "source"))
        for python in arguments.python or PYTHONS:
            for kind in RESOLUTIONS:
                runs.append(tested(Path(folder), source, python, kind, arguments.tests))
                print(runs[-1].python, kind, runs[-1].tests, runs[-1].failed, flush=True)
                (ROOT / "docs/versions.md").write_text(page(runs, arguments.tests), encoding="utf-8")
    sys.exit(any(run.failed for run in runs))


def tested(base: Path, source: Path, python: str, kind: str, tests: list[str]) -> Run:
    """Make one environment, and run the tests and the workflow in it."""
    run, started = Run(python, kind), time.monotonic()
    try:
        cache = Path(os.environ.get("UV_CACHE_DIR", base / "cache"))
        environment = Environment(base / f"{python}-{kind}", cache, python).create()
        install(environment, base, source, kind)
        run.versions = environment.versions()
        run.tests = pytest(environment, tests)
        workflow(environment, base / f"{python}-{kind}-workflow")
    except (InstallError, AssertionError, subprocess.CalledProcessError) as error:
        (base.parent / f"versions-{python}-{kind}.log").write_text(str(error), encoding="utf-8")
        run.failed = next(iter(re.findall(r"(?m)^(?:E  |FAILED|ERROR|error:|  ×).*", str(error))), str(error)[-200:])
    run.seconds = time.monotonic() - started
    return run


def install(environment: Environment, base: Path, source: Path, kind: str) -> None:
    """Install the package, its extras and the tools of the tests. Raises InstallError."""
    pinned = locked_versions(base).read_text(encoding="utf-8")
    (torch,) = re.findall(r"(?m)^torch==.*$", pinned)
    extras = [name for name in EXTRAS if name != "nets"]
    try:
        environment.install("--no-deps", "--no-index", torch)
        extras = EXTRAS
    except InstallError:
        print(f"{environment.python}: without nets, because PIP_FIND_LINKS has no {torch}", file=sys.stderr)
    kept = base / "kept.txt"
    kept.write_text(environment.frozen(), encoding="utf-8")
    arguments = ["--resolution", RESOLUTIONS[kind], "--constraint", kept, "--requirement", source / "pyproject.toml"]
    environment.install(*arguments, *(f"--extra={name}" for name in extras))
    kept.write_text(environment.frozen(), encoding="utf-8")
    environment.install("--constraint", kept, *TOOLS)
    environment.install("--no-deps", source)


def pytest(environment: Environment, tests: list[str]) -> str:
    """Run tests, and return the numbers of passed and skipped tests. Raises AssertionError if a test fails."""
    output = environment.run("python", "-m", "pytest", "-v", "-p", "no:cacheprovider", *tests, cwd=ROOT)
    return ", ".join(re.findall(r"\d+ (?:passed|skipped)", output.splitlines()[-1]))


def workflow(environment: Environment, folder: Path) -> None:
    """Run a small workflow. Raises AssertionError if it fails."""
    folder.mkdir()
    environment.run("gradrank", "init", ".", cwd=folder)
    params = yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8"))
    models = {"lambdamart": {"rounds": 5, "min_data_in_leaf": 2}, "single_feature": {}}
    models |= {"yetirank": {"rounds": 5}, "xgboost_ndcg": {"rounds": 5}}
    models |= {"softmax": {"epochs": 2}} if "torch" in environment.versions() else {}
    params |= {"run": {"datasets": ["mine"], "models": list(models)}, "models": models}
    params["datasets"] = SMALL_RUN["datasets"]
    (folder / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    write_own_data(folder / "own data")
    environment.run("snakemake", "--cores", "2", "mine", cwd=folder)


def page(runs: list[Run], tests: list[str]) -> str:
    """Return the text of docs/versions.md."""
    date = time.strftime("%Y-%m-%d")
    lines = [
        "# Tested versions",
        "",
        "`python tests/system/versions.py` writes this page. For each version of Python, it installs gradrank with the",
        "lowest versions that `pyproject.toml` allows, and again with the newest ones. In both environments, it runs",
        "tests and a small workflow.",
        "",
        "| Python | versions | tests | small workflow | seconds |",
        "|---|---|---|---|---|",
    ]
    for run in runs:
        state = "passed" if not run.failed else "failed" if run.versions else "not run"
        lines.append(f"| {run.python} | {run.kind} | {run.tests} | {state} | {run.seconds:.0f} |")
    lines += ["", f"The tests were: {', '.join(f'`{test}`' for test in tests)}.", ""]
    lines += [
        "The table lists the versions of the runs that passed. If a package has no row, no run with it passed.",
        "",
    ]
    lines += ["| package | lowest tested | newest tested | date | Python |", "|---|---|---|---|---|"]
    passed = [run for run in runs if not run.failed]
    for name in direct_dependencies():
        found = {kind: [run for run in passed if run.kind == kind and name in run.versions] for kind in RESOLUTIONS}
        if any(found.values()):
            cells = [", ".join(dict.fromkeys(run.versions[name] for run in found[kind])) for kind in RESOLUTIONS]
            pythons = ", ".join(dict.fromkeys(run.python for kind in found.values() for run in kind))
            lines.append(f"| {name} | {cells[0] or 'none'} | {cells[1] or 'none'} | {date} | {pythons} |")
    return "\n".join(lines) + "\n"


def direct_dependencies() -> list[str]:
    """Return the names of the packages that pyproject.toml lists, without those of the tests."""
    requirements = PROJECT["dependencies"] + [
        requirement for extra in EXTRAS for requirement in PROJECT["optional-dependencies"][extra]
    ]
    return sorted({re.split(r"[\[<>=;! ]", requirement)[0] for requirement in requirements})


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
