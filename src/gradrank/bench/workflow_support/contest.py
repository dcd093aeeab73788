"""The files of tuned studies and the options of their commands, computed from the settings of the studies.

In a tuned study, such as the contest, every method is tuned on every fold of some data sets. The reduced form of a
tuned study is a smaller tuned study.
"""

import shlex
from collections.abc import Iterable
from functools import cache
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.base.extras import require
from gradrank.bench.config.studies import key_prefix, settings_path
from gradrank.bench.config.tuned_studies import TunedStudySettings
from gradrank.bench.provenance.code import tuning_code
from gradrank.bench.workflow_support.plan import Plan
from gradrank.training.spaces import members_parameter


class ContestPlan:
    """The tuned studies of a project and their reduced forms.

    forms: names of the tuned studies and of their reduced forms. frozen: the data sets on which a form tunes nothing;
    the key is the form. The parameter `form` of the methods is one of `forms`.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        studies = plan.settings.studies.items()
        self.settings = {form: study for form, study in studies if isinstance(study, TunedStudySettings)}
        self.forms = list(self.settings)
        self.frozen = {form: set(settings.frozen_datasets()) for form, settings in self.settings.items()}
        self._classes = cache(lambda form, method: self.settings[form].model_class(method))

    @property
    def main_forms(self) -> list[str]:
        """Names of the tuned studies, without their reduced forms."""
        return [form for form in self.forms if "/" not in form]

    def members(self, form: str, method: str) -> list[str]:
        """Return the methods of the contest whose scores `method` combines; empty if it does not combine scores."""
        if not self._combines_scores(form, method):
            return []
        return [name for name in self.settings[form].method_names() if not self._combines_scores(form, name)]

    def with_members(self, form: str, method: str) -> list[str]:
        """Return `method` and the methods whose scores it combines."""
        return [method, *self.members(form, method)]

    def datasets(self, form: str) -> list[str]:
        """Return all data sets of a contest: those on which is tuned, and the frozen ones."""
        return [*self.settings[form].datasets, *self.settings[form].frozen_datasets()]

    def pair_stamps(self, form: str, dataset: str, methods: Iterable[str]) -> list[str]:
        """Return the path of pairs.json as a list; empty if none of the methods needs pairs."""
        needed = any(self._classes(form, name).needs_pairs for name in methods)
        return self.plan.stored_stamps(dataset)[1:] if needed else []

    def pairs_option(self, form: str, dataset: str, methods: Iterable[str]) -> str:
        return f"--pairs data/pairs/{dataset}" if self.pair_stamps(form, dataset, methods) else ""

    def _combines_scores(self, form: str, method: str) -> bool:
        return members_parameter(self._classes(form, method)) is not None

    def _variant_option(self, form: str, dataset: str, method: str) -> list[str]:
        text = self.settings[form].variant_json(method, dataset)
        return [] if text is None else [f"--variant {shlex.quote(text)}"]

    def tune_options(self, form: str, dataset: str, method: str) -> str:
        """Return the options of `gradrank tune`: the number of trials, the methods that are combined, and the variant.

        Raises GradrankError if a package that the method needs is not installed.
        """
        cls = self._classes(form, method)
        require(*cls.requires, extra=cls.extra, needed_by=f"{key_prefix(form)}methods: {method}")
        members = self.members(form, method)
        options = [f"--trials {self.settings[form].trials_of(method)}"]
        options += [f"--among {','.join(members)}"] if members else []
        return " ".join([*options, *self._variant_option(form, dataset, method)])

    def refit_options(self, form: str, dataset: str, method: str) -> str:
        """Return the options of `gradrank refit` for the variant, and for a data set on which nothing is tuned."""
        options = [f"--adopt-from {self.settings[form].datasets[0]}"] if dataset in self.frozen[form] else []
        options += ["--only-choices"] if self.settings[form].refits_only_choices() else []
        return " ".join([*options, *self._variant_option(form, dataset, method)])

    def trials(self, form: str, dataset: str, method: str) -> list[str]:
        """Return the files of the trials of all tuners of a method, on which its choices for a data set depend."""
        settings = self.settings[form]
        tuned = settings.datasets[0] if dataset in self.frozen[form] else dataset
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
            for method in settings.method_names()
            for file in self.trials(form, dataset, method)
        ]

    def values(self, form: str, datasets: Iterable[str] | None = None) -> list[str]:
        """Return the files with the test values of all methods. datasets: by default, all data sets."""
        settings = self.settings[form]
        return [
            file
            for dataset in datasets or self.datasets(form)
            for method in settings.method_names()
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
        return " ".join(f"{method}:{settings.tuners_of(method)}" for method in settings.method_names())

    def stage_code(self, form: str, stage: str, method: str) -> str:
        """Return the code digest of `tune`, `refit` or `divisions` for a method."""
        return tuning_code(stage, self.settings[form], method)


def with_frozen_datasets(config: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of the settings in which the key `contest_datasets` is moved to `frozen` of the contest.

    `snakemake --config contest_datasets=a,b` adds this key. Without the key, nothing changes.

    config: the result of `with_studies`. The contest does not tune on frozen data sets. It uses the choices of its
    first data set. Raises GradrankError if the project has no contest.
    """
    values = dict(config)
    if names := values.pop("contest_datasets", None):
        studies = dict(values.get("studies") or {})
        if not studies.get("contest"):
            raise GradrankError(f"contest_datasets: no {settings_path('contest')}. Fix: write this file")
        frozen = names if isinstance(names, list) else str(names).split(",")
        values["studies"] = studies | {"contest": {**studies["contest"], "frozen": frozen}}
    return values
