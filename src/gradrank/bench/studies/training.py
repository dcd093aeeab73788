"""Jobs that train a method again on all folds of a data set, and the values per query that they return."""

import tempfile
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.bench.folds.job import train
from gradrank.bench.folds.per_query import QueryValues, mean_over_seeds
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import Convention, resolve
from gradrank.measures.judgements import read_judgements
from gradrank.measures.metrics import compute
from gradrank.measures.score_files import read_scores
from gradrank.training.fold_folder import FoldFolder

Job = Mapping[str, Any]


def train_folds(
    settings: Job, data: Path, metrics: Sequence[str], convention: str | Convention, without: Container[int] = ()
) -> list[dict[str, Any]]:
    """Train a method on each fold, and return the values of the test queries, one dict per fold.

    A dict has the query ids (`qids`) and a list of values per metric (`values`). Each fold is a training job like those
    of the workflow. settings: the settings of one training, as `training_jobs` of a study gets them. data: folder of
    all stored collections. convention: the convention of the returned values. without: the columns, from 0, of the
    features that are left out.
    """
    stored, selection = StoredCollection.open(data / settings["dataset"]), resolve(settings["convention"])
    pairs = data.parent / "pairs" / settings["dataset"] if settings["pairs"] else None
    folds = []
    with tempfile.TemporaryDirectory() as folder:
        for number, parts in enumerate(stored.folds, start=1):
            out = FoldFolder(Path(folder) / f"fold{number}")
            train(
                settings["model"],
                stored.path,
                number,
                settings["params"],
                settings["seed"],
                out.folder,
                pairs,
                convention=selection,
                without=without,
            )
            judged = read_judgements(stored, parts["test"])
            scores = read_scores(out.scores_path, judged)
            values = compute(metrics, scores, judged.labels, judged.offsets, convention, ids=judged.docids)
            folds.append(fold_result(judged.ids, values))
    return folds


def fold_result(qids: np.ndarray, values: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the values of one fold as plain data. A query without a value has None."""
    plain = {name: [None if np.isnan(value) else float(value) for value in own] for name, own in values.items()}
    return {"qids": qids.tolist(), "values": plain}


def values_of(jobs: Sequence[Job]) -> QueryValues:
    """Return the values per query of several jobs, which differ only in the seed. Each job has a list `folds`."""
    folds = jobs[0]["folds"]
    numbers = np.repeat(np.arange(1, len(folds) + 1), [len(fold["qids"]) for fold in folds])
    qids = np.concatenate([np.array(fold["qids"]) for fold in folds])
    seeds = [
        {
            name: np.concatenate([np.array(fold["values"][name], np.float64) for fold in job["folds"]])
            for name in folds[0]["values"]
        }
        for job in jobs
    ]
    return mean_over_seeds(numbers, qids, seeds)
