"""TabM (Gorishniy et al. 2025): an ensemble of nets that share most of their weights, with the softmax loss.

The scorer is gradrank.training.scorers.tabm. The defaults are those of the authors' package `tabm`. The search space
has smaller ensembles and layers, because the default takes minutes per epoch on one processor.
"""

from typing import Annotated

from pydantic import Field

from gradrank.training.model import param, register
from gradrank.training.nets.net_params import NeuralParams, ScorerName
from gradrank.training.nets.neural import NeuralRanker, own_loss
from gradrank.training.search_space import Choice, Dimension, LogUniform, Uniform


class TabMParams(NeuralParams):
    loss: str = own_loss("softmax")
    scorer: ScorerName = param("tabm", "Gorishniy et al. 2025")
    hidden: tuple[Annotated[int, Field(ge=1)], ...] = param(
        (512, 512, 512), "package tabm: three layers of width 512; two layers with an embedding", max_length=8
    )
    dropout: float = param(0.1, "package tabm", ge=0, le=0.9)
    learning_rate: float = param(2e-3, "documentation of the package tabm", gt=0)
    weight_decay: float = param(3e-4, "documentation of the package tabm", ge=0)
    epochs: int = param(40, "the best epoch on validation is kept", ge=1)


SPACE: dict[str, Dimension] = {
    "submodels": Choice((8, 16), "less than the 32 of Gorishniy et al. 2025, to limit the time of an epoch"),
    "hidden": Choice(((64,), (64, 64), (64, 64, 64), (128,)), "Gorishniy et al. 2025: 1 to 5 layers of 64 to 1024"),
    "learning_rate": LogUniform(1e-4, 5e-3, "Gorishniy et al. 2025"),
    "weight_decay": LogUniform(1e-4, 1e-1, "Gorishniy et al. 2025"),
    "dropout": Uniform(0.0, 0.5, "Gorishniy et al. 2025"),
}


@register("tabm")
class TabM(NeuralRanker[TabMParams]):
    Params = TabMParams
    summary = "TabM: many nets that share weights and are trained together, softmax loss (Gorishniy et al. 2025)"
    space = SPACE
