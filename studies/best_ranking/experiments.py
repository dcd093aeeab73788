"""The jobs of the study: one member is trained several times on every fold, with and without the validation part."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.bench.tuning.fold_training import FoldTraining
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import resolve
from gradrank.models.fusion.comparable_scores import z_score
from gradrank.training.fit import job_seed
from gradrank.training.model import Model
from gradrank.training.registry import get_model

DIGITS = 6  # decimal places of the z-scores in the file of a job


def run_job(settings: Mapping[str, Any], data: Path, seed: int) -> dict[str, Any]:
    """Train one member several times on every fold, and return the means of its z-scores per query.

    `folds` has one dict per fold, with one list of z-scores per key: `vali` and `test` have those of the validation and
    of the test part, and `whole` those of the test part after the training on both labelled parts. `tuners` is the
    number of tuners whose choices were used, `trainings` the number of trainings per fold, and `convention` the name of
    the primary convention. settings: one of the values that `training_jobs` returns. seed: not used; the settings have
    the seed of the training.

    Raises GradrankError if the study names a file of choices that has none on the data set.
    """
    if settings["chosen"] is None:
        path = settings["choices"]
        raise GradrankError(
            f"{path}: has no choices on {settings['dataset']}. Fix: run `snakemake {path}`, or remove `choices` from "
            "the study"
        )
    cls, stored = get_model(settings["model"]), StoredCollection.open(data / settings["dataset"])
    pairs = data.parent / "pairs" / settings["dataset"] if settings["pairs"] else None
    runs, folds = [], []
    for number in range(1, len(stored.folds) + 1):
        training = FoldTraining(cls, stored, number, pairs, resolve(settings["convention"]))
        runs = _params_of_runs(cls, settings, number)
        names = [f"{settings['method']}/training{run}" for run in range(1, len(runs) + 1)]
        seeds = [job_seed(settings["seed"], stored.name, name, number) for name in names]
        folds.append(_mean_z_scores(training, dict(zip(seeds, runs, strict=True))))
    about = {key: settings[key] for key in ("dataset", "method", "convention")}
    return about | {"tuners": len(settings["chosen"]), "trainings": len(runs), "folds": folds}


def _params_of_runs(cls: type[Model], settings: Mapping[str, Any], fold: int) -> list[dict[str, Any]]:
    """Return the parameters of each training on a fold. A configuration without chance is trained once."""
    tuned = [configurations[fold - 1] for configurations in settings["chosen"]] or [settings["params"]]
    count = settings["trainings"]
    if any(cls.uses_seed(cls.Params(**params)) for params in tuned):
        return [tuned[run % len(tuned)] for run in range(count)]
    return tuned[:count]


def _mean_z_scores(training: FoldTraining, runs: Mapping[int, Mapping[str, Any]]) -> dict[str, list[float]]:
    """Return the mean z-scores of the trainings. runs: dict from the seed of each training to its parameters."""
    offsets = {"vali": training.vali.offsets, "test": training.test.offsets, "whole": training.test.offsets}
    found = [training.both(params, seed)._asdict() for seed, params in runs.items()]
    return {
        key: np.mean([z_score(scores[key], own) for scores in found], axis=0).round(DIGITS).tolist()
        for key, own in offsets.items()
    }
