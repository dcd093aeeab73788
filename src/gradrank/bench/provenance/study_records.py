"""The record of a study's page: results/studies/<study>/provenance.json, a checksum file that is in git.

Its keys:

- params: the settings of params.yaml with defaults filled in: `seed`, `pairs`, `evaluation` and the study's `settings`;
- code: one digest per stage of the study; in a contest, one per stage and method;
- models: for each method, the same keys as in `methods` of a data set's record, except `results`, `values` and `folds`,
  and without `train` if only the study's own jobs train it;
- read: for each data set and method whose trainings by the workflow are on the page, a digest of its values per query;
- jobs: a digest of the results of the study's own jobs;
- versions, processors: the package versions and the instruction sets of all these results and of the page;
- files: the SHA-256 of the page, of its numbers, of its tables without times, of the packed files with the results of
  its jobs and, for a contest, of choices.json.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import Any

from gradrank import __version__
from gradrank.base.processor import form
from gradrank.base.stamps import write_stamp
from gradrank.bench.config.code_digest import code_digest
from gradrank.bench.config.params import RunSettings
from gradrank.bench.config.studies import TunedStudySettings, shows_trainings
from gradrank.bench.parts import Key, study_parts
from gradrank.bench.provenance.records import (
    job_code,
    method_digests,
    method_stamps,
    omit_empty,
    page_code,
    short_digest,
    tuning_code,
    versions_and_processors,
)
from gradrank.bench.results import MethodFolder, Results, StudyFolder
from gradrank.bench.tuning.folders import Contest

# The digest if there are no results of jobs. The study has no jobs, or this is a fresh clone, and they are not in git.
NO_JOBS = short_digest({})
TUNING = ("tune", "refit")  # stages of a contest whose code depends on the method
RECHECKED = "rechecked"  # key of a record; see `gradrank.bench.provenance.record_checks`
VALUES = "values"  # first part of the keys values/<dataset>/<method>, which a contest's methods have in `read`
COMPUTING = ("numba", "numpy", "polars", "scipy", "torch")  # packages that pages and the studies' own jobs use


def write_study_record(
    study: StudyFolder,
    root: Results,
    name: str,
    settings: Mapping[str, Any],
    code: Mapping[str, str],
    tables: Iterable[Path],
) -> None:
    """Write provenance.json of a study or of its reduced form, after its page was written.

    name: `<study>` or `<study>/reduced`. settings: the result of `study_settings`. code: the result of `study_code`.
    tables: the table files of the study, except tables with measured times. Raises GradrankError if a result on the
    page is missing, or if it was computed with settings that differ from `settings`.
    """
    study_settings = settings["settings"]
    shown = list(_methods(root, study_settings)) if shows_trainings(name) else []
    methods = {f"{method.dataset}/{method.name}": method for method in shown}
    digests = {
        key: method_digests(method, settings, settings["models"][method.name]) for key, method in methods.items()
    }
    has_models = bool(settings["models"]) and not methods  # models that the study's own jobs trained
    contest, tuned = Contest(study.folder), _tuned(study_settings)
    parts = contest_parts(contest, tuned)
    stamps = [stamp for method in methods.values() for stamp in method_stamps(method)]
    stamps += [{"versions": {"gradrank": part["gradrank"]}, "processor": part["processor"]} for part in parts.values()]
    values = {
        "params": {key: value for key, value in settings.items() if key != "models"},
        "code": dict(code) | recorded_code(parts),
        "models": _models(settings, digests),
        "read": {key: digest["values"] for key, digest in digests.items()}
        | {f"{VALUES}/{dataset}/{method}": contest_digest(contest, dataset, method) for dataset, method in tuned},
        "jobs": jobs_digest(study),
        **versions_and_processors([{"versions": dict(_versions(has_models)), "processor": form()}, *stamps]),
    }
    in_git = [contest.choices_path, *(parts.packed_path for parts in study_parts(study.folder))]
    files = [study.numbers_path, study.markdown_path, *filter(Path.is_file, in_git), *tables]
    write_stamp(study.provenance_path, values, files)


def jobs_digest(study: StudyFolder) -> str:
    """Return a digest of the results of the study's own jobs, or NO_JOBS without results."""
    parts = study.job_parts
    return short_digest({parts.name(*key): parts.sha256(*key) for key in parts.existing()})


