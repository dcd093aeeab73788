"""The jobs of the study: one training of a method on all folds of a data set, without a group of features."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.bench.studies.training import train_folds
from gradrank.data.collection import feature_columns
from gradrank.data.stored import StoredCollection

METRICS = ("ndcg@10", "map")


def run_job(settings: Mapping[str, Any], data: Path, seed: int) -> dict[str, Any]:
    """Run one job and return the values of METRICS for the test queries of each fold.

    Each fold is a training job like those of the workflow. The features are left out when the data are read. settings:
    one of the values that `training_jobs` returns; the seed of the trainings is among them. Raises GradrankError if the
    data do not have a feature, or if no feature is left.
    """
    stored = StoredCollection.open(data / settings["dataset"])
    columns = left_out(stored, settings)
    folds = train_folds(settings, data, METRICS, settings["convention"], columns)
    about = {key: settings[key] for key in ("dataset", "method", "group", "seed", "convention")}
    return about | {"left_out": len(columns), "features": stored.features, "folds": folds}


def left_out(stored: StoredCollection, settings: Mapping[str, Any]) -> list[int]:
    """Return the columns, from 0, of a job's group.

    Raises GradrankError if the data do not have a feature, or if no feature is left.
    """
    where = f"{settings['dataset']}: studies/ablation/study.yaml: groups.{settings['group']}"
    columns = feature_columns(settings["features"], stored.features, stored.feature_names, where)
    if len(columns) == stored.features:
        raise GradrankError(f"{where}: the group contains all features. Fix: name fewer features")
    return columns
