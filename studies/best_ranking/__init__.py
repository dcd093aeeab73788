"""The best ranking: how good is a fusion of methods of every kind, each trained several times and on more queries?

The members of the fusion are trained with several seeds, on the training part and on the training and validation parts
together. If a contest tuned a member, the member has the choices of the contest's tuners, one after the other.
Otherwise it has the parameters of the section `models` of params.yaml.
"""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from gradrank.bench.config.studies import StudySettings
from studies.ablation import check_method

TITLE = "The best ranking"
PUBLICATION = (
    "The question: how good is a fusion of methods of every kind that makes full use of the labelled queries? No "
    "publication is re-created."
)


class Settings(StudySettings):
    """Settings of the study.

    models: the members, which are entries of the section `models` of params.yaml. choices: the file choices.json of a
    contest, or None. trainings: number of trainings per member and fold, each with its own seed.
    """

    shows_trainings: ClassVar[bool] = False
    datasets: tuple[str, ...] = Field(min_length=1)
    models: tuple[str, ...] = Field(min_length=2)
    choices: Path | None = None
    trainings: int = Field(5, strict=True, ge=1, le=100)


def training_jobs(settings: Settings, trainings: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the settings of each job. A job trains one member several times on every fold of a data set.

    The key `choices` has the path of choices.json. The key `chosen` has one list per tuner, with the configuration that
    the tuner chose for each fold. None: the file has no choices for the data set. An empty list: it has no choices for
    the member. Raises GradrankError for methods that cannot be members.
    """
    path, jobs = settings.choices, {}
    for training in trainings:
        check_method(training)
        chosen = [] if path is None else _chosen(path, training["dataset"], training["method"])
        own = {"choices": str(path), "chosen": chosen, "trainings": settings.trainings}
        jobs.setdefault(f"{training['dataset']}-{training['method']}", training | own)  # the first seed only
    return jobs


def _chosen(path: Path, dataset: str, method: str) -> list[list[dict[str, Any]]] | None:
    """Return the configurations that the tuners of a contest chose for a method, one list over the folds per tuner."""
    entries = {key: entry for key, entry in _read(path).items() if key.startswith(f"{dataset}/")}
    if not entries:
        return None
    prefix = f"{dataset}/{method}/fold"
    folds = {int(key.removeprefix(prefix)): entry for key, entry in entries.items() if key.startswith(prefix)}
    by_fold = [
        [values["configuration"] for key, values in sorted(entry.items()) if key.startswith("tuner")]
        for _, entry in sorted(folds.items())
    ]
    return [list(configurations) for configurations in zip(*by_fold, strict=True)]


@cache
def _read(path: Path) -> dict[str, dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
