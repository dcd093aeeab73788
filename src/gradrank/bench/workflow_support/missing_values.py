"""The check, before any training, that the methods of a data set accept its missing values.

`gradrank parse` checks a data set that the workflow stores. `check_stored_data` checks data sets that are stored when
the Snakefile is read, because a method that is added later does not store them again.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gradrank.base.errors import GradrankError
from gradrank.bench.workflow_support.plan import Plan
from gradrank.data.stored import StoredCollection
from gradrank.training.missing_values import check_missing_values


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
