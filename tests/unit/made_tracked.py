"""Finished results of small models, and functions that read the MLflow runs of their import."""

import shutil
from pathlib import Path

import numpy as np
import polars as pl

from gradrank.base.files import read_json, write_json
from gradrank.models.single_feature import SingleFeature

FOLDS, STEPS, FEATURES, SHA = 3, 100, 5, "ab" * 32
MODELS = ["baseline", "single_feature"]
PARAMS = {"evaluation": {"convention": "letor4"}, "datasets": {"toy": {"queries": 12}}}


def per_query(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    keys = [
        {"convention": convention, "fold": fold, "split": split, "qid": qid}
        for convention in ("standard", "letor4")
        for fold in range(1, FOLDS + 1)
        for split in ("train", "test")
        for qid in range(4 + fold)
    ]
    values = {"ndcg@10": rng.random(len(keys)), "map": rng.random(len(keys))}
    return pl.DataFrame(keys, schema_overrides={"fold": pl.Int8}).hstack(pl.DataFrame(values))


def make_results(results: Path, models: list[str] = MODELS, dataset: str = "toy") -> Path:
    """Write the results of `models`. The model of fold k ranks by feature k in ascending order."""
    for seed, model in enumerate(models):
        for fold in range(1, FOLDS + 1):
            folder = results / dataset / "methods" / model / f"fold{fold}"
            (folder / "model").mkdir(parents=True)
            SingleFeature(feature=fold - 1, sign=-1).save(folder / "model")
            params = {"criterion": "map", "grid": {"C": [0.5, 2.0]}, "device": None}
            versions = {"gradrank": "0.1.0", "python": "3.11.7", "torch": "2.13.0+cpu"}
            spec = {"model": "single_feature", "params": params, "features": FEATURES, "seed": 7, "data_sha256": SHA}
            spec |= {"processor": "x86-64-v3", "versions": versions}
            write_json(folder / "spec.json", spec)
            timing = {"seconds": 1.5, "fit_seconds": 0.5 * fold, "peak_memory_mb": 100 * fold}
            write_json(folder / "timing.json", timing)
            history = pl.DataFrame({"step": range(1, STEPS + 1)}).with_columns(vali_map=fold / pl.col("step"))
            sparse = pl.when(pl.col("step") % 50 == 0).then(pl.col("vali_map")).alias("vali_ndcg@10")
            history.with_columns(sparse).write_parquet(folder / "history.parquet")
        per_query(seed).write_parquet(results / dataset / "methods" / model / "per_query.parquet")
    return results


def add_seed(method: Path, seed: int) -> None:
    """Copy the folds and values of `method`, which have seed 7, as if it had also been trained with `seed`."""
    for fold in sorted(method.glob("fold*")):
        shutil.copytree(fold, fold / f"seed{seed}")
        write_json(fold / f"seed{seed}/spec.json", read_json(fold / "spec.json") | {"seed": seed})
        shutil.copytree(fold / f"seed{seed}", fold / "seed99")  # a seed that is not in the values per query
    first = pl.read_parquet(method / "per_query.parquet")
    other = first.with_columns(pl.col("ndcg@10") + 0.5)
    seeds = [table.with_columns(seed=pl.lit(number)) for number, table in ((7, first), (seed, other))]
    pl.concat(seeds).write_parquet(method / "per_query.parquet")


def client(uri: str):
    from mlflow import MlflowClient

    return MlflowClient(uri)


def experiment(uri: str) -> str:
    return client(uri).get_experiment_by_name("gradrank").experiment_id


def all_runs(uri: str) -> dict[str, list]:
    """Return the runs by name."""
    found: dict[str, list] = {}
    for run in client(uri).search_runs([experiment(uri)]):
        found.setdefault(run.info.run_name, []).append(run)
    return found


def tree(uri: str) -> dict[str, str | None]:
    """Return the name of each run's parent; fail if two runs have one name or a run is unfinished."""
    runs = {name: run for name, (run,) in all_runs(uri).items()}
    assert {run.info.status for run in runs.values()} == {"FINISHED"}
    names = {run.info.run_id: name for name, run in runs.items()}
    return {name: names.get(run.data.tags.get("mlflow.parentRunId")) for name, run in runs.items()}


def all_models(uri: str) -> list:
    return list(client(uri).search_logged_models([experiment(uri)]))


def artifacts(uri: str, run_id: str, path: str | None = None) -> set[str]:
    found: set[str] = set()
    for entry in client(uri).list_artifacts(run_id, path):
        found |= artifacts(uri, run_id, entry.path) if entry.is_dir else {entry.path}
    return found
