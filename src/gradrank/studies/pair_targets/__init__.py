"""Sections 2 and 3 of the first RankNet paper on artificial pairs: probabilities as targets, also in a circle."""

from typing import Annotated, Any

from pydantic import Field

from gradrank.config.studies import StudySettings

TITLE = "Targets of pairs"
PUBLICATION = (
    "C. Burges, T. Shaked, E. Renshaw, A. Lazier, M. Deeds, N. Hamilton, G. Hullender: Learning to rank using "
    "gradient descent, sections 2 and 3. ICML 2005."
)
Size = Annotated[int, Field(ge=10, le=100_000)]


class Settings(StudySettings):
    """draws: random tasks of each kind; sizes: pairs to train on."""

    draws: int = Field(ge=3, le=1000)
    sizes: tuple[Size, ...] = Field(min_length=1)


def jobs(settings: Settings) -> dict[str, Any]:
    """One, of a second or two: a draw takes less than a process takes to start."""
    return {"targets": {"draws": settings.draws, "sizes": list(settings.sizes)}}
