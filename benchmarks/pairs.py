"""Measure the time and peak memory of crucial pairs on generated labels of MQ2007's size and 100 times that size.

    python benchmarks/pairs.py

Each measurement has its own process, so that its peak of memory includes no other. Times exclude imports and
compilation. The plain version compares all documents of a query with each other in NumPy, query by query, and keeps all
pairs in memory until they are written.
"""

from gradrank.base.files import sha256, write_json
from gradrank.data.pair_files import pairs as write_pairs
from gradrank.data.pairs import crucial_pairs  # before numpy
from gradrank.data.part_files import COLLECTION

# isort: split
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

QUERIES, DOCUMENTS, GRADES = 1692, 41, (0.742, 0.203, 0.055)  # MQ2007: 69,623 rows, its share of each grade


def collection(path: Path, times: int) -> None:
    """Write labels of `times` times the size of MQ2007, drawn with its share of each grade."""
    queries = QUERIES * times
    labels = np.random.default_rng(0).choice(3, queries * DOCUMENTS, p=GRADES).astype(np.int16)
    qid = np.repeat(np.arange(queries), DOCUMENTS)
    pl.DataFrame({"qid": qid, "label": labels}).write_parquet(path / "part1.parquet")
    part = {"rows": len(labels), "queries": queries, "sha256": sha256(path / "part1.parquet")}
    write_json(path / COLLECTION, {"parts": {"1": part}})


def plain(collection: Path, out: Path) -> None:
    """Write the pairs of a stored collection with the plain version."""
    labels = pl.read_parquet(collection / "part1.parquet")["label"].to_numpy().astype(np.int64)
    columns = []
    for query, start in enumerate(range(0, len(labels), DOCUMENTS)):
        y = labels[start : start + DOCUMENTS]
        better, worse = np.nonzero(y[:, None] > y[None, :])
        where = (better + start).astype(np.int32), (worse + start).astype(np.int32)
        columns.append((np.full(len(better), query, np.int32), *where))
    names = ("query", "better", "worse")
    out.mkdir(exist_ok=True)
    pairs = pl.DataFrame(dict(zip(names, map(np.concatenate, zip(*columns, strict=True)), strict=True)))
    pairs.with_columns(target=pl.lit(1.0), weight=pl.lit(1.0)).write_parquet(out / "part1.parquet")


VERSIONS = {"gradrank": write_pairs, "plain NumPy": plain}


def measure(version: str, collection: Path, out: Path) -> None:
    """Print as JSON: seconds of one run, and the peak memory in MB before and after it."""
    crucial_pairs(np.array([0, 1]), np.array([0, 2]))  # compiles, or loads what was compiled
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    VERSIONS[version](collection, out)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps([seconds, before / 1024, peak / 1024]))


def run(*arguments: object) -> str:
    """Run this script in a new process and return its output."""
    command = [sys.executable, __file__, *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def main() -> None:
    print(f"{'size':>5} {'version':<12} {'pairs':>11} {'seconds':>8} {'peak MB':>8} {'of which imports':>17}")
    with tempfile.TemporaryDirectory() as folder:
        for times in (1, 100):
            stored, seconds = Path(folder, str(times)), {}
            stored.mkdir()
            run("collection", stored, times)
            for version in VERSIONS:
                out = Path(folder, "pairs")
                seconds[version], before, peak = json.loads(run(version, stored, out))
                pairs = pl.scan_parquet(out / "part1.parquet").select(pl.len()).collect().item()
                row = f"{pairs:>11,} {seconds[version]:>8.3f} {peak:>8.0f} {before:>17.0f}"
                print(f"{times:>4}x {version:<12} {row}")
            print(f"{'':>5} ratio {seconds['plain NumPy'] / seconds['gradrank']:.1f}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            main()
        case ["collection", path, times]:
            collection(Path(path), int(times))
        case [version, stored, out]:
            measure(version, Path(stored), Path(out))
