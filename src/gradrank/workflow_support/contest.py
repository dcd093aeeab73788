"""The files of a contest and the options of its commands, computed from `studies.contest` of params.yaml.

In a contest, every method is tuned on every fold of some data sets. The reduced form of a contest is a smaller contest.
"""

from collections.abc import Iterator
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.base.extras import require
from gradrank.provenance.code import tuning_code
from gradrank.training.registry import models
from gradrank.workflow_support.plan import Plan

FORMS = ("contest", "contest/reduced")
TUNED_FILES = ("trials.parquet", "choice.json", "refits.json")
FROZEN_FILES = TUNED_FILES[1:]  # a frozen data set has no trials, because it uses the choices of a tuned data set


class ContestPlan:
    """The contest and its reduced form, if params.yaml has them.

    forms: names of the forms that params.yaml has. frozen: the data sets of both forms on which nothing is tuned.
    The parameter `form` of the methods is one of `forms`.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        studies = plan.settings.studies
        # The values are `Settings` of gradrank.studies.contest, which this package must not import.
        self.settings: dict[str, Any] = {form: studies[form] for form in FORMS if form in studies}
        self.forms = list(self.settings)
        self.frozen = {dataset for settings in self.settings.values() for dataset in settings.frozen}

    def folder(self, form: str, dataset: str, method: str, fold: int | str | None = None) -> str:
        """Return the folder of a tuned method, or of one of its folds."""
        inside = "" if fold is None else f"/fold{fold}"
        return f"results/studies/{form}/tuning/{dataset}/{method}{inside}"

    def members(self, form: str, method: str) -> list[str]:
        """Return the methods of the contest whose scores `method` may combine; empty if it does not combine scores."""
        methods = self.settings[form].methods
        return [name for name in methods if not combines_scores(name)] if combines_scores(method) else []

    def member_files(self, form: str, dataset: str, method: str, fold: str, name: str) -> list[str]:
        """Return the path of the file `name` in fold `fold` of each member of `method`."""
        return [f"{self.folder(form, dataset, member, fold)}/{name}" for member in self.members(form, method)]

    def pair_stamps(self, dataset: str, method: str) -> list[str]:
        """Return the path of pairs.json as a list; empty if the method does not need pairs."""
        return self.plan.stored_stamps(dataset)[1:] if models()[method].needs_pairs else []

    def pairs_option(self, dataset: str, method: str) -> str:
        return f"--pairs data/pairs/{dataset}" if models()[method].needs_pairs else ""

    def tune_options(self, form: str, method: str) -> str:
        """Return the options of `gradrank tune`: numbers of trials and tuners, and the methods that may be combined.

        Raises GradrankError if a package that the method needs is not installed.
        """
        cls = models()[method]
        require(*cls.requires, extra=cls.extra, needed_by=f"studies.{form}.methods: {method}")
        settings, members = self.settings[form], self.members(form, method)
        among = f" --among {','.join(members)}" if members else ""
        return f"--trials {settings.trials} --tuners {settings.tuners}{among}"

    def fold_files(self, form: str, dataset: str, method: str, name: str) -> list[str]:
        """Return the path of the file `name` in every fold of a tuned method."""
        return [f"{self.folder(form, dataset, method, fold)}/{name}" for fold in self.plan.folds(dataset)]

    def source_trials(self, form: str, method: str) -> list[str]:
        """Return the files of trials on the first data set. The choices for frozen data sets come from these."""
        return self.fold_files(form, self.settings[form].datasets[0], method, "trials.parquet")

    def choices(self, form: str) -> list[str]:
        """Return the path of choice.json for every fold of every method on the tuned data sets."""
        settings = self.settings[form]
        return [
            file
            for dataset in settings.datasets
            for method in settings.methods
            for file in self.fold_files(form, dataset, method, "choice.json")
        ]

    def page_inputs(self, form: str) -> list[str]:
        """Return the files that the page reads. They contain the test values of all training runs and trials."""
        settings = self.settings[form]
        runs = [(dataset, "per_query.parquet") for dataset in (*settings.datasets, *settings.frozen)]
        trials = [(dataset, "trials_test.parquet") for dataset in settings.datasets]
        return [
            f"{self.folder(form, dataset, method)}/{name}"
            for dataset, name in runs + trials
            for method in settings.methods
        ]

    def files(self, form: str) -> Iterator[str]:
        """Yield every file that the page depends on directly or indirectly, from the stored data to its own inputs."""
        settings = self.settings[form]
        for dataset in (*settings.datasets, *settings.frozen):
            yield from self.plan.stored_stamps(dataset)
            for method in settings.methods:
                for name in FROZEN_FILES if dataset in settings.frozen else TUNED_FILES:
                    yield from self.fold_files(form, dataset, method, name)
        yield f"results/studies/{form}/choices.json"
        yield from self.page_inputs(form)

    def stage_code(self, stage: str, method: str) -> str:
        """Return the code digest of `tune`, `refit` or `score_trials` for a method."""
        return tuning_code(stage, method)


def combines_scores(method: str) -> bool:
    """Return whether a method combines other methods' scores."""
    cls = models()[method]
    return bool(cls.members(cls.Params()))


def with_frozen_datasets(config: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of params.yaml in which the key `contest_datasets` is moved to `studies.contest.frozen`.

    `snakemake --config contest_datasets=a,b` adds this key. Without the key, nothing changes.

    The contest does not tune on frozen data sets. It uses the choices of the first data set of `studies.contest`.
    Raises GradrankError if params.yaml has no contest.
    """
    values = dict(config)
    if names := values.pop("contest_datasets", None):
        studies = dict(values.get("studies") or {})
        if not studies.get("contest"):
            raise GradrankError("contest_datasets: params.yaml has no `studies.contest`. Fix: add it")
        frozen = names if isinstance(names, list) else str(names).split(",")
        values["studies"] = studies | {"contest": {**studies["contest"], "frozen": frozen}}
    return values
