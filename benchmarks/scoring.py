"""Scoring: microseconds per document of trees and nets, and CPU seconds of `gradrank predict`, compared with LightGBM.

    python benchmarks/scoring.py [--rows 1000000] [--trees 100 300 500] [--repeats 3]

The model is LambdaMART with 31 leaves per tree on 136 features; the nets have one to three hidden layers. The first
table compares the method `score` of a model with Booster.predict and, for nets, with float32 products of NumPy, all on
the same array. The second table compares `gradrank predict` with a program that reads the same file with Polars, or
with the reader of LightGBM, and calls Booster.predict; each runs in its own process, and the program writes no scores.
One thread is used everywhere. Times are CPU seconds, the smallest of the repeats.
The last column is gradrank's time divided by that of the other program.
"""

import gradrank

gradrank.pin()  # before numpy

# isort: split
import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import lightgbm
import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from gradrank.models.lambdamart import LambdaMART
from gradrank.training.fold_folder import FoldFolder
from gradrank.training.nets.net import ROWS, Net
from gradrank.training.trained_fold import TrainedFold

FEATURES, QUERY = 136, 120  # features as in MSLR-WEB30K; documents per query
NAMES = [f"feature_{number}" for number in range(1, FEATURES + 1)]
HIDDEN = [(), (64,), (256, 128, 64)]
TRAINED = 24_000  # documents
ARRAY = 100_000  # documents of the first table
PEERS = {
    "Polars, Booster.predict": """
import sys, lightgbm, polars as pl
path, model = sys.argv[1:]
read = pl.read_csv if path.endswith(".csv") else pl.read_parquet
features = read(path).drop("qid").cast(pl.Float32).to_numpy()
lightgbm.Booster(model_file=model).predict(features, num_threads=1)
""",
    "LightGBM's reader": """
import sys, lightgbm
path, model = sys.argv[1:]
booster = lightgbm.Booster(model_file=model)
booster.predict(path, data_has_header=True, label_column="name:qid", num_threads=1)
""",
}


def random_features(rows: int, seed: int) -> np.ndarray:
    """Return (rows, FEATURES) float32 features: counts, flags and decimals, as in MSLR-WEB30K."""
    features = np.random.default_rng(seed).normal(size=(rows, FEATURES)).astype(np.float32)
    for kind in (0, 1):
        features[:, kind::5] = np.floor(np.exp((kind + 1) * features[:, kind::5]))
    features[:, 2::5] = features[:, 2::5] > 0
    return np.round(features, 4)


def lambdamart(trees: int) -> str:
    """Return the text of a LambdaMART model with `trees` trees."""
    features = random_features(TRAINED, 1)
    noise = np.random.default_rng(2).normal(size=TRAINED)
    grades = np.digitize(features[:, 3::5].sum(axis=1) / 5 + noise, [0.0, 1.0, 2.0, 3.0])
    settings = {"objective": "lambdarank", "num_leaves": 31, "num_threads": 1, "verbosity": -1, "seed": 1}
    data = lightgbm.Dataset(features, grades, group=[QUERY] * (TRAINED // QUERY), feature_name=NAMES)
    return lightgbm.train(settings, data, trees).model_to_string()


def net(hidden: tuple[int, ...]) -> Net:
    """Return a net with random weights."""
    rng, widths = np.random.default_rng(3), [FEATURES, *hidden, 1]
    weights = [(rng.normal(size=shape) / shape[0] ** 0.5).astype(np.float32) for shape in pairwise(widths)]
    return Net.of_layers(
        weights, [np.zeros(width, np.float32) for width in widths[1:]], np.zeros(FEATURES), np.ones(FEATURES)
    )


def cpu_seconds(call: Callable[[], object], repeats: int) -> float:
    """Return the smallest CPU time of several calls."""
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        call()
        seconds.append(time.process_time() - started)
    return min(seconds)


def show(what: str, own: float, other: str, seconds: float, rows: int) -> None:
    rate = f"{rows / own:12,.0f} rows/s {own / rows * 1e6:8.2f} us"
    print(f"{what:30} {rate}   {other:24} {seconds / rows * 1e6:8.2f} us   ratio {own / seconds:.2f}", flush=True)


def arrays(texts: dict[int, str], repeats: int) -> None:
    """Compare the scoring of an array."""
    features = random_features(ARRAY, 4)
    offsets = np.array([0, ARRAY])
    for trees, text in texts.items():
        model = LambdaMART([text])
        booster = model.boosters[0]
        own = cpu_seconds(lambda model=model: model.score(features, offsets), repeats)
        peer = cpu_seconds(lambda booster=booster: booster.predict(features, num_threads=1), repeats)
        show(f"lambdamart, {trees} trees", own, "Booster.predict", peer, ARRAY)
    for hidden in HIDDEN:
        model = net(hidden)

        def products(model: Net = model) -> None:
            *hidden, last = model.layers or []
            for start in range(0, ARRAY, ROWS):
                x = ((features[start : start + ROWS] - model.mean) / model.scale).astype(np.float32)
                for weights, biases, _ in hidden:
                    x = np.maximum(x @ weights + biases, 0.0)
                x @ last.weights + last.biases  # the scores

        model.scores(features[:10])  # compiles
        own = cpu_seconds(lambda model=model: model.scores(features), repeats)
        with threadpool_limits(1):
            peer = cpu_seconds(products, repeats)
        show(f"net, {'-'.join(map(str, hidden)) or 'no'} hidden units", own, "products of NumPy", peer, ARRAY)


def process_seconds(command: list[str | Path], repeats: int) -> float:
    """Run a command several times and return its smallest CPU time. Exits this program if the command fails."""
    one_thread = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    seconds = []
    for _ in range(repeats):
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, env=os.environ | one_thread)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"exit status {process.returncode}: {command}")
        seconds.append(usage.ru_utime + usage.ru_stime)
    return min(seconds)


def write_fold(text: str, folder: Path) -> None:
    """Write a trained fold with the LambdaMART model `text`, as the workflow stores one."""
    folder.mkdir()
    spec = {"model": "lambdamart", "features": FEATURES, "names": NAMES, "missing": "keep"}
    TrainedFold(LambdaMART([text]), spec).save(FoldFolder(folder))


def files(texts: dict[int, str], rows: int, repeats: int, folder: Path) -> None:
    """Compare `gradrank predict` with other programs on files."""
    frame = pl.DataFrame(random_features(rows, 5), schema=NAMES)
    frame.insert_column(0, pl.Series("qid", np.arange(rows) // QUERY))
    frame.write_parquet(folder / "new.parquet")
    frame.write_csv(folder / "new.csv")
    del frame
    for trees, text in texts.items():
        fold, model = folder / f"fold{trees}", folder / f"{trees}.txt"
        write_fold(text, fold)
        model.write_text(text, encoding="utf-8")
        for path in (folder / "new.parquet", folder / "new.csv"):
            predict = [sys.executable, "-m", "gradrank", "predict", "--model", fold, "--input", path]
            own = process_seconds([*predict, "--out", folder / "scores.txt"], repeats)
            for name, program in PEERS.items():
                if path.suffix == ".csv" or "Polars" in name:
                    peer = process_seconds([sys.executable, "-c", program, path, model], repeats)
                    show(f"predict, {path.suffix[1:]}, {trees} trees", own, name, peer, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--trees", type=int, nargs="+", default=[100, 300, 500])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    models = {trees: lambdamart(trees) for trees in options.trees}
    arrays(models, options.repeats)
    with tempfile.TemporaryDirectory(prefix="gradrank-scoring-") as name:
        files(models, options.rows, options.repeats, Path(name))
