"""A contest of methods under one tuning budget.

Each method is tuned on the validation part of each fold. The selected configuration is trained again with several
seeds. The page states which differences between methods are statistically supported.
"""

from itertools import product
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from gradrank.base.errors import unknown
from gradrank.bench.config.studies import Count, Trials, TunedStudySettings

TITLE = "A fair contest"
PUBLICATION = (
    "The protocol follows X. Bouthillier et al.: Accounting for variance in machine learning benchmarks. MLSys "
    "2021, and J. Dodge, S. Gururangan, D. Card, R. Schwartz, N. A. Smith: Show your work: improved reporting of "
    "experimental results. EMNLP 2019."
)


class Budget(BaseModel):
    """The budget of one method. A missing value is that of the contest."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    trials: Trials | None = None
    tuners: Count | None = None


class Divisions(BaseModel):
    """Trainings on other divisions of the queries.

    datasets, methods: names of collections and methods. Those that are not in the contest have no effect, because the
    reduced form of a contest has the same divisions. count: number of divisions.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    count: Annotated[int, Field(strict=True, ge=2, le=100)] = 10


class Settings(TunedStudySettings):
    """Settings of the contest.

    methods: names of registered models. The models are tuned in their search spaces, and the section `models` of
    params.yaml is ignored. budgets: other numbers of tuners or trials by method. divisions: trainings on other
    divisions of the queries. frozen: collections on which nothing is tuned. Each of them is evaluated once, with the
    configurations that were chosen on the first data set in `datasets`.
    """

    methods: tuple[str, ...] = Field(min_length=1)
    budgets: dict[str, Budget] = Field(default_factory=dict)
    divisions: Divisions | None = None
    frozen: tuple[str, ...] = ()

    @field_validator("methods", "budgets", "divisions")
    @classmethod
    def _exist(cls, value: Any) -> Any:
        from gradrank.training.registry import models

        names = value.methods if isinstance(value, Divisions) else value or ()
        for name in names:
            if name not in models():
                raise ValueError(unknown("model", name, models()))
        if len(set(names)) < len(names):
            duplicates = {name for name in names if names.count(name) > 1}
            raise ValueError(f"duplicate method: {', '.join(sorted(duplicates))}")
        return value

    @model_validator(mode="after")
    def _frozen_are_not_tuned(self) -> "Settings":
        if both := sorted(set(self.frozen) & set(self.datasets)):
            raise ValueError(
                f"{', '.join(both)}: listed in both `frozen` and `datasets`. Fix: remove it from one of them"
            )
        return self

    def method_names(self) -> list[str]:
        return list(self.methods)

    def frozen_datasets(self) -> list[str]:
        return list(self.frozen)

    def divided(self) -> list[tuple[str, str]]:
        """Return the data sets and methods of the contest that are trained on other divisions of the queries."""
        own = self.divisions or Divisions(datasets=(), methods=())
        datasets, methods = set(self.datasets) & set(own.datasets), set(self.methods) & set(own.methods)
        return sorted(product(datasets, methods))

    def trials_of(self, method: str) -> int:
        """Return the number of configurations that each tuner of a method evaluates per fold."""
        return self.budgets.get(method, Budget()).trials or self.trials

    def tuners_if_tuned(self, method: str) -> int:
        return self.budgets.get(method, Budget()).tuners or self.tuners
