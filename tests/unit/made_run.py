"""A run of one data set of the user without Snakemake: only what depends on a change is trained or evaluated again."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml

from gradrank.base.files import read_json, sha256
from gradrank.bench.config.code_digest import code_digest
from gradrank.bench.config.params import RunSettings, check
from gradrank.bench.folds.evaluate import evaluate_folds
from gradrank.bench.folds.job import train
from gradrank.bench.folds.score_exchange import import_scores
from gradrank.bench.provenance.records import dataset_settings, training_code, write_record
from gradrank.bench.report.tables.summary import summary
from gradrank.bench.results import Results
from gradrank.data.pair_files import write_pairs
from gradrank.data.parse import parse
from gradrank.data.part_files import COLLECTION
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import resolve
from gradrank.training.fold_folder import FoldFolder

DATASET, FOLDS = "mine", 5
STORED, PAIRED = Path("data/parquet") / DATASET, Path("data/pairs") / DATASET


def write_table(seed: int = 1, queries: int = 15, documents: int = 10) -> None:
    """Write the user's data, mine.csv."""
    rng, rows = np.random.default_rng(seed), queries * documents
    labels = rng.integers(0, 3, rows)
    features = {f"f{i}": (labels * i + rng.normal(0, 2, rows)).round(3) for i in (1, 2, 3)}
    pl.DataFrame({"qid": np.repeat(np.arange(queries), documents), "label": labels} | features).write_csv("mine.csv")


def write_scores(seed: int = 1, rows: int = 150) -> None:
    """Write the scores of another program, imported_run.txt."""
    scores = np.random.default_rng(seed).normal(size=rows).round(4)
    Path("imported_run.txt").write_text("\n".join(map(str, scores)))


def write_pairs_file(weight: float = 1.0, queries: int = 15) -> None:
    """Write the user's pairs, pairs.csv: one pair per query."""
    ones = np.ones(queries, int)
    columns = {"qid": np.arange(queries), "first_row": ones, "second_row": ones + 1, "weight": weight * ones}
    pl.DataFrame(columns).write_csv("pairs.csv")


def run(params: dict[str, Any]) -> None:
    """Write params.yaml, and make data/ and results/ of the working folder as the workflow would."""
    Path("params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    settings = check(params)
    parse("mine.csv", STORED, settings.seed, DATASET)
    write_pairs(STORED, PAIRED, settings.pairs.ties, settings.datasets[DATASET].pairs)
    names = settings.model_names(DATASET)
    members = settings.additional_members(names)
    for name in sorted([*members, *names], key=lambda name: bool(settings.members(name))):
        _make_method(settings, name)
    results = Results().dataset(DATASET)
    record = dataset_settings(settings, DATASET)
    summary(results.folder, names, record["evaluation"]["convention"], STORED, members)
    write_record(results, record, STORED.parent)


def _make_method(settings: RunSettings, name: str) -> None:
    variant, method = settings.models[name], Results().dataset(DATASET).method(name)
    first, *further = settings.seeds_of(name, DATASET)
    code = training_code(variant.model, variant.params)
    convention = resolve(settings.convention(DATASET))
    for number in range(1, FOLDS + 1):
        for seed in (first, *further):
            fold = method.fold(number, None if seed == first else seed)
            if settings.imported(name):
                import_scores(variant.params["scores"], STORED, number, seed, fold.folder, code)
            elif settings.members(name) or not _is_current(
                fold, {"params": variant.params, "seed": seed, "code": code, "convention": convention.name}
            ):
                inputs = (PAIRED, method.dataset_folder.folder, code, convention)
                train(variant.model, STORED, number, variant.params, seed, fold.folder, *inputs)
    folds = [method.fold(number, seed) for seed in (None, *further) for number in range(1, FOLDS + 1)]
    inputs = {fold.scores_path.relative_to(method.folder).as_posix(): sha256(fold.scores_path) for fold in folds}
    measured = {"conventions": [*settings.conventions(DATASET)], "metrics": [*settings.evaluation.metrics]}
    expected = measured | {"inputs": inputs | {COLLECTION: sha256(STORED / COLLECTION)}}
    stamp = read_json(method.evaluation_path) if method.evaluation_path.exists() else {}
    if any(stamp.get(key) != value for key, value in expected.items()):
        spec = {"model": variant.model, "dataset": DATASET, "params": variant.params, "seed": first}
        evaluate_folds(method.folder, STORED, spec, *measured.values(), further, code_digest("evaluate_folds"))


def _is_current(fold: FoldFolder, expected: dict[str, Any]) -> bool:
    """Return True if the fold was trained with these values on the present data."""
    expected |= {"data_sha256": StoredCollection.open(STORED).source_sha256}
    return fold.finished and all(fold.spec()[key] == value for key, value in expected.items())
