"""RealMLP (Holzmüller et al. 2024): a net whose recipe of training needs no tuning, with the softmax loss.

The scorer is gradrank.training.scorers.realmlp. The defaults are those of RealMLP-TD for classification.
"""

from typing import Annotated

from pydantic import Field

from gradrank.training.model import param, register
from gradrank.training.nets.net_params import EmbeddingName, InputsName, NeuralParams, ScorerName
from gradrank.training.nets.neural import NeuralRanker, own_loss
from gradrank.training.search_space import Choice, Dimension, LogUniform

SOURCE = "RealMLP-TD (Holzmüller et al. 2024)"


class RealMLPParams(NeuralParams):
    loss: str = own_loss("softmax")
    scorer: ScorerName = param("realmlp", "Holzmüller et al. 2024")
    hidden: tuple[Annotated[int, Field(ge=1)], ...] = param((256, 256, 256), SOURCE, max_length=8)
    inputs: InputsName = param("robust", SOURCE)
    embedding: EmbeddingName = param("pbld", SOURCE)
    embedding_width: int = param(4, SOURCE, ge=2, le=1024)
    frequencies: int = param(16, SOURCE, ge=1, le=1024)
    frequency_scale: float = param(0.1, SOURCE, gt=0)
    dropout: float = param(0.15, SOURCE, ge=0, le=0.9)
    learning_rate: float = param(0.04, f"{SOURCE} for classification; regression: .2", gt=0)
    weight_decay: float = param(0.02, SOURCE, ge=0)
    epochs: int = param(256, f"{SOURCE}; the best epoch on validation is kept", ge=1)
    batch_queries: int = param(10, f"{SOURCE}: 256 rows, and queries of LETOR have about 25 documents", ge=1)


PUBLISHED_SPACE = "search space of RealMLP (Holzmüller et al. 2024)"
SPACE: dict[str, Dimension] = {
    "learning_rate": LogUniform(2e-2, 3e-1, PUBLISHED_SPACE),
    "frequency_scale": LogUniform(0.05, 0.5, PUBLISHED_SPACE),
    "hidden": Choice(((256, 256, 256), (64, 64, 64, 64, 64), (512,)), PUBLISHED_SPACE),
    "dropout": Choice((0.0, 0.15, 0.3), PUBLISHED_SPACE),
    "weight_decay": Choice((0.0, 0.02), PUBLISHED_SPACE),
    "embedding": Choice(("none", "periodic", "pbld"), f"{PUBLISHED_SPACE}, without the linear form of `periodic`"),
}


@register("realmlp")
class RealMLP(NeuralRanker[RealMLPParams]):
    Params = RealMLPParams
    summary = "RealMLP: a net with a recipe of training that needs no tuning, softmax loss (Holzmüller et al. 2024)"
    space = SPACE
