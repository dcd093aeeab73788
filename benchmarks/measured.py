"""Helpers of the benchmarks that write JSON: processor seconds of child processes, growth, and the record itself.

A record is one file in benchmarks/results/. `benchmarks/performance_page.py` makes docs/performance.md from them.
"""

import argparse
import atexit
import io
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results"
SOURCE = ROOT / "src"
PACKAGES = ("numpy", "scipy", "polars", "numba", "torch", "lightgbm", "mlflow", "pyarrow")
ONE_THREAD = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
ONE_THREAD |= {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
OF_PEERS = ("allrank", "rax", "jax", "torch", "ranx", "pytrec_eval-terrier")


def parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options `--before`, `--peers` and `--record`."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--before", help="commit of an earlier version, which is measured in the same run")
    options.add_argument("--peers", default=sys.executable, help="Python of the environment with the other packages")
    options.add_argument("--record", action="store_true", help="write the values to benchmarks/results")
    return options


@cache
def versions_of(before: str | None) -> dict[str, Path]:
    """Return the folders `src` that are measured: that of the commit `before`, if it is given, and that of this
    checkout, `after`.
    """
    if before is None:
        return {"after": SOURCE}
    folder = tempfile.mkdtemp(prefix="gradrank-before-")
    atexit.register(shutil.rmtree, folder)
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", before, "src"], stdout=subprocess.PIPE, check=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return {"before": Path(folder, "src"), "after": SOURCE}


def processor_seconds(command: Sequence[object], source: Path = SOURCE, repeats: int = 3) -> float:
    """Return the smallest user and system time of several runs of a command. Exits if the command fails."""
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": str(source)}
    seconds = []
    for _ in range(repeats):
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"exit status {process.returncode}: {command}")
        seconds.append(usage.ru_utime + usage.ru_stime)
    return min(seconds)


def printed_values(command: Sequence[object], source: Path = SOURCE) -> dict[str, float]:
    """Return the JSON object that a command prints as its last line."""
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": str(source)}
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, env=environment, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def is_installed(python: str, package: str) -> bool:
    """Return whether a Python environment has a package. If not, print that the package is skipped."""
    found = subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False).returncode == 0
    if not found:
        print(f"{package}: not installed in {python}, skipped")
    return found


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope of log(seconds) over log(size) by least squares: 1 for linear growth, 2 for quadratic growth."""
    x, y = [math.log(size) for size in sizes], [math.log(second) for second in seconds]
    centre = sum(x) / len(x)
    return sum((a - centre) * b for a, b in zip(x, y, strict=True)) / sum((a - centre) ** 2 for a in x)


def record(
    name: str,
    title: str,
    size: str,
    values: Mapping[str, Mapping[float, float]],
    notes: Sequence[str],
    options: argparse.Namespace,
) -> None:
    """Print the values of one benchmark, and write them to benchmarks/results/<name>.json with the option `--record`.

    size: meaning of the sizes. values: seconds by size, for each tool. notes: sentences for the page. options: those of
    `parser`.
    """
    last = values["after"]
    lines = {}
    for tool, seconds in values.items():
        largest = max(seconds)
        ratio = seconds[largest] / last[largest] if largest in last else None
        growth = slope(list(seconds), list(seconds.values())) if len(seconds) > 1 else None
        lines[tool] = {"seconds": {str(key): round(value, 4) for key, value in seconds.items()}}
        lines[tool] |= {"ratio": ratio and round(ratio, 2), "slope": growth and round(growth, 2)}
        print(f"{title}: {tool:24} {lines[tool]}", flush=True)
    content = {"title": title, "size": size, "tools": lines, "notes": list(notes)} | environment(options)
    if options.record:
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def environment(options: argparse.Namespace) -> dict[str, object]:
    """Return the script, the commit `before`, the date, the machine and the versions."""
    names = (line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines())
    processor = next((value.strip() for key, _, value in names if key.strip() == "model name"), platform.processor())
    versions = {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}
    if options.peers != sys.executable:
        versions |= {f"{name} (other environment)": found for name, found in _versions_of_peers(options.peers).items()}
    machine = f"{processor}, {os.cpu_count()} cores, {platform.system()}"
    script = f"benchmarks/{Path(sys.argv[0]).name}"
    values = {"script": script, "before": options.before, "date": date.today().isoformat()}
    return values | {"machine": machine, "versions": versions}


def _versions_of_peers(python: str) -> dict[str, str]:
    """Return the versions of the packages of OF_PEERS that an environment has."""
    code = f"""
import importlib.metadata, json
installed = {{each.metadata["Name"].lower(): each.version for each in importlib.metadata.distributions()}}
print(json.dumps({{name: installed[name] for name in {OF_PEERS!r} if name in installed}}))
"""
    return json.loads(subprocess.run([python, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout)
