"""The record of a data set's results: results/<dataset>/provenance.json, a checksum file that is in git.

A record contains the settings of params.yaml and the code digests of the stages that depend on models. The same
settings and digests are part of the records of studies. The files of a run that are versioned with DVC (values per test
query, means, and the checksum file run.json) are collected here, too.

Its keys:

- params: the settings of params.yaml with defaults filled in: `seed`, `seeds`, `pairs`, `evaluation` and `dataset`;
- data: `source_sha256`, which is the SHA-256 of the text, and the SHA-256 of collection.json and pairs.json; these two
  files have the checksums of the Parquet files; with a user's file of pairs also its SHA-256, `given_sha256`;
- code: one digest per stage;
- methods: for each method, its registered `model`, its `params` that are not defaults, a `digest` of these two,
  and digests of its training code (`train`), of its models, scores and histories (`results`) and of its values per
  query (`values`); `folds` has, for each seed, one digest of the scores per fold, in the order of the folds, and a
  hyphen for a fold without one; for imported scores there is also a digest of the score files (`scores`);
- members: the same for the methods that are trained only because a method combines their scores; missing if there are
  none;
- versions, processors: the package versions and the instruction sets that the methods were computed with;
- rechecked: only after `gradrank verify --recheck`: the code digests that were replaced, with the sample that was
  computed again (`gradrank.bench.provenance.record_checks`);
- files: the SHA-256 of the summary, of the values per query and of the tables.

A record has no times or machine paths, and a git revision only in `rechecked`, so equal code, data and packages give
equal bytes.
"""

import csv
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from gradrank.base.conventions import selection_convention
from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic, sha256, write_json
from gradrank.base.processor import refusal
from gradrank.base.stamps import check_own_files, checksums, read_sealed, read_stamp, write_stamp
from gradrank.bench.config.code_digest import code_digest
from gradrank.bench.config.params import RunSettings
from gradrank.bench.config.studies import TunedStudySettings, study_module
from gradrank.bench.config.variants import Variant
from gradrank.bench.folds.per_query import SEED, join_test_queries, measured_folds
from gradrank.bench.folds.settings import IMPORTED
from gradrank.bench.results import PER_QUERY, DatasetFolder, MethodFolder, NumberedFold, Results
from gradrank.data.part_files import COLLECTION, PAIRS
from gradrank.data.stored import StoredCollection
from gradrank.training.fold_folder import SPEC
from gradrank.training.registry import get_model, models, training_modules
from gradrank.training.spaces import tuning_modules


def training_code(model: str, params: Mapping[str, Any]) -> str:
    """Return the code digest of training a model, or of importing scores if the model is `imported`.

    params: the parameters of the model.
    """
    if model == IMPORTED:
        return code_digest("import_scores")
    return code_digest("train", *_modules(model, params))


def tuning_code(stage: str, settings: TunedStudySettings, method: str) -> str:
    """Return the code digest of a stage for a method of a tuned study. stage: `tune`, `refit` or `divisions`."""
    modules = tuning_modules(settings.model_class(method))
    return code_digest(stage, *modules, *settings.further_modules(stage, method))


def page_code(settings: RunSettings, study: str) -> str:
    """Return the code digest of a study's page. It covers the models that the page shows and may load."""
    variants = [settings.models[name] for name in settings.shown_methods(study)]
    modules = {module for variant in variants for module in _modules(variant.model, variant.params)}
    own = settings.studies[study]
    if isinstance(own, TunedStudySettings):
        for method in own.method_names():
            modules |= set(tuning_modules(own.model_class(method)))
    return code_digest("study", study_module(study.partition("/")[0], "page"), *sorted(modules))


def report_code() -> str:
    """Return the code digest of the report. It covers all models, because the report prints their descriptions."""
    return code_digest("report", *sorted({cls.__module__ for cls in models().values()}))


def job_code(study: str, job_settings: Mapping[str, Any]) -> str:
    """Return the code digest of a study's own job. It covers the model if the settings have the key `model`."""
    trained = _modules(job_settings["model"], job_settings.get("params", {})) if "model" in job_settings else ()
    return code_digest("study_job", study_module(study, "experiments"), *trained)


