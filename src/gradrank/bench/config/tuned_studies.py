"""Settings of studies whose methods are tuned under one budget and in parts, such as a contest.

The files of such a study, its jobs and its targets are those of the contest (gradrank.bench.tuning.folders). A study
only declares its methods and writes its page.
"""

import json
from abc import abstractmethod
from typing import Annotated, Any

from pydantic import Field

from gradrank.bench.config.studies import StudySettings
from gradrank.bench.tuning.choice_values import CHOICE_VALUES
from gradrank.bench.tuning.variants import variant_class, variant_modules
from gradrank.training.model import Model
from gradrank.training.registry import models
from gradrank.training.spaces import is_tuned, members_parameter

Count = Annotated[int, Field(strict=True, ge=1, le=100)]
Trials = Annotated[int, Field(strict=True, ge=1, le=10_000)]


class TunedStudySettings(StudySettings):
    """Settings of a study whose methods are tuned.

    tuners: number of tuners per method. A tuner is one independent random search. trials: number of configurations that
    each tuner evaluates per fold. seconds: processor time per tuner and fold for the comparison at equal time. seeds:
    number of trainings, with different seeds, of the configuration that a tuner chose for a fold.
    """

    trials: Trials = 16
    seeds: Count = 3
    tuners: Count = 2
    seconds: Annotated[float, Field(gt=0)] = 20.0

    @abstractmethod
    def method_names(self) -> list[str]:
        """Return the names of the methods: registered models, or variants of them."""

    def frozen_datasets(self) -> list[str]:
        """Return the data sets on which nothing is tuned."""
        return []

    def variant_of(self, method: str, dataset: str | None = None) -> dict[str, Any] | None:
        """Return the registered `model` and the fixed parameters of a method; None for a registered model.

        dataset: by default, the parameters have the values for data sets without values of their own.
        """
        return None

    def refits_only_choices(self) -> bool:
        """Return whether only the choices are trained again, and no other trials for comparison."""
        return False

    def divided(self) -> list[tuple[str, str]]:
        """Return the data sets and methods that are trained on other divisions of the queries."""
        return []

    def model_class(self, method: str) -> type[Model]:
        """Return the class of a method."""
        variant = self.variant_of(method)
        return models()[method] if variant is None else variant_class(method, variant)

    def further_modules(self, stage: str, method: str) -> tuple[str, ...]:
        """Return the modules that `tune` or `refit` runs for a method of this study in addition to those of a model."""
        variant = self.variant_of(method)
        of_variant = () if variant is None else variant_modules(variant)
        return of_variant + ((CHOICE_VALUES,) if stage == "refit" and self.refits_only_choices() else ())

    def variant_json(self, method: str, dataset: str) -> str | None:
        """Return the variant as JSON, as the commands of the workflow take it; None for a registered model."""
        variant = self.variant_of(method, dataset)
        return None if variant is None else json.dumps(variant, sort_keys=True)

    def trials_of(self, method: str) -> int:
        """Return the number of configurations that each tuner of a method evaluates per fold."""
        return self.trials

    def tuners_of(self, method: str) -> int:
        """Return the number of tuners of a method. A method without a search space has one.

        A method that combines the scores of others has `tuners`, because its members have tuners.
        """
        cls = self.model_class(method)
        return self.tuners_if_tuned(method) if is_tuned(cls) or members_parameter(cls) else 1

    def tuners_if_tuned(self, method: str) -> int:
        """Return the number of tuners of a method that has a search space."""
        return self.tuners
