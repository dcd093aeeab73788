"""Burges et al. 2005, the first RankNet paper: its artificial data, its figures, and its comparison on MQ2007."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from gradrank.pipeline.studies import StudySettings

TITLE = "RankNet, 2005"
PUBLICATION = (
    "C. Burges, T. Shaked, E. Renshaw, A. Lazier, M. Deeds, N. Hamilton, G. Hullender: Learning to rank using "
    "gradient descent. ICML 2005."
)
Size = Annotated[int, Field(ge=50, le=40_000, multiple_of=50)]  # training vectors, in files of 50


class Artificial(BaseModel):
    """Section 5's experiments. draws: random targets of each kind; tie_sizes: sizes with and without ties."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    draws: int = Field(ge=1, le=1000)
    sizes: tuple[Size, ...] = Field(min_length=1)
    tie_sizes: tuple[Size, ...] = ()


class Settings(StudySettings):
    artificial: Artificial


def jobs(settings: Settings) -> dict[str, Any]:
    """A job a random target: `net-1`, `poly-1`, `net-2`, ..."""
    own = settings.artificial
    sizes = {"sizes": list(own.sizes), "tie_sizes": list(own.tie_sizes)}
    return {
        f"{target}-{draw}": {"target": target, "draw": draw} | sizes
        for draw in range(1, own.draws + 1)
        for target in ("net", "poly")
    }
