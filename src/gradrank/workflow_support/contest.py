"""The files of a contest and the options of its commands, computed from `studies.contest` of params.yaml."""

from collections.abc import Iterator
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.provenance.code import tuning_code
from gradrank.training.registry import models
from gradrank.workflow_support.plan import Plan

FORMS = ("contest", "contest/reduced")
TUNED_FILES = ("trials.parquet", "choice.json", "refits.json")


class ContestPlan:
    """The contest and its reduced form, as far as params.yaml has them."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.params = plan, plan.params
        self.forms = [form for form in FORMS if form in plan.params.studies]
        self.frozen = {dataset for form in self.forms for dataset in plan.params.studies[form].frozen}

    def folder(self, form: str, dataset: str, method: str, fold: int | str | None = None) -> str:
        inside = "" if fold is None else f"/fold{fold}"
        return f"results/studies/{form}/tuning/{dataset}/{method}{inside}"

    def members(self, form: str, method: str) -> list[str]:
        """Return the contest's methods whose scores `method` may combine; none if it combines no scores."""
        combining = [name for name in self.params.studies[form].methods if combines(name)]
        names = self.params.studies[form].methods
        return [name for name in names if name not in combining] if method in combining else []

    def member_files(self, form: str, dataset: str, method: str, fold: str, name: str) -> list[str]:
        return [f"{self.folder(form, dataset, member, fold)}/{name}" for member in self.members(form, method)]

    def pairs(self, dataset: str, method: str) -> list[str]:
        return self.plan.stored(dataset)[1:] if models()[method].needs_pairs else []

    def pairs_option(self, dataset: str, method: str) -> str:
        return f"--pairs data/pairs/{dataset}" if models()[method].needs_pairs else ""

    def tune_options(self, form: str, method: str) -> str:
        own, members = self.params.studies[form], self.members(form, method)
        among = f" --among {','.join(members)}" if members else ""
        return f"--trials {own.trials} --tuners {own.tuners}{among}"

    def every_fold(self, form: str, dataset: str, method: str, name: str) -> list[str]:
        """Return the file `name` of every fold of a tuned method."""
        return [f"{self.folder(form, dataset, method, fold)}/{name}" for fold in self.plan.folds(dataset)]

    def source_trials(self, form: str, method: str) -> list[str]:
        """Return the trials of the data set whose choices are taken over."""
        return self.every_fold(form, self.params.studies[form].datasets[0], method, "trials.parquet")

    def choices(self, form: str) -> list[str]:
        """Return every choice that the contest makes."""
        own = self.params.studies[form]
        return [
            file
            for dataset in own.datasets
            for method in own.methods
            for file in self.every_fold(form, dataset, method, "choice.json")
        ]

    def page_inputs(self, form: str) -> list[str]:
        """Return what the contest's page is about: the values of all runs and of all trials."""
        own = self.params.studies[form]
        runs = [(dataset, "per_query.parquet") for dataset in (*own.datasets, *own.frozen)]
        trials = [(dataset, "trials_test.parquet") for dataset in own.datasets]
        return [
            f"{self.folder(form, dataset, method)}/{name}" for dataset, name in runs + trials for method in own.methods
        ]

    def files(self, form: str) -> Iterator[str]:
        """Yield every file that the contest's page is made of, from the stored data on."""
        own = self.params.studies[form]
        for dataset in (*own.datasets, *own.frozen):
            yield from self.plan.stored(dataset)
            for method in own.methods:
                for name in TUNED_FILES[dataset in own.frozen :]:
                    yield from self.every_fold(form, dataset, method, name)
        yield f"results/studies/{form}/choices.json"
        yield from self.page_inputs(form)

    def code(self, stage: str, method: str) -> str:
        return tuning_code(stage, method)


def combines(method: str) -> bool:
    """Return whether a method is made of other methods' scores."""
    cls = models()[method]
    return bool(cls.members(cls.Params()))


def with_frozen_datasets(config: dict[str, Any]) -> dict[str, Any]:
    """Return params.yaml with `--config contest_datasets=a,b` as `studies.contest.frozen`.

    These are the collections that the contest looks at once, with every choice taken over from the first data set of
    `studies.contest`. Raises GradrankError if params.yaml has no contest.
    """
    found = dict(config)
    if named := found.pop("contest_datasets", None):
        studies = dict(found.get("studies") or {})
        if not studies.get("contest"):
            raise GradrankError("contest_datasets: params.yaml has no `studies.contest`. Fix: add it")
        frozen = named if isinstance(named, list) else str(named).split(",")
        found["studies"] = studies | {"contest": {**studies["contest"], "frozen": frozen}}
    return found
