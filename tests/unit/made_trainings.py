"""A small collection with features, and variants of the 2005 study that are trained on it for a few epochs."""

from pathlib import Path

import numpy as np
import polars as pl

from gradrank.bench.config.params import load
from gradrank.bench.folds.job import train
from gradrank.bench.parts import write_job
from gradrank.bench.results import Results
from gradrank.bench.studies.study import Inputs
from made_collection import store
from studies.ranknet2005.experiments import run_job

PARAMS = load(Path(__file__).parents[2] / "params.yaml")
DATASET, EPOCHS, SEED = "mq2007", 3, 2005
QUERIES, DOCUMENTS, FEATURES = 4, 17, 3  # queries per part, documents per query
FOLDS = [
    {"train": [k % 5 + 1, (k + 1) % 5 + 1, (k + 2) % 5 + 1], "vali": [(k + 3) % 5 + 1], "test": [(k + 4) % 5 + 1]}
    for k in range(5)
]


def make_collection(folder: Path) -> None:
    """Store five parts. Grades are quantiles of a noisy linear form, so that every query has pairs."""
    rng = np.random.default_rng(1)
    parts = {}
    for part in range(1, 6):
        x = rng.normal(size=(QUERIES * DOCUMENTS, FEATURES)).astype(np.float32)
        value = x @ [2.0, -1.0, 0.5] + rng.normal(size=len(x))
        frame = {
            "qid": np.repeat(np.arange(QUERIES) + QUERIES * part, DOCUMENTS),
            "label": np.digitize(value, np.quantile(value, [0.5, 0.8])).astype(np.int8),
            "docid": [f"D{part}.{row}" for row in range(len(x))],
        }
        parts[part] = pl.DataFrame(frame | {f"f{j + 1}": x[:, j] for j in range(FEATURES)})
    store(folder, parts, folds=FOLDS, features=FEATURES, source_sha256="0" * 64)


def make_trainings(root: Path, settings: dict) -> Inputs:
    """Train `settings["models"]`, and run their jobs: every further seed, and fewer queries for some methods."""
    data = root / "data" / "parquet"
    make_collection(data / DATASET)
    results = Results(root / "results")
    inputs = Inputs(results.folder, data, results.study("ranknet2005").folder, settings)
    for method in settings["models"]:
        variant = PARAMS.models[method]
        params = variant.params | {"epochs": EPOCHS}
        job = {"dataset": DATASET, "method": method, "model": variant.model, "params": params}
        for number in range(1, len(FOLDS) + 1):
            out = results.dataset(DATASET).method(method).fold(number).folder
            train(variant.model, data / DATASET, number, params, SEED, out)
        more = method == settings["models"][0]  # the first method also has a seed that the study ignores
        further = [{"seed": seed, "queries": None} for seed in range(2, settings["seeds"] + 1 + more)]
        if method in settings["fewer"]["methods"]:
            further += [{"seed": seed, "queries": 5} for seed in range(1, settings["fewer"]["seeds"] + 1)]
        for own in further:
            name = f"{DATASET}-{method}-{own['queries']}-{own['seed']}"
            write_job(inputs.folder / "jobs" / f"{name}.json", run_job(job | own, data, SEED))
    return inputs
