"""A contest of methods under one budget: tuned on each fold's own validation part, trained anew, claimed with care."""

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
    """methods: registered models, with their spaces; what `models` of params.yaml says of them does not count here.

    trials: configurations that each of `tuners` independent tuners tries a fold; seeds: how often its choice is trained
    anew. frozen: collections that are looked at once, with the configurations chosen on the first of `datasets`.
    """

    trials: Annotated[int, Field(ge=1, le=10_000)] = 16
    seeds: Annotated[int, Field(ge=1, le=100)] = 3
    tuners: Annotated[int, Field(ge=1, le=100)] = 2
    methods: tuple[str, ...] = Field(min_length=1)
    frozen: tuple[str, ...] = ()

    @field_validator("methods")
    @classmethod
    def _are_installed(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        from gradrank.training.registry import missing_packages, models

        for name in names:
            if name not in models():
                raise ValueError(unknown("model", name, models()))
            if missing := missing_packages(models()[name]):
                raise ValueError(f"{name} needs {', '.join(missing)}: install it, or leave the method out")
        if len(set(names)) < len(names):
            raise ValueError("a method stands in it twice")
        return names

    @model_validator(mode="after")
    def _frozen_ones_are_others(self) -> "Settings":
        if both := sorted(set(self.frozen) & set(self.datasets)):
            raise ValueError(f"`frozen` and `datasets` both name {', '.join(both)}; a collection is tuned on or not")
        return self
