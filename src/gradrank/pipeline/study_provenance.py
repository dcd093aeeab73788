"""What a study's page was made of: results/studies/<study>/provenance.json, in git; `gradrank verify` reads it.

- params: what params.yaml said of it, resolved: `seed`, `settings`, and `models` and `evaluation` of what it reads;
- code: as in `gradrank.pipeline.provenance`: of these models, of the study's own jobs and of the page;
- read: the SHA-256 of per_query.parquet of every method that the page is about, by path within results/; of a contest
  those that lie with its choices;
- versions, processors: of what trained these methods and of what wrote the page;
- results: the SHA-256 of numbers.json and page.md, and of a contest's choices.json.

It holds no times and no places, as that of a data set.
"""

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from itertools import chain, product
from pathlib import Path
from typing import Any

from gradrank import __version__
from gradrank.files import sha256, write_json
from gradrank.learning.model import models
from gradrank.pipeline.code_closure import stage_files
from gradrank.pipeline.provenance import (
    Variants,
    code_digests,
    measuring_files,
    models_in_force,
    read_specs,
    refuse,
    trained_modules,
    trained_with,
)
from gradrank.pipeline.studies import get_study
from gradrank.processor import form
from gradrank.results import Method, Results, StudyFolder
from gradrank.tuning.folders import Contest
from gradrank.tuning.refits import runs
from gradrank.tuning.selection import read_choice
from gradrank.tuning.spaces import tuning_modules

TUNING = (
    "tune",
    "select",
    "freeze",
    "choices",
    "refit",
    "evaluate_refits",
    "score_trials",
)  # stages of a contest
COMPUTING = ("numba", "numpy", "polars", "scipy", "torch")  # packages of the pages and the studies' own jobs


def study_provenance(name: str, params: Mapping[str, Any], results: Path) -> None:
    """Write the record of `<study>` or `<study>/reduced` over the one that lies there.

    params: `study_in_force` of params.yaml. Raises GradrankError where a file is missing, and where one differs from
    the record that lies there though nothing that it is made of does.
    """
    root = Results(results)
    study, methods = root.study(name), list(_methods(root, params["settings"]))
    contest = Contest(study.folder)
    tuned = list(_tuned(params["settings"]))
    read = [method.per_query_path for method in methods]
    read += [contest.tuned(*each).per_query_path for each in tuned]
    trained = (spec for each in tuned for spec in _specs_of_runs(contest, *each, params["settings"]["seeds"]))
    own = {"versions": dict(_versions()), "processor": form()}
    new = {
        "params": params,
        "code": code_digests(study_code_files(name, params["models"], params["settings"])),
        "read": {str(path.relative_to(root.folder)): sha256(path) for path in read},
        **trained_with([own, *(spec for _, spec in read_specs(methods)), *trained]),
        "results": {path.name: sha256(path) for path in study_files(study)},
    }
    if study.recorded:
        old = study.provenance()
        if all(old[part] == new[part] for part in new if part != "results"):
            changed = [path for path, now in new["results"].items() if old["results"][path] != now]
            refuse([str(study.folder / path) for path in changed], study.provenance_path)
    write_json(study.provenance_path, new)


def study_in_force(params: Any, name: str) -> dict[str, Any]:
    """What a `gradrank.pipeline.params.Params` says of a study or its reduced form, as plain data."""
    return models_in_force(params, params.study_models(name)) | {"settings": params.study_settings(name)}


def study_code_files(name: str, variants: Variants, settings: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the files that each stage depends on, from the training of the variants to the study's page."""
    study, tuned = name.partition("/")[0], _tuned_modules(settings)
    stages = measuring_files(variants) if variants else {}
    if tuned:
        stages |= {stage: stage_files(stage, *tuned) for stage in TUNING}
    if hasattr(get_study(study), "jobs"):
        trained = study_modules(variants, {})
        stages["study_job"] = stage_files("study_job", f"gradrank.studies.{study}.experiments", *trained)
    page = f"gradrank.studies.{study}.page"
    return stages | {"study": stage_files("study", page, *study_modules(variants, settings))}


def study_modules(variants: Variants, settings: Mapping[str, Any]) -> list[str]:
    """Return the modules of the models that a study is about, trained by the run or tuned by itself."""
    trained = chain.from_iterable(map(trained_modules, variants.values()))
    return sorted({*trained, *_tuned_modules(settings)})


def _tuned_modules(settings: Mapping[str, Any]) -> set[str]:
    tuned = (models()[each] for each in settings.get("methods", ()) if each in models())
    return {module for cls in tuned for module in tuning_modules(cls)}


def study_files(study: StudyFolder) -> list[Path]:
    """What is in git of a study beside its record."""
    choices = Contest(study.folder).choices_path
    return [study.numbers_path, study.markdown_path, *([choices] if choices.is_file() else [])]


def _methods(root: Results, settings: Mapping[str, Any]) -> Iterator[Method]:
    for dataset in settings.get("datasets", ()):
        for model in settings.get("models", ()):
            yield root.dataset(dataset).method(model)


def _tuned(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(data set, method) of a contest."""
    return product([*settings.get("datasets", ()), *settings.get("frozen", ())], settings.get("methods", ()))


def _specs_of_runs(contest: Contest, dataset: str, method: str, seeds: int) -> Iterator[dict[str, Any]]:
    """What trained a contest's choices anew."""
    for fold in contest.tuned(dataset, method).chosen_folds():
        for tuner, seed in runs(read_choice(fold), seeds):
            own = contest.run(tuner, seed).dataset(dataset).method(method)
            yield own.fold(int(fold.name.removeprefix("fold"))).spec()


def _versions() -> Iterator[tuple[str, str]]:
    yield "gradrank", __version__
    for name in COMPUTING:
        try:
            yield name, version(name).partition("+")[0]  # a build is not a version
        except PackageNotFoundError:
            continue
