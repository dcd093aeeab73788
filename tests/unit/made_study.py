"""Artificial inputs of a study: a small collection, and scores and stamps of every model that the study lists."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from gradrank.bench.config.params import RunSettings, check, with_studies
from gradrank.bench.config.params_file import read
from gradrank.bench.config.studies import get_study
from gradrank.bench.results import Results
from gradrank.bench.studies.study import Inputs, PageSection
from gradrank.bench.studies.writing import write_study
from made_collection import store
from made_results import write_spec


def with_one_seed() -> RunSettings:
    """Return the settings of params.yaml with one seed per data set, as the artificial results have it."""
    path = Path(__file__).parents[2] / "params.yaml"
    raw = with_studies(read(path), str(path))
    for section in raw["datasets"].values():
        section.pop("seeds", None)
    return check(raw)


PARAMS = with_one_seed()
PARTS, QUERIES, DOCUMENTS = 5, 4, 17  # queries per part, documents per query
SHARES = [0.75, 0.15, 0.1]  # of grades 0, 1, 2


def make_study(root: Path, name: str, noise: dict[str, float] | None = None) -> Inputs:
    """Write the results of every data set and model of a study. Scores are the grade plus normal noise.

    noise: standard deviation by model; 1 by default. All models have the same seed, so that equal deviations give equal
    scores. Each history has three epochs, of which the second is the best.
    """
    settings = PARAMS.study_settings(name)
    for dataset in settings["datasets"]:
        labels = make_collection(root / "data" / "parquet" / dataset)
        for model in settings["models"]:
            variant = PARAMS.models[model]
            for fold in range(1, PARTS + 1):
                results = Results(root / "results").dataset(dataset).method(model).fold(fold)
                results.folder.mkdir(parents=True)
                splits = {"test": [part_of(fold)], "train": trained_on(fold)}
                rng, frames = np.random.default_rng(fold), []
                for split, parts in splits.items():
                    grades = np.concatenate([labels[part - 1] for part in parts])
                    drawn = rng.normal(0.0, (noise or {}).get(model, 1.0), len(grades))
                    frames.append(pl.DataFrame({"score": grades + drawn}).with_columns(split=pl.lit(split)))
                pl.concat(frames).write_parquet(results.scores_path)
                history = {"step": [1, 2, 3], "train_loss": [3.0, 2.0, 1.0], "vali_ndcg@10": [0.2, 0.5, 0.4]}
                pl.DataFrame(history).write_parquet(results.history_path)
                write_spec(results, model=variant.model, params=variant.params)
    return Inputs(root / "results", root / "data" / "parquet", Results(root / "results").study(name).folder, settings)


def written(name: str, inputs: Inputs) -> list[PageSection]:
    """Build a study once and write its files below `inputs.folder`; return the sections of its page."""
    page = get_study(name, "page")
    sections = page.build(inputs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "build", lambda _: sections)
        write_study(name, inputs)
    return sections


def make_collection(path: Path, **meta: Any) -> np.ndarray:
    """Store a collection of five parts; return its grades with shape (parts, rows per part).

    In each part, the first query has no relevant document and the last query has all grades.
    """
    rng = np.random.default_rng(len(path.name))
    labels = rng.choice(3, (PARTS, QUERIES, DOCUMENTS), p=SHARES)
    labels[:, 0] = 0
    labels[:, -1, :3] = [0, 1, 2]
    rows = QUERIES * DOCUMENTS
    frame = {
        "part": np.repeat(np.arange(1, PARTS + 1), rows),
        "qid": np.repeat(np.arange(PARTS * QUERIES), DOCUMENTS),
        "label": labels.ravel(),
        "docid": [f"D{row}" for row in range(PARTS * rows)],
    }
    parts = {number: own.drop("part") for (number,), own in pl.DataFrame(frame).group_by("part", maintain_order=True)}
    folds = [{"train": trained_on(fold), "vali": [], "test": [part_of(fold)]} for fold in range(1, PARTS + 1)]
    store(path, parts, **{"folds": folds, "features": 46} | meta)
    return labels.reshape(PARTS, rows)


def part_of(fold: int) -> int:
    """Return the test part of a fold in LETOR's rotation: 5 for fold 1, 1 for fold 2."""
    return (fold + 3) % PARTS + 1


def trained_on(fold: int) -> list[int]:
    """Return the training parts of a fold: 1 to 3 for fold 1, 2 to 4 for fold 2."""
    return [(fold + place) % PARTS + 1 for place in (-1, 0, 1)]
