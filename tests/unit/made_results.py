"""A small results/ folder with every file that a finished study leaves, filled with seeded random values."""

import json
from pathlib import Path

import numpy as np
import polars as pl

METRICS = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "mean_ndcg", "map", "p@10")
RECALL = tuple(f"iprec@{tenth / 10}" for tenth in range(11))
CONVENTIONS = ("letor4", "standard")


def make_results(
    root: Path, dataset: str = "mq2007", models: tuple[str, ...] = ("lambdamart", "ranksvm"), queries: int = 7
) -> Path:
    """Write root/results/<dataset>/ (returned) and what describes root/data/parquet/<dataset>; folds differ in size."""
    rng = np.random.default_rng(len(dataset))
    folder = root / "results" / dataset
    sizes = [queries + fold for fold in range(5)]
    for model in models:
        frames = []
        for fold, size in enumerate(sizes, 1):
            make_fold(folder / model / f"fold{fold}", model, dataset, fold, rng)
            for convention in CONVENTIONS:
                for split in ("vali", "test"):
                    values = {metric: rng.random(size) for metric in METRICS + RECALL}
                    columns = {"convention": convention, "fold": fold, "split": split}
                    frames.append(
                        pl.DataFrame({"qid": 100 * fold + np.arange(size)} | values).select(
                            *[pl.lit(value).alias(name) for name, value in columns.items()], pl.all()
                        )
                    )
        pl.concat(frames).write_parquet(folder / model / "per_query.parquet")
    write_meta(root / "data" / "parquet" / dataset / "collection.json", dataset, sizes)
    return folder


def make_fold(folder: Path, model: str, dataset: str, fold: int, rng: np.random.Generator) -> None:
    folder.mkdir(parents=True)
    steps = 20 + fold
    history = {"step": np.arange(steps), "vali_ndcg@10": rng.random(steps), "train_loss": rng.random(steps)}
    pl.DataFrame(history).write_parquet(folder / "history.parquet")
    timing = {"seconds": 2.0 + fold, "fit_seconds": 1.0 + fold, "peak_memory_mb": 300 + fold}
    timing |= {"score_seconds": 0.002 * fold, "scored_documents": 1000, "model_bytes": 1000 + 100 * fold}
    (folder / "timing.json").write_text(json.dumps(timing))
    spec = {
        "model": model,
        "dataset": dataset,
        "fold": fold,
        "params": {"epochs": steps},
        "seed": 2005,
        "versions": {"numpy": "2.4.0"},
    }
    (folder / "spec.json").write_text(json.dumps(spec))


def write_meta(path: Path, dataset: str, sizes: list[int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    labels = {"0": 300, "1": 100}
    parts = {
        str(part): {"rows": 400, "queries": size, "labels": labels} for part, size in enumerate(sizes, 1)
    }
    meta = {
        "dataset": dataset,
        "rows": 400 * len(sizes),
        "queries": sum(sizes),
        "features": 46,
        "source_sha256": "ab" * 32,
        "parts": parts,
        "folds": [{"train": [1, 2, 3], "vali": [4], "test": [5]}] * len(sizes),
    }
    path.write_text(json.dumps(meta))
