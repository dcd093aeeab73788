"""Feature ablation: every model of the study is trained again without each group of features.

The full model is that of the workflow. Both trainings have the same parameters, seed, pairs and convention.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Self

from pydantic import AliasChoices, Field, StringConstraints, model_validator

from gradrank.base.errors import GradrankError
from gradrank.bench.config.studies import StudySettings
from gradrank.bench.folds.settings import IMPORTED
from gradrank.data.sources.file_form import ColumnName

TITLE = "Feature ablation"
PUBLICATION = "The question: which groups of features does a model need? No publication is re-created."

GroupName = Annotated[str, StringConstraints(pattern=r"^\w+$")]  # part of the name of a job
Group = Annotated[tuple[ColumnName, ...], Field(min_length=1)]


class Settings(StudySettings):
    """Settings of the study.

    models: the methods, which are entries of the section `models` of params.yaml. The key in study.yaml is `methods`
    or, as in other studies, `models`. groups: dict from the name of each group to its features. A feature is a name, a
    number from 1 as in LETOR files, or a range of numbers such as "11-15".
    """

    datasets: tuple[str, ...] = Field(min_length=1)
    models: tuple[str, ...] = Field((), validation_alias=AliasChoices("methods", "models"))
    groups: dict[GroupName, Group] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_models(self) -> Self:
        if not (self.models or self.variants):
            raise ValueError("no method is listed in `methods` or `variants`")
        return self


def training_jobs(settings: Settings, trainings: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the settings of each job. A job trains a method with one seed on all folds of a data set, without a group.

    Raises GradrankError for methods that cannot be trained without some of their features.
    """
    jobs = {}
    for training in trainings:
        check_method(training)
        for group, features in settings.groups.items():
            name = "-".join(map(str, (training["dataset"], training["method"], group, training["seed"])))
            jobs[name] = training | {"group": group, "features": list(features)}
    return jobs


def check_method(training: dict[str, Any]) -> None:
    """Raise GradrankError if a method has imported scores, combines other methods, or has constraints on features."""
    from gradrank.training.registry import get_model

    method, params = training["method"], training["params"]
    reason = None
    if training["model"] == IMPORTED:
        reason = "its scores are imported, so it cannot be trained"
    elif (cls := get_model(training["model"])).members(cls.Params(**params)):
        reason = "its features are the scores of other methods"
    elif params.get("monotone") or params.get("interactions"):
        reason = "it has constraints on features, which may be left out"
    if reason is not None:
        raise GradrankError(f"{method}: {reason}. Fix: remove it from the study")
