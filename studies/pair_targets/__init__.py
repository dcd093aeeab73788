"""RankNet with target probabilities (Burges et al. 2005, sections 2 and 3), on artificial pairs.

The experiments ask what RankNet learns from probabilities, from hard labels, and from inconsistent targets.
"""

from typing import Annotated, Any

from pydantic import Field

from gradrank.bench.config.studies import StudySettings

TITLE = "Targets of pairs"
PUBLICATION = (
    "C. Burges, T. Shaked, E. Renshaw, A. Lazier, M. Deeds, N. Hamilton, G. Hullender: Learning to rank using "
    "gradient descent, sections 2 and 3. ICML 2005."
)
Size = Annotated[int, Field(ge=10, le=100_000)]


class Settings(StudySettings):
    """Settings of the study. draws: number of random tasks of each kind. sizes: numbers of training pairs."""

    draws: int = Field(ge=3, le=1000)
    sizes: tuple[Size, ...] = Field(min_length=1)


def jobs(settings: Settings) -> dict[str, Any]:
    """Return the settings of the only job.

    Splitting the work into several jobs would be slower, because starting a process takes longer than one draw.
    """
    return {"targets": {"draws": settings.draws, "sizes": list(settings.sizes)}}
