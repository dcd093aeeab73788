"""DASALC (Qin et al. 2021): a net with self-attention over the list, on log-transformed features, with softmax loss.

The scorer is gradrank.training.scorers.dasalc. Its layers are smaller than in the paper, because the collections of
this project are smaller.
"""

from typing import Annotated, Literal

from pydantic import Field

from gradrank.training.model import param, register
from gradrank.training.nets.net_params import InputsName, NeuralParams, ScorerName
from gradrank.training.nets.neural import ATTENTION, NeuralRanker, own_loss
from gradrank.training.search_space import Choice, LogUniform


class DASALCParams(NeuralParams):
    loss: str = own_loss("softmax")
    scorer: ScorerName = param("dasalc", "Qin et al. 2021, section 4")
    hidden: tuple[Annotated[int, Field(ge=1)], ...] = param(
        (64, 64), "smaller than in Qin et al. 2021, whose collections have 136 to 700 features", max_length=8
    )
    inputs: InputsName = param("log1p", "Qin et al. 2021, section 4.1")
    norm: Literal["none", "batch", "layer"] = param("batch", "Qin et al. 2021, section 4")
    dropout: float = param(0.1, "as in transformers (Vaswani et al. 2017)", ge=0, le=0.9)
    noise: float = param(0.1, "Qin et al. 2021 add normal noise to the inputs; its size was chosen here", ge=0)
    epochs: int = param(40, "the best epoch on validation is kept", ge=1)


@register("dasalc")
class DASALC(NeuralRanker[DASALCParams]):
    Params = DASALCParams
    summary = "DASALC: a net crossed with self-attention over the list, softmax loss (Qin et al. 2021)"
    space = ATTENTION | {
        "hidden": Choice(((64,), (64, 64), (128, 64)), "one to two layers of the usual widths"),
        "noise": LogUniform(0.01, 1.0, "up to the standard deviation of the inputs"),
    }
