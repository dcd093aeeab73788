"""The files of a contest and the options of its commands, computed from `studies.contest` of params.yaml.

In a contest, every method is tuned on every fold of some data sets. The reduced form of a contest is a smaller contest.
"""

from collections.abc import Iterable
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.base.extras import require
from gradrank.provenance.code import tuning_code
from gradrank.training.registry import models
from gradrank.tuning.spaces import members_parameter
from gradrank.workflow_support.plan import Plan

FORMS = ("contest", "contest/reduced")


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

    def members(self, form: str, method: str) -> list[str]:
        """Return the methods of the contest whose scores `method` combines; empty if it does not combine scores."""
        methods = self.settings[form].methods
        return [name for name in methods if not combines_scores(name)] if combines_scores(method) else []

    def with_members(self, form: str, method: str) -> list[str]:
        """Return `method` and the methods whose scores it combines."""
        return [method, *self.members(form, method)]

    def datasets(self, form: str) -> list[str]:
        """Return all data sets of a contest: those on which is tuned, and the frozen ones."""
        return [*self.settings[form].datasets, *self.settings[form].frozen]

    def pair_stamps(self, dataset: str, methods: Iterable[str]) -> list[str]:
        """Return the path of pairs.json as a list; empty if none of the methods needs pairs."""
        return self.plan.stored_stamps(dataset)[1:] if any(models()[name].needs_pairs for name in methods) else []

    def pairs_option(self, dataset: str, methods: Iterable[str]) -> str:
        return f"--pairs data/pairs/{dataset}" if self.pair_stamps(dataset, methods) else ""

    def tune_options(self, form: str, method: str) -> str:
        """Return the options of `gradrank tune`: the number of trials, and the methods that are combined.

        Raises GradrankError if a package that the method needs is not installed.
        """
        cls = models()[method]
        require(*cls.requires, extra=cls.extra, needed_by=f"studies.{form}.methods: {method}")
        members = self.members(form, method)
        return f"--trials {self.settings[form].trials_of(method)}" + (
            f" --among {','.join(members)}" if members else ""
        )

    def source_option(self, form: str, dataset: str) -> str:
        """Return the option of `gradrank refit` for a data set on which nothing is tuned."""
        return f"--adopt-from {self.settings[form].datasets[0]}" if dataset in self.frozen else ""

    def trials(self, form: str, dataset: str, method: str) -> list[str]:
        """Return the files of the trials of all tuners of a method, on which its choices for a data set depend."""
        settings = self.settings[form]
        tuned = settings.datasets[0] if dataset in settings.frozen else dataset
        return self._files(form, "trials", tuned, method)

    def member_values(self, form: str, dataset: str, method: str) -> list[str]:
        """Return the files of the test values of the methods whose scores `method` combines.

        The jobs that write these files also train the members.
        """
        members = self.members(form, method)
        return [file for member in members for file in self._files(form, "values", dataset, member)]

    def all_trials(self, form: str, datasets: Iterable[str] | None = None) -> list[str]:
        """Return the files of the trials of all methods. datasets: by default, all data sets on which is tuned."""
        settings = self.settings[form]
        return [
            file
            for dataset in datasets or settings.datasets
            for method in settings.methods
            for file in self.trials(form, dataset, method)
        ]

    def values(self, form: str, datasets: Iterable[str] | None = None) -> list[str]:
        """Return the files with the test values of all methods. datasets: by default, all data sets."""
        settings = self.settings[form]
        return [
            file
            for dataset in datasets or self.datasets(form)
            for method in settings.methods
            for file in self._files(form, "values", dataset, method)
        ]

    def divisions(self, form: str) -> list[str]:
        """Return the files with the test values on other divisions of the queries."""
        folder = f"results/studies/{form}/divisions"
        return [f"{folder}/{dataset}/{method}.parquet" for dataset, method in self.settings[form].divided()]

    def _files(self, form: str, kind: str, dataset: str, method: str) -> list[str]:
        """Return one file per tuner. kind: `trials` or `values`."""
        folder = f"results/studies/{form}/{kind}/{dataset}/{method}"
        return [f"{folder}/tuner{tuner}.parquet" for tuner in range(1, self.settings[form].tuners_of(method) + 1)]

    def page_inputs(self, form: str) -> list[str]:
        """Return the files that the page reads."""
        choices = f"results/studies/{form}/choices.json"
        return [choices, *self.all_trials(form), *self.values(form), *self.divisions(form)]

    def choice_arguments(self, form: str) -> str:
        """Return the arguments of `gradrank choices`: `<method>:<tuners>` for each method."""
        settings = self.settings[form]
        return " ".join(f"{method}:{settings.tuners_of(method)}" for method in settings.methods)

    def stage_code(self, stage: str, method: str) -> str:
        """Return the code digest of `tune`, `refit` or `divisions` for a method."""
        return tuning_code(stage, method)


def combines_scores(method: str) -> bool:
    """Return whether a method combines other methods' scores."""
    return members_parameter(models()[method]) is not None


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
