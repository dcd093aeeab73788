"""Where the wall time of a run went: the jobs' own compute against wall time x cores, and Snakemake's main process.

    python benchmarks/startup.py [FOLDER] --cores 2

FOLDER is a checkout in which one `snakemake --cores N` call has just run from scratch; without it the default run is
made in a copy of this one, and the processor seconds of its main process are counted. Snakemake's records
give each job's start and end; timing.json gives the compute of a training job. What a job takes beyond its
compute is Python's start-up; of the other jobs it is measured, as the time of a call that imports the same
modules and does nothing: at most that, for jobs are forked. What that saves is measured on five folds of some models.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dag import copy_workflow

IMPORTS = {
    "evaluate_folds": "gradrank.evaluation.evaluate",
    "summary": "gradrank.report.tables.summary",
    "report": "gradrank.report.document",
    "track": "gradrank.tracking.runs, mlflow",
    "parse": "gradrank.data.parse",
    "pairs": "gradrank.data.pairs",
    "fetch": "gradrank.data.fetch",
    "generate": "gradrank.data.synthetic",
}


def jobs(folder: Path) -> list[tuple[str, float, float]]:
    """(rule, start, end) of every job, from Snakemake's records, of which it keeps one an output file."""
    found = {}
    for path in (folder / ".snakemake/metadata").rglob("*"):
        if path.is_file():
            record = json.loads(path.read_text())
            if record.get("shellcmd") and record.get("starttime"):
                found[record["shellcmd"]] = (record["rule"], record["starttime"], record["endtime"])
    return list(found.values())


def training_seconds(results: Path) -> dict[str, float]:
    """Seconds of each model's training jobs on all data sets and folds, the slowest first."""
    took: dict[str, float] = {}
    for path in results.glob("*/*/fold*/timing.json"):
        model = path.parts[-3]
        took[model] = took.get(model, 0.0) + json.loads(path.read_text())["seconds"]
    return dict(sorted(took.items(), key=lambda item: -item[1]))


def seconds(*command: str) -> float:
    """The least wall time of three runs."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return min(times)


MAIN = """
import atexit, resource, sys

@atexit.register  # before anything else: what is registered first is called last, when the jobs' processes have ended
def tell():
    own, jobs = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(own.ru_utime + own.ru_stime, jobs.ru_utime + jobs.ru_stime)

from snakemake.cli import main
main(sys.argv[1:])
"""
FOLDS = """
import subprocess, sys
from gradrank.pipeline.forked_jobs import start
model, function = sys.argv[1], start(sys.executable)
for fold in map(str, range(1, 6)):
    job = ["train", "--model", model, "--params", "{}", "--data", "data/parquet/synthetic_net", "--fold", fold]
    job += ["--seed", "1", "--out", f"forked/{model}/fold{fold}"]
    subprocess.run(["bash", "-c", f'{function} gradrank "$@"', "bash", *job], check=True, capture_output=True)
"""
MODELS = ("single_feature", "listnet", "lambdarank")  # nothing, Numba, torch
LIMIT = 0.25  # processor seconds of the main process a job


def run(folder: Path, cores: int) -> None:
    """Make the default run in `folder` and say what Snakemake's main process took of it."""
    copy_workflow(folder)
    command = [sys.executable, "-c", MAIN, "--cores", str(cores), "--quiet", "all"]
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    own, children = map(float, done.stdout.split()[-2:])
    each = own / len(jobs(folder))
    print(f"processor seconds: {own:.1f} of the main process, {each:.3f} a job; {children:.1f} of the jobs\n")
    if each > LIMIT:
        sys.exit(f"more than {LIMIT} a job")


def forking(folder: Path) -> None:
    """Processor seconds of five folds, the processes that jobs are forked off included."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for model in MODELS:
        took = {}
        for fork in ("no", "yes"):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            own = {"PYTHONPATH": str(folder / "src"), "GRADRANK_FORK": fork, "PATH": path}
            subprocess.run([sys.executable, "-c", FOLDS, model], cwd=folder, env=os.environ | own, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took[fork] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        ratio = took["yes"] / took["no"]
        print(f"five folds of {model}: forked {took['yes']:.1f}, else {took['no']:.1f}, {ratio:.2f} times")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--cores", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.folder is not None:
        tell(arguments.folder, arguments.cores)
        return
    with tempfile.TemporaryDirectory(prefix="gradrank-run-") as name:
        run(Path(name), arguments.cores)
        forking(Path(name))
        tell(Path(name), arguments.cores)


def tell(folder: Path, cores: int) -> None:
    """Print where the wall time of the run in `folder` went."""
    found = jobs(folder)
    if not found:
        sys.exit(f"{folder}: no finished run here; run `snakemake --cores 2` first")
    first, last = min(start for _, start, _ in found), max(end for *_, end in found)
    planning = seconds(
        sys.executable,
        "-c",
        "import snakemake.cli; from gradrank.pipeline.params import load; load()",
    )
    wall = last - first + planning
    trained = training_seconds(folder / "results")
    compute = sum(trained.values())
    busy = dict.fromkeys(sorted({rule for rule, *_ in found}), 0.0)
    count = dict.fromkeys(busy, 0)
    for rule, start, end in found:
        busy[rule] += end - start
        count[rule] += 1
    startup = {"train": busy["train"] - compute}
    for rule, modules in IMPORTS.items():
        if rule in busy:
            startup[rule] = min(busy[rule], count[rule] * seconds(sys.executable, "-c", f"import {modules}"))
    print(f"{'rule':14}{'jobs':>6}{'busy s':>10}{'start-up s':>12}")
    for rule in busy:
        print(f"{rule:14}{count[rule]:6}{busy[rule]:10.1f}{startup.get(rule, 0):12.1f}")
    print("\ntraining, all folds:", ", ".join(f"{model} {took:.1f} s" for model, took in trained.items()))
    capacity = wall * cores
    python = sum(startup.values())
    idle = capacity - sum(busy.values())
    print(f"\nwall {wall:.1f} s x {cores} cores = {capacity:.1f} core seconds")
    own = capacity - python - idle
    print(f"  jobs' own compute        {own:8.1f}  {own / capacity:6.1%}")
    print(f"  Start-up, at most        {python:8.1f}  {python / capacity:6.1%}")
    print(f"  Snakemake and idle cores {idle:8.1f}  {idle / capacity:6.1%}")


if __name__ == "__main__":
    main()