def study_code(settings: RunSettings, name: str) -> dict[str, str]:
    """Return a dict from each stage of a study, such as its own jobs and its page, to the code digest of the stage.

    Some stages of a contest depend on the method. They have one digest per method, with the key `<stage> <method>`.
    """
    study = name.partition("/")[0]
    code = {"study": page_code(settings, name)}
    jobs = settings.study_jobs(name)
    if jobs:
        code["study_job"] = short_digest(sorted({job_code(study, job_settings) for job_settings in jobs.values()}))
    own = settings.studies[name]
    if not isinstance(own, TunedStudySettings):
        return code
    tuned = {f"{stage} {method}": tuning_code(stage, own, method) for method in own.method_names() for stage in TUNING}
    return code | {"choices": code_digest("choices")} | tuned


def _models(settings: Mapping[str, Any], digests: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    code = {key.partition("/")[2]: {"train": digest["train"]} for key, digest in digests.items()}
    return {name: omit_empty(variant) | code.get(name, {}) for name, variant in settings["models"].items()}


def _methods(root: Results, study_settings: Mapping[str, Any]) -> Iterator[MethodFolder]:
    for dataset in study_settings.get("datasets", ()):
        for model in study_settings.get("models", ()):
            yield root.dataset(dataset).method(model)


def _tuned(study_settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return all pairs (data set, method) of a contest; empty for a study that is not a contest."""
    datasets = [*study_settings.get("datasets", ()), *study_settings.get("frozen", ())]
    return list(product(datasets, study_settings.get("methods", ())))


def contest_parts(contest: Contest, tuned: Iterable[tuple[str, str]]) -> dict[tuple[str, Key], dict[str, Any]]:
    """Return the inputs of each part with trials or test values of a contest, as the part states them.

    The keys are the stage that wrote the part, and the key of the part. tuned: pairs of a data set and a method.
    """
    return {
        (stage, key): {"gradrank": __version__, "processor": form()} | json.loads(parts.read(*key)["made_with"][0])
        for dataset, method in tuned
        for stage, parts in zip(TUNING, (contest.trials, contest.values), strict=True)
        for key in parts.existing(dataset, method)
    }


def recorded_code(parts: Mapping[tuple[str, Key], Mapping[str, Any]]) -> dict[str, str]:
    """Return the code digests of the stages `tune` and `refit` per method, as the parts of a contest state them.

    Several digests are joined by a plus sign, if a contest was computed in parts with different code.
    """
    digests: dict[str, set[str]] = {}
    for (stage, (_, method, _)), inputs in parts.items():
        digests.setdefault(f"{stage} {method}", set()).add(inputs["code"].partition(" ")[0])
    return {key: "+".join(sorted(found)) for key, found in digests.items()}


def contest_digest(contest: Contest, dataset: str, method: str) -> str:
    """Return the digest of the parts with a method's test values, or an empty string without such parts."""
    digests = [contest.values.sha256(*key) for key in contest.values.existing(dataset, method)]
    return short_digest(digests) if digests else ""


def _versions(has_models: bool) -> Iterator[tuple[str, str]]:
    """Yield (name, version) of gradrank and of COMPUTING. has_models: whether to include LightGBM."""
    yield "gradrank", __version__
    for name in (*COMPUTING, *(["lightgbm"] if has_models else [])):
        try:
            yield name, version(name).partition("+")[0]  # without a suffix such as +cpu
        except PackageNotFoundError:
            continue
