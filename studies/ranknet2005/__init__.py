"""The first RankNet paper (Burges et al. 2005): its artificial data, its figures, and its comparison on MQ2007."""

from collections.abc import Iterator
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gradrank.bench.config.studies import StudySettings

TITLE = "RankNet, 2005"
PUBLICATION = (
    "C. Burges, T. Shaked, E. Renshaw, A. Lazier, M. Deeds, N. Hamilton, G. Hullender: Learning to rank using "
    "gradient descent. ICML 2005."
)
# A number of training vectors. It must be a multiple of 50, because each file has 50 vectors.
Size = Annotated[int, Field(ge=50, le=40_000, multiple_of=50)]
Queries = Annotated[int, Field(ge=1)]


class Artificial(BaseModel):
    """Settings of the experiments of section 5.

    draws: number of random target functions of each kind (net and polynomial). sizes: numbers of training vectors in
    Table 1. tie_sizes: numbers of training vectors in Table 2; for each of them, a net is trained with and without
    pairs of equal grades. boosted_sizes: numbers of training vectors on which RankNet's cost is boosted.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    draws: int = Field(ge=1, le=1000)
    sizes: tuple[Size, ...] = Field(min_length=1)
    tie_sizes: tuple[Size, ...] = ()
    boosted_sizes: tuple[Size, ...] = ()


class Fewer(BaseModel):
    """Settings of the trainings on fewer queries.

    methods: the variants to train. queries: numbers of training queries. seeds: number of trainings for each variant
    and each number of queries. Each training has its own random sample of the training queries.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    methods: tuple[str, ...]
    queries: tuple[Queries, ...]
    seeds: int = Field(ge=1, le=100)


class Settings(StudySettings):
    """Settings of the study.

    seeds: number of trainings of each variant, each with a different seed. The first training is that of the workflow.
    """

    artificial: Artificial
    seeds: int = Field(1, ge=1, le=100)
    fewer: Fewer | None = None

    @model_validator(mode="after")
    def _fewer_of_variants(self) -> Self:
        for name in self.fewer.methods if self.fewer and self.variants else ():
            if name not in self.variants:
                raise ValueError(f"fewer.methods: {name!r} is not one of this study's variants")
        return self


def jobs(settings: Settings) -> dict[str, Any]:
    """Return the settings of each job. The keys are the names of the jobs.

    There is one job per random target (`net-1`, `poly-1`, ...), and one job per additional training
    (`mq2007-table4_prank-seed2`, ...).
    """
    artificial = settings.artificial
    sizes = {key: list(getattr(artificial, key)) for key in ("sizes", "tie_sizes", "boosted_sizes")}
    targets = {
        f"{target}-{draw}": {"target": target, "draw": draw} | sizes
        for draw in range(1, artificial.draws + 1)
        for target in ("net", "poly")
    }
    trainings = {
        "-".join(str(training[key]) for key in ("dataset", "method")) + ending: training
        for ending, training in _trainings(settings)
    }
    return targets | trainings


def _trainings(settings: Settings) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (end of the job name, settings) for each additional training.

    The settings include the model and its parameters. For a training on all queries, `queries` has the value None.
    """
    from gradrank.bench.config.variants import expand

    variants = expand(settings.variants, "", [])
    for dataset in settings.datasets:
        for method, variant in variants.items():
            training = {"dataset": dataset, "method": method, "model": variant.model, "params": variant.params}
            for seed in range(2, settings.seeds + 1):
                yield f"-seed{seed}", training | {"seed": seed, "queries": None}
            if settings.fewer and variant.entry in settings.fewer.methods:
                for queries in settings.fewer.queries:
                    for seed in range(1, settings.fewer.seeds + 1):
                        yield f"-queries{queries}-seed{seed}", training | {"seed": seed, "queries": queries}
