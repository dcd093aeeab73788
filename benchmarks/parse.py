"""MB/s and peak memory of converting LETOR text to checked Parquet, compared with other readers.

    python benchmarks/parse.py [LETOR file] [--times 1 10] [--repeats 3]

By default, the file is MQ2007's Fold1/train.txt from the archive in GRADRANK_MIRROR, or generated data of the same
shape. `--times` repeats it with new query ids. Each reader runs in its own process, which first reads a small file. The
best repeat counts, and a reader that takes longer than a minute is stopped. MB/s refer to wall-clock time; on a busy
machine, MB per CPU second are more meaningful.

gradrank has three rows: `scan_letor` into memory, like most peers; `scan_letor` to a Parquet file, like the Polars row;
and the parse stage of the workflow, which also divides the queries into five files and computes checksums of the text
and of these files. Only gradrank checks every token. The column "gradrank is" compares a peer with the row of gradrank
that does the same work. LightGBM reads neither qid nor comments, and CatBoost reads no comments: they get files without
them, to which their MB/s refer. LightGBM's time includes its binning.
"""

import gradrank

gradrank.pin()  # before numpy

# isort: split
import argparse
import importlib.util
import json
import os
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import numpy as np

from gradrank.base import processor


def scan_letor(file: Path) -> None:
    import gradrank

    gradrank.scan_letor(file).collect()


def scan_and_sink(file: Path) -> None:
    import gradrank

    gradrank.scan_letor(file).sink_parquet(file.with_suffix(".parquet"), compression="lz4", statistics=False)


def parse(file: Path) -> None:
    from gradrank.data import parse

    parse.parse(file, file.with_suffix(".stored"), seed=0, dataset="benchmark")


def scikit_learn(file: Path) -> None:
    from sklearn.datasets import load_svmlight_file

    load_svmlight_file(file, query_id=True)


def pandas(file: Path) -> None:
    import pandas as pd

    frame = pd.read_csv(file, sep=" ", header=None, comment="#").dropna(axis=1, how="all")
    np.column_stack([frame[c].str.partition(":")[2].astype(np.float32) for c in frame.columns[1:]])


def polars(file: Path) -> None:
    import polars as pl

    with file.open() as stream:
        width = len(re.findall(r" \d+:", stream.readline().split("#")[0]))
    lines = pl.scan_csv(file, has_header=False, separator="\x01", quote_char=None, new_columns=["line"])
    tokens = lines.select(pl.col("line").str.split_exact(" ", width + 1)).unnest("line")
    values = [
        pl.col(f"field_{k}").str.split_exact(":", 1).struct[1].cast(pl.Float32).alias(f"f{k - 1}")
        for k in range(2, width + 2)
    ]
    tokens.select("field_0", "field_1", *values).sink_parquet(file.with_suffix(".polars.parquet"))


def lightgbm(file: Path) -> None:
    import lightgbm as lgb

    lgb.Dataset(file, params={"num_threads": 2, "verbose": -1}).construct()


def xgboost(file: Path) -> None:
    import xgboost as xgb

    xgb.DMatrix(f"{file}?format=libsvm")


def catboost(file: Path) -> None:
    from catboost import Pool

    Pool(f"libsvm://{file}")


GRADRANK = [scan_letor, scan_and_sink, parse]
READERS = [*GRADRANK, scikit_learn, pandas, polars, lightgbm, xgboost, catboost]
PACKAGES = {"scikit_learn": "sklearn"} | {reader.__name__: "gradrank" for reader in GRADRANK}
# The row of gradrank that a reader is compared with; by default scan_letor.
LIKE = {"polars": "scan_and_sink", "parse": "parse", "scan_and_sink": "scan_and_sink"}
REFUSED = {"lightgbm": rb" qid:\d+| *#.*", "catboost": rb" *#.*"}
LIMIT = 60  # seconds per reader and file


