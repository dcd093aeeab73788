"""The jobs of the study: one training of a method on all folds of a data set, without a group of features."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.results import FoldFolder
from gradrank.data.feature_columns import feature_columns
from gradrank.data.stored import StoredCollection
from gradrank.evaluation.conventions import resolve
from gradrank.evaluation.judgements import read_judgements
from gradrank.evaluation.metrics import compute
from gradrank.evaluation.score_files import read_scores
from gradrank.training.job import train

METRICS = ("ndcg@10", "map")


def run_job(settings: Mapping[str, Any], data: Path, seed: int) -> dict[str, Any]:
    """Run one job and return the values of METRICS for the test queries of each fold.

    Each fold is a training job like those of the workflow. The features are left out when the data are read. settings:
    one of the values that `training_jobs` returns; the seed of the trainings is among them. Raises GradrankError if the
    data do not have a feature, or if no feature is left.
    """
    stored, convention = StoredCollection.open(data / settings["dataset"]), resolve(settings["convention"])
    columns = left_out(stored, settings)
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
                convention=convention,
                without=columns,
            )
            judged = read_judgements(stored, parts["test"])
            scores = read_scores(out.scores_path, judged)
            values = compute(METRICS, scores, judged.labels, judged.offsets, convention, ids=judged.docids)
            folds.append({"qids": judged.ids.tolist(), "values": {name: _plain(values[name]) for name in METRICS}})
    about = {key: settings[key] for key in ("dataset", "method", "group", "seed", "convention")}
    return about | {"left_out": len(columns), "features": stored.features, "folds": folds}


def left_out(stored: StoredCollection, settings: Mapping[str, Any]) -> list[int]:
    """Return the columns, from 0, of a job's group.

    Raises GradrankError if the data do not have a feature, or if no feature is left.
    """
    where = f"{settings['dataset']}: studies.ablation.groups.{settings['group']}"
    columns = feature_columns(settings["features"], stored.features, stored.feature_names, where)
    if len(columns) == stored.features:
        raise GradrankError(f"{where}: the group contains all features. Fix: name fewer features")
    return columns


def _plain(values: np.ndarray) -> list[float | None]:
    """Return values for JSON. A query without a value has None."""
    return [None if np.isnan(value) else float(value) for value in values]
