"""Burges et al. 2005, the first RankNet paper: its artificial data, its figures, and its comparison on MQ2007."""

from collections.abc import Iterator
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gradrank.config.studies import StudySettings

TITLE = "RankNet, 2005"
PUBLICATION = (
    "C. Burges, T. Shaked, E. Renshaw, A. Lazier, M. Deeds, N. Hamilton, G. Hullender: Learning to rank using "
    "gradient descent. ICML 2005."
)
Size = Annotated[int, Field(ge=50, le=40_000, multiple_of=50)]  # training vectors, in files of 50
Queries = Annotated[int, Field(ge=1)]


class Artificial(BaseModel):
    """Section 5's experiments. draws: random targets of each kind; tie_sizes: sizes with and without ties."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    draws: int = Field(ge=1, le=1000)
    sizes: tuple[Size, ...] = Field(min_length=1)
    tie_sizes: tuple[Size, ...] = ()


class Fewer(BaseModel):
    """Some of the variants on so many training queries, drawn anew for each of the seeds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    methods: tuple[str, ...]
    queries: tuple[Queries, ...]
    seeds: int = Field(ge=1, le=100)


class Settings(StudySettings):
    """seeds: how often each variant is trained, the first time by the run itself."""

    artificial: Artificial
    seeds: int = Field(1, ge=1, le=100)
    fewer: Fewer | None = None

    @model_validator(mode="after")
    def _fewer_of_variants(self) -> Self:
        for name in self.fewer.methods if self.fewer and self.variants else ():
            if name not in self.variants:
                raise ValueError(f"fewer.methods: {name!r} is none of this study's variants")
        return self


def jobs(settings: Settings) -> dict[str, Any]:
    """A job a random target: `net-1`, `poly-1`, ...; and one a further training: `mq2007-table4_prank-seed2`, ..."""
    own = settings.artificial
    sizes = {"sizes": list(own.sizes), "tie_sizes": list(own.tie_sizes)}
    targets = {
        f"{target}-{draw}": {"target": target, "draw": draw} | sizes
        for draw in range(1, own.draws + 1)
        for target in ("net", "poly")
    }
    trainings = {
        "-".join(str(told[key]) for key in ("dataset", "method")) + ending: told
        for ending, told in _trainings(settings)
    }
    return targets | trainings


def _trainings(settings: Settings) -> Iterator[tuple[str, dict[str, Any]]]:
    """How the name of a training ends, and what it is told: also its model and parameters; queries: None for all."""
    from gradrank.config.variants import expand

    variants = expand(settings.variants, "", [])
    for dataset in settings.datasets:
        for method, variant in variants.items():
            told = {"dataset": dataset, "method": method, "model": variant.model, "params": variant.params}
            for seed in range(2, settings.seeds + 1):
                yield f"-seed{seed}", told | {"seed": seed, "queries": None}
            if settings.fewer and variant.entry in settings.fewer.methods:
                for queries in settings.fewer.queries:
                    for seed in range(1, settings.fewer.seeds + 1):
                        yield f"-queries{queries}-seed{seed}", told | {"seed": seed, "queries": queries}
