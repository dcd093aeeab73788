"""Learning curves: methods of several families are trained on fewer training queries, with fixed configurations.

The configurations are those of the section `models` of params.yaml. Nothing is tuned.
"""

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from gradrank.bench.config.studies import StudySettings
from studies.ablation import check_method

TITLE = "Learning curves"
PUBLICATION = (
    "The question: from how many training queries on does which family of methods win? No publication is re-created."
)

Queries = Annotated[int, Field(strict=True, ge=2)]


class Settings(StudySettings):
    """Settings of the study.

    families: the methods by family, which are entries of the section `models` of params.yaml. The key `models` must not
    be set. sizes: numbers of training queries, in addition to all queries. draws: number of samples of the training
    queries per size.
    """

    shows_trainings: ClassVar[bool] = False
    packs_jobs: ClassVar[bool] = True
    datasets: tuple[str, ...] = Field(min_length=1)
    families: dict[str, tuple[str, ...]] = Field(min_length=2)
    sizes: tuple[Queries, ...] = (30, 100, 300)
    draws: int = Field(10, strict=True, ge=2, le=1000)

    @model_validator(mode="before")
    @classmethod
    def _models_of_families(cls, values: Any) -> Any:
        families = values.get("families") if isinstance(values, dict) else None
        if not isinstance(families, dict):
            return values
        if "models" in values:
            raise ValueError("the methods are listed in `families`. Fix: remove the key `models`")
        listed = [names for names in families.values() if isinstance(names, list | tuple)]
        return values | {"models": [name for names in listed for name in names]}


def training_jobs(settings: Settings, trainings: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the settings of each job. A job trains a method on all draws of one number of training queries.

    The key `queries` has this number, or None for all queries. Raises GradrankError for methods that cannot be trained.
    """
    jobs: dict[str, Any] = {}
    for training in trainings:
        check_method(training)
        for size in (*settings.sizes, None):
            name = "-".join(map(str, (training["dataset"], training["method"], size or "all")))
            jobs.setdefault(name, training | {"queries": size, "draws": settings.draws})  # the first seed only
    return jobs