def _modules(model: str, params: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the modules on which the training of a model depends; empty if the scores are imported."""
    if model == IMPORTED:
        return ()
    cls = models().get(model) or get_model(model)
    return training_modules(cls, cls.Params(**params))


DIGITS = 12  # hexadecimal digits of the digests in a record


def short_digest(value: Any) -> str:
    """Return the first DIGITS hexadecimal digits of the SHA-256 of plain data as canonical JSON."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def dataset_settings(settings: RunSettings, name: str) -> dict[str, Any]:
    """Return the result of `model_settings` for the methods of a data set, with the data set's settings as `dataset`.

    `evaluation.convention` is the primary convention of this data set, and `evaluation.conventions` contains it. If
    there are methods that are trained only because a method combines their scores, their settings have the key
    `members`.
    """
    dataset = settings.datasets.get(name)
    values = model_settings(settings, settings.model_names(name), [name])
    values["evaluation"] |= {"convention": settings.convention(name), "conventions": list(settings.conventions(name))}
    if members := settings.additional_members(settings.model_names(name)):
        values["members"] = {member: variant_settings(settings.models[member]) for member in members}
    hidden = {"convention", "models", "seeds"}
    return values | {"dataset": dataset.model_dump(mode="json", exclude=hidden, exclude_none=True) if dataset else {}}


def study_settings(settings: RunSettings, study: str) -> dict[str, Any]:
    """Return the current settings of a study or of its reduced form.

    The result is that of `model_settings`, and has the settings of the study under the key `settings`.
    """
    own = settings.studies[study]
    values = model_settings(settings, settings.study_models(study), own.datasets if own.shows_trainings else ())
    return values | {"settings": settings.study_settings(study)}


def model_settings(settings: RunSettings, names: Iterable[str], datasets: Iterable[str]) -> dict[str, Any]:
    """Return a dict with `seed`, `pairs`, `models` and `evaluation`, with defaults filled in.

    names: names of the variants in `models`. The key `seeds` has the seeds of all the data sets. It is added if one of
    the variants is trained with several seeds, or with a seed other than `seed`.
    """
    names = list(names)
    seeds = list(dict.fromkeys(seed for each in product(names, datasets) for seed in settings.seeds_of(*each)))
    return {
        "seed": settings.seed,
        **({"seeds": seeds} if seeds not in ([], [settings.seed]) else {}),
        "pairs": settings.pairs.model_dump(mode="json"),
        "models": {name: variant_settings(settings.models[name]) for name in names},
        "evaluation": settings.evaluation.model_dump(mode="json"),
    }


def variant_settings(variant: Variant) -> dict[str, Any]:
    """Return a variant's registered `model`, its `params` that are not defaults, and a `digest` of both."""
    return {"model": variant.model, **changed_params(variant.model, variant.params)}


def changed_params(model: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `params` that are not defaults of a registered model, and a `digest` of them and of the model's name.

    A new optional parameter therefore changes no digest. A changed default changes the digest of the training code.
    """
    defaults = {} if model == IMPORTED else models()[model].Params().model_dump(mode="json")
    changed = {key: value for key, value in params.items() if key not in defaults or defaults[key] != value}
    return {"params": changed, "digest": short_digest({"model": model, "params": changed})}


GIVEN_SHA256 = "given_sha256"  # key of pairs.json: the SHA-256 of a user's file of pairs
AND = " and "  # between the versions of a package, if methods were computed with different versions
# The stage `train` is missing here, because it has one digest per method.
STAGES = ("fetch", "generate", "parse", "pairs", "evaluate_folds", "summary")


def write_record(dataset: DatasetFolder, settings: Mapping[str, Any], data: Path) -> None:
    """Write provenance.json of a data set, after its summary and tables.

    settings: the result of `dataset_settings`. data: the folder of the stored collections. Raises GradrankError if a
    checksum file is missing, or if a method was trained with settings that differ from `settings`.
    """
    members = settings.get("members", {})
    variants = {**settings["models"], **members}
    stamps = [stamp for name in variants for stamp in method_stamps(dataset.method(name))]
    convention = settings["evaluation"]["convention"]
    digests = {
        name: omit_empty(variant) | method_digests(dataset.method(name), settings, variant, convention)
        for name, variant in variants.items()
    }
    values = {
        "params": {key: value for key, value in settings.items() if key not in ("models", "members")},
        "data": data_digests(dataset.name, data),
        "code": {stage: code_digest(stage) for stage in STAGES},
        "methods": {name: digests[name] for name in settings["models"]},
        **({"members": {name: digests[name] for name in members}} if members else {}),
        **versions_and_processors(stamps),
    }
    files = [dataset.summary_path, dataset.summary_page_path, dataset.queries_path, dataset.tables_path]
    write_stamp(dataset.provenance_path, values, files)


def omit_empty(variant: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a variant without keys whose value is an empty dict."""
    return {key: value for key, value in variant.items() if value != {}}


def data_digests(dataset: str, data: Path) -> dict[str, str]:
    """Return the SHA-256 of a data set's text, of its collection.json and, if there are pairs, of its pairs.json.

    The SHA-256 of a user's file of pairs has the key `given_sha256`.
    """
    folder, pairs = data / dataset, data.parent / "pairs" / dataset / PAIRS
    digests = {"source_sha256": StoredCollection.open(folder).source_sha256, COLLECTION: sha256(folder / COLLECTION)}
    if not pairs.is_file():
        return digests
    given = read_sealed(pairs).get(GIVEN_SHA256)
    return digests | {PAIRS: sha256(pairs)} | ({GIVEN_SHA256: given} if given else {})


def method_stamps(method: MethodFolder) -> list[dict[str, Any]]:
    """Return the contents of a method's checksum files: evaluation.json, then spec.json of each evaluated fold."""
    return [read_stamp(method.evaluation_path), *(read_stamp(fold.spec_path) for fold in measured_folds(method))]


def method_digests(
    method: MethodFolder, settings: Mapping[str, Any], variant: Mapping[str, Any], convention: str | None = None
) -> dict[str, Any]:
    """Return the digests of a method.

    `train` is the digest of its training code, `results` of its models, scores and histories, and `values` of its
    values per query. `folds` is the result of `folds_digests`. For imported scores, `scores` is the digest of the score
    files. settings, variant: the current settings, as returned by `model_settings` and `variant_settings`. convention:
    the primary convention of the data set; if None, it is not compared.

    Raises GradrankError if the method has no trained fold; if the model, parameters or seed of a fold differ from the
    current settings; if two folds were trained with different code; or if `refusal` rejects an instruction set.
    """
    folds = measured_folds(method)
    if not folds:
        raise GradrankError(f"{method.folder}: no trained fold. Fix: run `snakemake --cores 2 {method.dataset}`")
    specs = [read_stamp(fold.spec_path) for fold in folds]
    first_seed = settings.get("seeds", [settings[SEED]])[0]
    for fold, spec in zip(folds, specs, strict=True):
        seed = first_seed if fold.seed is None else fold.seed
        expected = {SEED: seed, "model": variant["model"], "code": specs[0]["code"]}
        differing = [key for key, value in expected.items() if spec[key] != value]
        differing += ["params"] if changed_params(spec["model"], spec["params"])["digest"] != variant["digest"] else []
        if variant["model"] != IMPORTED and convention not in (None, selection_convention(spec)):
            differing += ["convention"]
        if differing:
            raise GradrankError(
                f"{fold.spec_path}: trained with another {', '.join(differing)} than the settings or fold 1 require. "
                f"Fix: delete {fold.folder}, then run the same command again"
            )
        if reason := refusal(spec.get("processor")):
            raise GradrankError(
                f"{fold.spec_path}: {reason}. Fix: delete {fold.folder} and run the same command again, or set "
                "GRADRANK_CPU=native to keep results that no other processor can reproduce"
            )
    digests = {"train": specs[0]["code"], "results": results_digest(method), "values": values_digest(method)}
    digests["folds"] = folds_digests(folds, first_seed)
    if variant["model"] == IMPORTED:
        digests["scores"] = short_digest([spec["scores_sha256"] for spec in specs])
    return digests


def folds_digests(folds: Iterable[NumberedFold], first_seed: int) -> dict[str, str]:
    """Return a dict from each seed to the digests of the scores of its folds, separated by spaces.

    first_seed: the seed of the folds fold<k>/.
    """
    digests: dict[str, list[str]] = {}
    for fold in folds:
        digests.setdefault(str(first_seed if fold.seed is None else fold.seed), []).append(scores_digest(fold))
    return {seed: " ".join(of_seed) for seed, of_seed in digests.items()}


def scores_digest(fold: NumberedFold) -> str:
    """Return a digest of the scores of all parts of a fold, which does not depend on the form of their file."""
    import polars as pl

    scores = pl.read_parquet(fold.scores_path, columns=["score"])["score"]
    return hashlib.sha256(scores.to_numpy().astype("<f8").tobytes()).hexdigest()[:DIGITS]


def values_digest(method: MethodFolder) -> str:
    """Return a digest of a method's values per query, from its evaluation.json."""
    return read_stamp(method.evaluation_path)["files"][PER_QUERY][:DIGITS]


def results_digest(method: MethodFolder) -> str:
    """Return a digest of a method's models, scores and histories, from the spec.json of each fold."""
    digests = {}
    for fold in measured_folds(method):
        folder = fold.folder.relative_to(method.folder).as_posix()
        files = read_stamp(fold.spec_path)["files"]
        digests |= {f"{folder}/{name}": digest for name, digest in files.items() if Path(name).name != SPEC}
    return short_digest(digests)


def versions_and_processors(stamps: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a dict with `versions` and `processors`: all package versions and instruction sets in the checksum files.

    stamps: the contents of the checksum files.
    """
    versions: dict[str, set[str]] = {}
    processors = set()
    for stamp in stamps:
        processors.add(stamp.get("processor", "not recorded"))
        for name, version in stamp["versions"].items():
            versions.setdefault(name, set()).add(version)
    return {
        "versions": {name: AND.join(sorted(values)) for name, values in sorted(versions.items())},
        "processors": sorted(processors),
    }


# columns of methods.csv; a column is empty if the metric was not measured
PLOTTED = ("ndcg@1", "ndcg@10", "mean_ndcg", "map", "p@10")


def collect(root: Results, names: Sequence[str]) -> None:
    """Write per_query.parquet, metrics.json, methods.csv and run.json for these data sets.

    Raises GradrankError if a data set has no provenance.json, if a file does not match its recorded checksum, or if
    one of the four files exists and gradrank has not written it.
    """
    datasets = [root.dataset(name) for name in names]
    if missing := [str(dataset.provenance_path) for dataset in datasets if not dataset.recorded]:
        raise GradrankError(f"{', '.join(missing)}: no such file. Fix: run `snakemake --cores 2` first")
    check_own_files(root.run_path, (root.per_query_path, root.metrics_path, root.means_path, root.run_path))
    methods = [dataset.method(name) for dataset in datasets for name in read_stamp(dataset.provenance_path)["methods"]]
    for method in methods:
        method.check()
    with atomic(root.per_query_path) as partial:
        join_test_queries(methods).write_parquet(partial)
    write_json(root.metrics_path, {dataset.name: dataset.summary() for dataset in datasets})
    with atomic(root.means_path) as partial, partial.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["method", *PLOTTED])
        for dataset in datasets:
            for name, means in dataset.summary().items():
                writer.writerow([f"{dataset.name}: {name}", *(means.get(metric) for metric in PLOTTED)])
    records = checksums([dataset.provenance_path for dataset in datasets], root.folder)
    write_stamp(root.run_path, {"inputs": records}, [root.per_query_path, root.metrics_path, root.means_path])