def source_file(folder: Path) -> Path:
    """Write MQ2007's Fold1/train.txt, or generated data of its shape, into `folder` and return the path."""
    file, mirror = folder / "train.txt", os.environ.get("GRADRANK_MIRROR")
    archive = Path(mirror, "MQ2007-complete.tar.xz") if mirror else None
    if archive and archive.is_file():
        with tarfile.open(archive) as members:
            file.write_bytes(members.extractfile("MQ2007/Fold1/train.txt").read())
        return file
    rng = np.random.default_rng(0)
    with file.open("w") as stream:
        for row, values in enumerate(rng.random((42158, 46)) * (rng.random((42158, 46)) < 0.6)):
            features = " ".join(f"{number}:{value:.6f}" for number, value in enumerate(values, start=1))
            stream.write(f"{row % 3} qid:{row // 41} {features} #docid = D{row} inc = 1 prob = 0.0246906\n")
    return file


def repeated(file: Path, times: int, folder: Path) -> Path:
    """Write the rows `times` times, with different query ids, and return the path."""
    text, out = file.read_bytes(), folder / f"times{times}.txt"
    with out.open("wb") as stream:
        for k in range(times):
            stream.write(re.sub(rb"qid:(\d+)", lambda m, k=k: b"qid:%d" % (int(m[1]) * times + k), text))
    return out


def measure(name: str, small: Path, file: Path) -> None:
    """Read the file and print seconds, CPU seconds and peak memory in MB, as JSON."""
    read = globals()[name]
    read(small)
    start, cpu = time.perf_counter(), time.process_time()
    read(file)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(json.dumps([seconds, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("file", type=Path, nargs="?")
    arguments.add_argument("--times", type=int, nargs="+", default=[1, 10])
    arguments.add_argument("--repeats", type=int, default=3)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = options.file or source_file(folder)
        small = folder / "small.txt"
        small.write_bytes(b"".join(first.open("rb").readlines()[:500]))
        for times in options.times:
            compare(repeated(first, times, folder), small, options.repeats)


def compare(file: Path, small: Path, repeats: int) -> None:
    """Print a line per reader. small: the file of the warm-up."""
    print(f"\n{file.stat().st_size / 1e6:.1f} MB of text; instruction set: {processor.form()}")
    print(f"{'reader':14}{'MB/s':>8}{'gradrank is':>14}{'MB/CPU s':>11}{'gradrank is':>14}{'peak MB':>10}")
    speeds_of = {}
    for name in (reader.__name__ for reader in READERS):
        if importlib.util.find_spec(PACKAGES.get(name, name)) is None:
            print(f"{name:14}  not installed: skipped")
            continue
        files = [stripped(path, name) for path in (small, file)]
        call = [sys.executable, __file__, "--measure", name, *files]
        try:
            outputs = [subprocess.run(call, stdout=subprocess.PIPE, check=True, timeout=LIMIT) for _ in range(repeats)]
        except subprocess.TimeoutExpired:
            print(f"{name:14}  stopped after {LIMIT} s")
            continue
        seconds, cpu, peak = zip(*(json.loads(output.stdout.splitlines()[-1]) for output in outputs), strict=True)
        speeds = [files[1].stat().st_size / 1e6 / min(times) for times in (seconds, cpu)]
        speeds_of[name] = speeds
        columns = "".join(
            f"{speed:{width}.0f}{reference / speed:13.1f}x"
            for reference, speed, width in zip(
                speeds_of.get(LIKE.get(name, "scan_letor"), (np.nan, np.nan)), speeds, (8, 11), strict=True
            )
        )
        print(f"{name:14}{columns}{max(peak):10.0f}", flush=True)


def stripped(file: Path, reader: str) -> Path:
    """Return a copy without the tokens that this reader rejects, or the file itself if it accepts all."""
    if reader not in REFUSED:
        return file
    out = file.with_suffix(f".{reader}")
    if not out.exists():
        with file.open("rb") as rows, out.open("wb") as stream:
            stream.writelines(re.sub(REFUSED[reader], b"", row) for row in rows)
    return out


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
    else:
        main()
