"""The ARSM-L2R paper (Dadaneh et al. 2020): its tables, its training recipe, its claims, and its gradient estimator.

One section compares RankSVM on OHSUMED with the results that LETOR 3.0 published.
"""

from collections.abc import Iterable
from typing import Any, Self

from pydantic import Field, model_validator

from gradrank.bench.config.studies import StudySettings

TITLE = "ARSM-L2R"
PUBLICATION = (
    "S. Z. Dadaneh, S. Boluki, M. Zhou, X. Qian: ARSM gradient estimator for supervised learning to rank. ICASSP 2020."
)
BASE = "arsm"  # the method whose training is repeated with a loss per document
SWEEP = {  # settings of the job that trains RankSVM on OHSUMED; the paper takes this row of Table 3 from LETOR 3.0
    "exponents": list(range(-24, 11, 2)),  # exponents of C = 2^exponent for the solver that runs to the optimum
    "stopped": [-12, -9, -6, -3, 0],  # exponents of C for the solver that is stopped early
    "visits": [300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000],  # numbers of pairs after which the solver stops
    "orders": 5,  # number of random orders of the pairs
}


class Settings(StudySettings):
    """Settings of the study.

    repeated: entries of `models` and `variants` that are trained with several seeds. seeds: number of seeds of each of
    these trainings. The first seeds are those of the workflow.
    """

    repeated: tuple[str, ...] = ()
    seeds: int = Field(1, ge=1, le=100)

    @model_validator(mode="after")
    def _repeats_own_methods(self) -> Self:
        for name in self.repeated:
            if name not in (*self.models, *self.variants):
                raise ValueError(f"repeated: {name!r} is not one of this study's models or variants")
        return self


def training_jobs(settings: Settings, trainings: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the settings of each job. The key is the name of the job, and `kind` says what the job does.

    There is one job per additional seed of each repeated training (`repeat`), one job per seed of the training with a
    loss per document (`pointwise`), and the job of RankSVM on OHSUMED (`ranksvm`).
    """
    jobs: dict[str, Any] = {}
    seeds: dict[tuple[str, str], list[int]] = {}
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for training in trainings:
        key = training["dataset"], training["method"]
        seeds.setdefault(key, []).append(training["seed"])
        first.setdefault(key, training)
    for (dataset, method), training in first.items():
        known = seeds[dataset, method]
        further = [max(known) + number for number in range(1, settings.seeds - len(known) + 1)]
        if method.partition("-")[0] in settings.repeated:
            for seed in further:
                jobs[f"{dataset}-{method}-seed{seed}"] = training | {"seed": seed, "kind": "repeat"}
        if method == BASE:
            for seed in (*known, *further):
                jobs[f"{dataset}-pointwise-seed{seed}"] = training | {"seed": seed, "kind": "pointwise"}
    sweeps = {f"ranksvm-{name}": name for name in settings.datasets if name == "ohsumed"}
    return jobs | {job: {"dataset": name, "kind": "ranksvm"} | SWEEP for job, name in sweeps.items()}
