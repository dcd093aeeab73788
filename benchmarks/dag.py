"""Measure the seconds to plan a run of 10,000 training jobs: 40 systems, 50 variants per system, five folds.

    python benchmarks/dag.py [--variants 50] [--systems 40] [--profile FILE]

A copy of the workflow gets a params.yaml that sweeps every system over its selection measure. The run is a dry run, so
that no model is trained. FILE receives the profile of the planning process, for `python -m pstats`.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from gradrank.training.registry import models

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 60  # seconds, as docs/scale.md promises


def copy_workflow(folder: Path) -> None:
    """Copy the workflow of the checkout into `folder`, without results."""
    for name in ("workflow", "profiles"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("Snakefile", "params.yaml"):
        shutil.copy(ROOT / name, folder)
    (folder / "src").symlink_to(ROOT / "src")


def sweep(folder: Path, systems: int, variants: int) -> None:
    """Write a params.yaml with one sweep of `variants` values for each of the first `systems` models."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    measures = ["map", *(f"ndcg@{k}" for k in range(1, variants))]
    swept = [name for name, cls in models().items() if "select_by" in cls.Params.model_fields][:systems]
    params["models"] = {name: {"select_by": measures} for name in swept}
    params["run"] = {"datasets": ["synthetic_net"], "models": swept}
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--variants", type=int, default=50)
    arguments.add_argument("--systems", type=int, default=40)
    arguments.add_argument("--profile", type=Path)
    options = arguments.parse_args()
    profile = ["-m", "cProfile", "-o", str(options.profile.resolve())] if options.profile else []
    with tempfile.TemporaryDirectory(prefix="gradrank-dag-") as name:
        folder = Path(name)
        copy_workflow(folder)
        sweep(folder, options.systems, options.variants)
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, *profile, "-m", "snakemake", "--dry-run", "--quiet", "rules", "--cores", "1"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(folder / "src")},
            capture_output=True,
            text=True,
        )
        seconds = time.perf_counter() - started
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    jobs = {rule: int(count) for rule, count in re.findall(r"^(\w+)\s+(\d+)$", done.stdout + done.stderr, re.M)}
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{jobs['train']:,} training jobs, {jobs['total']:,} jobs")
    print(f"planned in {seconds:.1f} s, {usage.ru_utime + usage.ru_stime:.1f} CPU s, {usage.ru_maxrss / 1e6:.2f} GB")
    if seconds > LIMIT:
        sys.exit(f"more than {LIMIT} s")


if __name__ == "__main__":
    main()
