"""Checks of a plan before any training, and messages with a fix for errors of Snakemake's planning.

The methods of a data set must accept its missing values. `gradrank parse` checks a data set that the workflow stores.
`check_stored_data` checks data sets that are stored when the Snakefile is read, because a method that is added later
does not store them again.

The lock of a killed run, an unknown target and missing score files are explained by a message that the logger plugin
prints in place of Snakemake's text.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gradrank.base.errors import GradrankError, nearest
from gradrank.bench.config.params import check, with_studies
from gradrank.bench.config.params_file import read
from gradrank.bench.config.project_folder import typed
from gradrank.bench.config.studies import settings_path, study_names
from gradrank.bench.workflow_support.plan import Plan, with_frozen_datasets
from gradrank.data.stored import StoredCollection
from gradrank.training.fit import check_missing_values


def complete_for_option(plan: Plan, dataset: str) -> str:
    """Return the option of `gradrank parse` with the methods that do not accept missing values; empty if all do."""
    methods = methods_without_missing(plan, dataset)
    return f"--complete-for {','.join(methods)}" if methods else ""


def methods_without_missing(plan: Plan, dataset: str) -> list[str]:
    """Return the methods of a data set, and their members, that read features and do not accept missing values.

    The list is empty for a data set that only studies name, because each study trains methods of its own.
    """
    settings = plan.settings
    of_studies = {name for study in settings.studies.values() for name in study.datasets}
    if dataset in of_studies and dataset not in settings.run.datasets:
        return []
    trained = [name for name in plan.with_members(plan.models(dataset)) if not settings.imported(name)]
    return [name for name in trained if not (plan.members(name) or settings.model(name).takes_missing)]


def check_stored_data(plan: Plan) -> None:
    """Raise GradrankError if a method of the run does not accept the missing values of the user's own stored data.

    The message names all such methods and features of all data sets. Data that the workflow stores again are not
    checked here.
    """
    if faults := list(_faults(plan)):
        raise GradrankError("\n".join(faults))


def _faults(plan: Plan) -> Iterator[str]:
    for dataset in plan.settings.run.datasets:
        folder = Path("data/parquet", dataset)
        if dataset not in plan.own_data or not (methods := methods_without_missing(plan, dataset)):
            continue
        try:
            stored = StoredCollection.open(folder)
        except GradrankError:  # not stored, or damaged: the workflow stores it again
            continue
        try:
            check_missing_values(folder, stored.description, methods)
        except GradrankError as error:
            if _is_current(stored, plan, dataset):
                yield str(error)


def _is_current(stored: StoredCollection, plan: Plan, dataset: str) -> bool:
    """Return whether the stored data have the content of the user's files, as params.yaml declares them now."""
    from gradrank.data.parse import source_sha256  # imports Polars

    own = plan.own_data[dataset]
    aside = [] if own.fold is None or own.fold in own.ignore else [own.fold]
    declared = replace(own.columns(), weight=own.weight, ignore=(*own.ignore, *aside)).declared()
    files = [Path(file) for file in plan.text_files(dataset)]
    return (
        own.missing in (None, "keep")
        and declared == stored.description.get("columns", {})
        and source_sha256(files) == stored.source_sha256
    )


TARGETS = ("all", "run", "data", "report", "track")  # the targets that have a name besides data sets and studies
SHOWN = 5  # number of missing files that a message lists


def explain(exception: str, text: str) -> str | None:
    """Return the message for an error of Snakemake's planning, or None to keep Snakemake's own text.

    exception: name of the exception's class. text: Snakemake's own text. The names of targets and methods are only in
    this text, whose wording may change between versions of Snakemake. A text with another wording is kept.
    """
    try:
        if exception == "LockException":
            return _locked()
        if exception == "MissingRuleException" and (match := re.search(r"No rule to produce (.+?)(?: \(if|$)", text)):
            return _unknown_target(match[1])
        if exception == "MissingInputException" and (match := re.search(r"dataset=(.+), model=(.+), fold=\d", text)):
            return _missing_scores(match[1], match[2])
    except GradrankError:  # another config file than params.yaml
        pass
    return None


def _locked() -> str:
    """Return the message about the lock of a killed run, or of a run that is not finished."""
    command = typed("snakemake", Path())
    return (
        f"{Path.cwd()}: locked by another run, or by a run that was killed. Fix: wait for the other run. If no "
        f"other run is active, run `{command} --unlock`, then the same command again. On Slurm, first cancel the jobs "
        "of the killed run (`squeue --me`, `scancel`)"
    )


def _plan() -> Plan:
    return Plan(check(with_frozen_datasets(with_studies(read("params.yaml")))))


def _unknown_target(name: str) -> str:
    plan = _plan()
    if name in study_names():
        return f"the study {name} has no settings. Fix: write {settings_path(name)}"
    near = "" if "/" in name else nearest(name, [*TARGETS, *plan.datasets, *plan.studies])
    return f"no rule makes {name!r}{near}. Fix: correct it; `snakemake --list-target-rules` prints all named targets"


def _missing_scores(dataset: str, method: str) -> str | None:
    """Return the message about all score files of a method that do not exist.

    Return None for a data set that params.yaml does not contain, and for a method that is trained.
    """
    plan = _plan()
    if method not in plan.imported or dataset not in plan.datasets:
        return None
    folds = map(str, plan.folds(dataset))
    files = dict.fromkeys(file for fold in folds for file in plan.score_files(dataset, method, fold))
    missing = [file for file in files if not Path(file).is_file()]
    if not missing:
        return None
    further = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    return (
        f"models.{method}: {len(missing)} of {len(files)} score files for {dataset} do not exist: "
        f"{', '.join(missing[:SHOWN])}{further}. Fix: write these files, correct `models.{method}.scores` in "
        f"params.yaml, or remove {method} from the models of {dataset}"
    )
