"""A small results/ folder with every file that a finished study leaves, filled with seeded random values."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gradrank.base.processor import form
from gradrank.base.stamps import write_sealed, write_stamp
from gradrank.bench.folds.job import reproducible_files
from gradrank.bench.results import MethodFolder
from gradrank.training.fold_folder import FoldFolder

METRICS = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "mean_ndcg", "map", "p@10")
RECALL = tuple(f"iprec@{tenth / 10}" for tenth in range(11))
CONVENTIONS = ("letor4", "standard")


def make_results(
    root: Path, dataset: str = "mq2007", models: tuple[str, ...] = ("lambdamart", "ranksvm"), queries: int = 7
) -> Path:
    """Write and return root/results/<dataset>; write the metadata of its collection. Folds differ in size."""
    rng = np.random.default_rng(len(dataset))
    folder = root / "results" / dataset
    sizes = [queries + fold for fold in range(5)]
    for model in models:
        frames = []
        for fold, size in enumerate(sizes, 1):
            make_fold(folder / "methods" / model / f"fold{fold}", model, dataset, fold, rng)
            for convention in CONVENTIONS:
                for split in ("vali", "test"):
                    values = {metric: rng.random(size) for metric in METRICS + RECALL}
                    columns = {"convention": convention, "fold": fold, "split": split}
                    frames.append(
                        pl.DataFrame({"qid": 100 * fold + np.arange(size)} | values).select(
                            *[pl.lit(value).alias(name) for name, value in columns.items()], pl.all()
                        )
                    )
        write_values(pl.concat(frames), folder / "methods" / model)
    write_meta(root / "data" / "parquet" / dataset / "collection.json", dataset, sizes)
    return folder


def write_values(frame: pl.DataFrame, folder: Path) -> None:
    """Write a method's per_query.parquet and its stamp."""
    method = MethodFolder(folder)
    frame.write_parquet(method.per_query_path)
    fields = {"conventions": list(CONVENTIONS), "metrics": list(METRICS), "inputs": {}, "code": "0" * 64}
    stamp = fields | {"versions": {"numpy": "2.4.0"}, "processor": form()}
    write_stamp(method.evaluation_path, stamp, [method.per_query_path])


def make_fold(folder: Path, model: str, dataset: str, number: int, rng: np.random.Generator) -> None:
    """Write all files of one fold."""
    fold = FoldFolder(folder)
    fold.model_path.mkdir(parents=True)
    (fold.model_path / "model.json").write_text(f'"{model} {number}"')
    steps = 20 + number
    history = {"step": np.arange(steps), "vali_ndcg@10": rng.random(steps), "train_loss": rng.random(steps)}
    pl.DataFrame(history).write_parquet(fold.history_path)
    scores = {"split": ["train", "vali", "test"], "score": [0.0, 0.0, float(number)]}
    pl.DataFrame(scores).write_parquet(fold.scores_path)
    timing = {"seconds": 2.0 + number, "fit_seconds": 1.0 + number, "peak_memory_mb": 300 + number}
    timing |= {"score_seconds": 0.002 * number, "scored_documents": 1000, "model_bytes": 1000 + 100 * number}
    fold.timing_path.write_text(json.dumps(timing))
    write_spec(fold, model=model, dataset=dataset, fold=number, params={"epochs": steps})


def write_spec(folder: FoldFolder, **fields: Any) -> None:
    """Write the stamp of a fold whose other files exist."""
    made_by = {"inputs": {}, "code": "0" * 64, "versions": {"numpy": "2.4.0"}, "processor": form()}
    write_stamp(folder.spec_path, {"seed": 2005} | fields | made_by, reproducible_files(folder))


def write_meta(path: Path, dataset: str, sizes: list[int]) -> None:
    """Write the metadata of a collection of five parts. sizes: queries per part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    labels = {"0": 300, "1": 100}
    counts = {"rows": 400, "labels": labels, "sha256": "ab" * 32}
    parts = {str(part): counts | {"queries": size} for part, size in enumerate(sizes, 1)}
    folds = [{"train": [1, 2, 3], "vali": [4], "test": [5]}] * len(sizes)
    meta = {"dataset": dataset, "rows": 400 * len(sizes), "queries": sum(sizes), "features": 46, "folds": folds}
    meta |= {"source_sha256": "ab" * 32, "parts": parts}
    write_sealed(path, meta)
