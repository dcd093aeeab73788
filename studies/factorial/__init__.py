"""A factorial study of scorers and losses: every scorer with every loss, tuned under one budget.

The study is computed like the contest, in parts whose results are in git. The page separates the effect of the scorer,
the effect of the loss and their interaction.
"""

from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, computed_field, field_validator, model_validator

from gradrank.base.errors import GradrankError
from gradrank.bench.config.studies import TunedStudySettings
from gradrank.bench.tuning.variants import variant_class

TITLE = "Losses and scorers: a factorial study"
PUBLICATION = (
    "The question: do the losses or the scorers bring the gains? No publication is re-created. The design follows "
    "R. A. Fisher: The design of experiments. 1935, and the protocol is that of the contest."
)
TREES = "trees"  # the scorer that LightGBM trains
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+$")]
BASE = "softmax"  # the model of all combinations of nets; it adds no settings of a loss


class Settings(TunedStudySettings):
    """Settings of the study.

    scorers: the fixed parameters of each scorer. The name is that of a scorer of nets, or `trees`, or any other name if
    the parameters have the key `scorer`. losses: names of losses with one output per document. Every scorer is combined
    with every loss. nets_by_dataset: further fixed parameters of all nets on some data sets.
    """

    trials: int = Field(4, strict=True, ge=1, le=10_000)
    seeds: int = Field(2, strict=True, ge=1, le=100)
    scorers: dict[Name, dict[str, Any]] = Field(min_length=2)
    losses: tuple[str, ...] = Field(min_length=2)
    nets_by_dataset: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @field_validator("losses")
    @classmethod
    def _differ(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError(f"duplicate name in {', '.join(names)}. Fix: list each name once")
        return names

    @model_validator(mode="after")
    def _are_defined(self) -> Self:
        from gradrank.training.registry import check_loss

        for loss in self.losses:
            check_loss(loss)
        for scorer in self.scorers:
            for dataset in (None, *self.nets_by_dataset):
                try:
                    method = cell(scorer, self.losses[0])
                    variant_class(method, self.variant_of(method, dataset))
                except GradrankError as error:
                    where = f"scorer {scorer!r}" + (f" on {dataset}" if dataset else "")
                    raise ValueError(f"{where}: {error}") from None
        return self

    @computed_field
    @property
    def methods(self) -> tuple[str, ...]:
        """Names of all combinations of a scorer and a loss."""
        return tuple(cell(scorer, loss) for scorer in self.scorers for loss in self.losses)

    def method_names(self) -> list[str]:
        return list(self.methods)

    def variant_of(self, method: str, dataset: str | None = None) -> dict[str, Any]:
        """Return the model and the fixed parameters of a combination.

        The settings of the loss are its own defaults and are not tuned, so the loss is the same function for all
        scorers. All combinations select the epoch or round by validation NDCG@10.
        """
        name, _, loss = method.partition("-")
        scorer = {"scorer": name} | self.scorers[name]
        if scorer["scorer"] == TREES:
            return {"model": "any_loss_trees", "loss": loss} | self.scorers[name]
        of_dataset = self.nets_by_dataset.get(dataset, {}) if dataset else {}
        return {"model": BASE, "loss": loss, "select_by": "ndcg@10"} | scorer | of_dataset

    def refits_only_choices(self) -> bool:
        return True


def cell(scorer: str, loss: str) -> str:
    """Return the name of the combination of a scorer and a loss."""
    return f"{scorer}-{loss}"
