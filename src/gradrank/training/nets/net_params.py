"""The parameters of the rankers that torch trains on lists: the loss, the scorer and the training.

The defaults are those of the libraries. Models override them with the values of their papers, or with values chosen on
validation data.
"""

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from gradrank.base.errors import unknown
from gradrank.training.lookup import LOSSES, SCORERS, loss_names
from gradrank.training.model import param
from gradrank.training.nets.device import TorchParams
from gradrank.training.selection import CRITERION

CUTOFF = param(10_000, "ranks that count: more than any list has, as published; 10: those of NDCG@10", ge=1)
ScorerName = Literal["linear", "net", "attention", "dasalc"]


class ScorerParams(TorchParams):
    """The parameters of a scorer, which computes outputs from features."""

    if TYPE_CHECKING:  # each subclass declares these with its own defaults
        learning_rate: float
        weight_decay: float

    scorer: ScorerName = param(
        "net",
        "linear: no hidden layer; net: `hidden` layers; attention: documents see their query's others (Pobrotyn et "
        "al. 2020); dasalc: a net joined with attention (Qin et al. 2021)",
    )
    hidden: tuple[Annotated[int, Field(ge=1)], ...] = param(
        (64,), "net, dasalc: widths of the hidden layers; as the other nets here", max_length=8
    )
    activation: Literal["relu", "tanh"] = param("relu", "net, dasalc: as the other nets here")
    inputs: Literal["standardised", "log1p"] = param(
        "standardised",
        "by the training part's mean and deviation; log1p: sign(x) ln(1 + |x|) first, cut at 30 (Qin et al. 2021)",
    )
    norm: Literal["none", "batch", "layer"] = param(
        "none", "net, dasalc: before each activation; batch: Ioffe & Szegedy 2015, layer: Ba et al. 2016"
    )
    dropout: float = param(0.0, "of hidden units and of attention's weights (Srivastava et al. 2014)", ge=0, le=0.9)
    noise: float = param(
        0.0, "deviation of the normal noise on standardised inputs while training (Qin et al. 2021)", ge=0
    )
    width: int = param(64, "attention, dasalc: of a document's vector; allRank on MSLR-WEB30K: 144", ge=1)
    heads: int = param(2, "attention, dasalc: shares of the vector that attend by themselves; allRank: 2", ge=1)
    blocks: int = param(1, "attention, dasalc: encoder blocks; allRank on MSLR-WEB30K: 4", ge=1, le=16)
    feed_forward: int = param(
        128, "attention, dasalc: hidden units of a block's second half; allRank on MSLR-WEB30K: 512", ge=1
    )

    def modules(self) -> tuple[str, ...]:
        return (f"{SCORERS}.{self.scorer}",)

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}. Fix: change one of them")
        return self


class NeuralParams(ScorerParams):
    """The parameters of a scorer, a loss, and training with AdamW on mini-batches of queries."""

    loss: str  # subclasses declare the default
    epochs: int = param(80, "as the other nets here; the best one on validation is kept", ge=1)
    batch_queries: int = param(50, "as the other nets here", ge=1)
    learning_rate: float = param(1e-3, "Adam's default (Kingma & Ba 2015)", gt=0)
    weight_decay: float = param(0.01, "torch's default of AdamW (Loshchilov & Hutter 2019)", ge=0)
    select_by: str = param("map", "LETOR's protocol: the epoch by the validation part's MAP", pattern=CRITERION)

    def modules(self) -> tuple[str, ...]:
        return (*super().modules(), f"{LOSSES}.{self.loss}")

    @field_validator("loss")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in loss_names():
            raise ValueError(unknown("loss", name, loss_names()))
        return name


class NetParams(NeuralParams):
    """The parameters of a net with training settings chosen on MQ2007's validation parts, and a pairwise loss."""

    hidden: tuple[Annotated[int, Field(ge=1)], ...] = param(
        (64,),
        "widths of the hidden layers; 32 to 256 differ by less than seeds do in validation MAP on MQ2007 "
        "(the 2005 paper: 10)",
        max_length=8,
    )
    activation: Literal["relu", "tanh"] = param(
        "relu", "higher mean validation MAP on MQ2007 than tanh, the 2005 paper's"
    )
    epochs: int = param(80, "the best one is kept; MQ2007's mean validation MAP has stopped rising by then", ge=1)
    batch_queries: int = param(50, "20 to 100 differ by less than seeds do in mean validation MAP on MQ2007", ge=1)
    learning_rate: float = param(2e-3, "best mean validation MAP on MQ2007 of 0.0005 to 0.002", gt=0)
    weight_decay: float = param(2.0, "Loshchilov & Hutter 2019; best mean validation MAP on MQ2007 of 1 to 4", ge=0)
    sigma: float = param(1.0, "scale of a score difference (Burges 2010, section 2); the 2005 paper: 1", gt=0)
