"""A small finished project, run without Snakemake: data, pairs, trained methods, records and studies."""

import os
from pathlib import Path
from typing import Any

import yaml

from gradrank.bench.config.code_digest import code_digest
from gradrank.bench.config.params import RunSettings, load
from gradrank.bench.config.studies import PATTERNS, settings_path
from gradrank.bench.folds.evaluate import evaluate_folds
from gradrank.bench.folds.job import train
from gradrank.bench.parts import write_job
from gradrank.bench.provenance.records import collect, dataset_settings, study_settings, training_code, write_record
from gradrank.bench.provenance.study_records import study_code, write_study_record
from gradrank.bench.report.tables.summary import summary
from gradrank.bench.results import Results
from gradrank.bench.studies.study import Inputs
from gradrank.bench.studies.writing import write_study
from gradrank.data.pair_files import write_pairs
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from gradrank.measures.conventions import resolve
from studies.pair_targets.experiments import run_job

DATASET, STUDY = "synthetic_net", "average_precision"
SEEDS = (5, 6)  # only prank uses the second: single_feature is deterministic
SETTINGS = {
    "seed": 5,
    "run": {"datasets": [DATASET], "models": ["single_feature", "prank"], "seeds": list(SEEDS)},
    "datasets": {name: {"queries": 10, "documents": 6} for name in (DATASET, "synthetic_poly")},
    "models": {"prank": {"epochs": 2}},
    "studies": {
        STUDY: {"datasets": [DATASET], "models": ["single_feature", "prank"]},
        "pair_targets": {"draws": 3, "sizes": [50]},
    },
    "evaluation": {"metrics": ["ndcg@10", "map", "r_precision", "ndcg@5", "p@5", "mrr", "iprec_11pt"]},
}


def write_params(root: Path, **changes: Any) -> RunSettings:
    """Write params.yaml and the settings of studies, with top-level keys replaced; return the checked settings."""
    values = SETTINGS | changes
    for path in (path for pattern in PATTERNS for path in root.glob(pattern)):
        path.unlink()
    files = {settings_path(name, root): own for name, own in values.pop("studies").items()}
    for path, own in ({root / "params.yaml": values} | files).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(own, sort_keys=False))
    return load(root / "params.yaml")


def make_project(root: Path) -> RunSettings:
    """Run a project in an empty folder. Its records have relative paths, so that it can be copied."""
    before = Path.cwd()
    os.chdir(root)
    try:
        params, results = write_params(Path()), Results()
        generate("net", 10, 6, params.seed, Path("data/raw") / DATASET)
        stored, paired = Path("data/parquet") / DATASET, Path("data/pairs") / DATASET
        parse(Path("data/raw") / DATASET, stored, params.seed, DATASET)
        write_pairs(stored, paired)
        for name in params.model_names(DATASET):
            _make_method(params, name, stored)
        own, settings = results.dataset(DATASET), dataset_settings(params, DATASET)
        summary(own.folder, list(settings["models"]), settings["evaluation"]["convention"], stored)
        write_record(own, settings, stored.parent)
        write_job(results.study("pair_targets").job_path("targets"), run_job({"draws": 3, "sizes": [50]}, Path(), 5))
        for name in (STUDY, "pair_targets"):
            settings, folder = study_settings(params, name), results.study(name)
            tables = write_study(name, Inputs(results.folder, stored.parent, folder.folder, settings["settings"]))
            write_study_record(folder, results, name, settings, study_code(params, name), tables)
        collect(results, [DATASET])
        return params
    finally:
        os.chdir(before)


def _make_method(params: RunSettings, name: str, stored: Path) -> None:
    variant, method = params.models[name], Results().dataset(DATASET).method(name)
    first, *further = params.seeds_of(name, DATASET)
    code, convention = training_code(variant.model, variant.params), resolve(params.convention(DATASET))
    for number in range(1, 6):
        for seed in (first, *further):
            out = method.fold(number, None if seed == first else seed).folder
            train(variant.model, stored, number, variant.params, seed, out, code=code, convention=convention)
    spec = {"model": variant.model, "dataset": DATASET, "params": variant.params, "seed": first}
    measured = (params.evaluation.conventions, params.evaluation.metrics)
    evaluate_folds(method.folder, stored, spec, *measured, further, code_digest("evaluate_folds"))
