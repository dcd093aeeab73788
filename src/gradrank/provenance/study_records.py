"""The stamp of results/studies/<study>/, in git: provenance.json, what a study's page was made of.

- params: what params.yaml said, resolved: `seed`, `pairs`, `evaluation` and the study's `settings`;
- code: a digest per stage of the study; of a contest, per stage and method;
- models: per method of the study as in a data set's record, without results;
- read: digests of the values per query of every method and data set that the page is about;
- jobs: a digest of what the study's own jobs found;
- versions, processors: of all that was read, and of what wrote the page;
- files: the SHA-256 of the page, its numbers, its tables without times and, of a contest, its choices.
"""

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import Any

from gradrank import __version__
from gradrank.base.files import sha256
from gradrank.base.processor import form
from gradrank.base.results import MethodFolder, Results, StudyFolder
from gradrank.base.stamps import checksums, read_stamp, write_stamp
from gradrank.config.code_digest import code_digest
from gradrank.config.params import RunSettings
from gradrank.provenance.code import job_code, page_code, tuning_code
from gradrank.provenance.records import brief, made_with, method_digests, method_stamps
from gradrank.provenance.settings import DIGITS, short_digest
from gradrank.training.registry import models
from gradrank.tuning.folders import Contest
from gradrank.tuning.refits import runs
from gradrank.tuning.selection import read_choice

NO_JOBS = short_digest({})  # of a study without jobs of its own, and of a fresh clone
TUNING = ("tune", "refit", "score_trials")  # stages of a contest that depend on the method
TUNED = "tuning"  # begins the keys of a contest's methods, as it does their paths
CHOOSING = ("select", "freeze", "choices", "evaluate_refits")  # the others
COMPUTING = ("numba", "numpy", "polars", "scipy", "torch")  # packages of the pages and of the studies' own jobs


def write_study_record(
    study: StudyFolder,
    root: Results,
    name: str,
    settings: Mapping[str, Any],
    code: Mapping[str, str],
    tables: Iterable[Path],
) -> None:
    """Write provenance.json of `<study>` or `<study>/reduced`, whose page is written.

    settings, code: as `study_settings` and `study_code` return them. tables: the study's table files without times.
    Raises GradrankError where something that the page is about is missing or was made otherwise than `settings` say.
    """
    own = settings["settings"]
    methods = {f"{method.dataset}/{method.name}": method for method in _methods(root, own)}
    digests = {key: method_digests(each, settings, settings["models"][each.name]) for key, each in methods.items()}
    contest = Contest(study.folder)
    tuned = {f"{dataset}/{method}": contest.tuned(dataset, method).per_query_path for dataset, method in _tuned(own)}
    stamps = [stamp for method in methods.values() for stamp in method_stamps(method)]
    stamps += [spec for each in _tuned(own) for spec in _specs_of_runs(contest, *each, own["seeds"])]
    values = {
        "params": {key: value for key, value in settings.items() if key != "models"},
        "code": dict(code),
        "models": _models(settings, digests),
        "read": {key: each["values"] for key, each in digests.items()}
        | {f"{TUNED}/{key}": sha256(path)[:DIGITS] for key, path in tuned.items()},
        "jobs": jobs_digest(study),
        **made_with([{"versions": dict(_versions()), "processor": form()}, *stamps]),
    }
    choices = [contest.choices_path] if contest.choices_path.is_file() else []
    write_stamp(study.provenance_path, values, [study.numbers_path, study.markdown_path, *choices, *tables])


def jobs_digest(study: StudyFolder) -> str:
    """Return a digest of what the study's own jobs found; NO_JOBS where no job's file is here."""
    return short_digest(checksums(study.job_path("*").parent.glob("*.json"), study.folder))


def study_code(params: RunSettings, name: str) -> dict[str, str]:
    """Return the code digest of each stage of a study, from its own jobs to its page.

    The stages of a contest that depend on the method have a digest per method.
    """
    study, own = name.partition("/")[0], params.study_settings(name)
    found = {"study": page_code(params, name)}
    jobs = params.study_jobs(name)
    if jobs:
        found["study_job"] = short_digest(sorted({job_code(study, told) for told in jobs.values()}))
    tuned = [method for method in own.get("methods", ()) if method in models()]
    found |= {stage: code_digest(stage) for stage in CHOOSING if tuned}
    return found | {f"{stage} {method}": tuning_code(stage, method) for method in tuned for stage in TUNING}


def _models(settings: Mapping[str, Any], digests: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    code = {key.partition("/")[2]: {"train": each["train"]} for key, each in digests.items()}
    return {name: brief(variant) | code.get(name, {}) for name, variant in settings["models"].items()}


def _methods(root: Results, settings: Mapping[str, Any]) -> Iterator[MethodFolder]:
    for dataset in settings.get("datasets", ()):
        for model in settings.get("models", ()):
            yield root.dataset(dataset).method(model)


def _tuned(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return each (data set, method) of a contest."""
    return list(product([*settings.get("datasets", ()), *settings.get("frozen", ())], settings.get("methods", ())))


def _specs_of_runs(contest: Contest, dataset: str, method: str, seeds: int) -> Iterator[dict[str, Any]]:
    """Yield spec.json of each run of a contest's choices."""
    for fold in contest.tuned(dataset, method).chosen_folds():
        for tuner, seed in runs(read_choice(fold), seeds):
            own = contest.run(tuner, seed).dataset(dataset).method(method)
            yield read_stamp(own.fold(int(fold.name.removeprefix("fold"))).spec_path)


def _versions() -> Iterator[tuple[str, str]]:
    yield "gradrank", __version__
    for name in COMPUTING:
        try:
            yield name, version(name).partition("+")[0]  # a build is not a version
        except PackageNotFoundError:
            continue
