"""A contest of methods under one tuning budget.

Each method is tuned on the validation part of each fold. The selected configuration is trained again with several
seeds. The page states which differences between methods are statistically supported.
"""

from typing import Annotated

from pydantic import Field, field_validator, model_validator

from gradrank.base.errors import unknown
from gradrank.config.studies import StudySettings

TITLE = "A fair contest"
PUBLICATION = (
    "The protocol follows X. Bouthillier et al.: Accounting for variance in machine learning benchmarks. MLSys "
    "2021, and J. Dodge, S. Gururangan, D. Card, R. Schwartz, N. A. Smith: Show your work: improved reporting of "
    "experimental results. EMNLP 2019."
)


class Settings(StudySettings):
    """Settings of the contest.

    methods: names of registered models. The models are tuned in their search spaces, and the section `models` of
    params.yaml is ignored. tuners: number of tuners per method. A tuner is one independent random search. trials:
    number of configurations that each tuner evaluates per fold. seeds: number of trainings, with different seeds, of
    the configuration that a tuner chose for a fold. frozen: collections on which nothing is tuned. Each of them is
    evaluated once, with the configurations that were chosen on the first data set in `datasets`.
    """

    trials: Annotated[int, Field(ge=1, le=10_000)] = 16
    seeds: Annotated[int, Field(ge=1, le=100)] = 3
    tuners: Annotated[int, Field(ge=1, le=100)] = 2
    methods: tuple[str, ...] = Field(min_length=1)
    frozen: tuple[str, ...] = ()

    @field_validator("methods")
    @classmethod
    def _exist(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        from gradrank.training.registry import models

        for name in names:
            if name not in models():
                raise ValueError(unknown("model", name, models()))
        if len(set(names)) < len(names):
            duplicates = {name for name in names if names.count(name) > 1}
            raise ValueError(f"duplicate method: {', '.join(sorted(duplicates))}")
        return names

    @model_validator(mode="after")
    def _frozen_are_not_tuned(self) -> "Settings":
        if both := sorted(set(self.frozen) & set(self.datasets)):
            raise ValueError(
                f"{', '.join(both)}: listed in both `frozen` and `datasets`. Fix: remove it from one of them"
            )
        return self
