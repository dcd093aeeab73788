"""FT-Transformer (Gorishniy et al. 2021): attention over the features of a document, with the softmax loss.

The scorer is gradrank.training.scorers.ft_transformer. The defaults are those of the authors' package
`rtdl_revisiting_models`. The search space has narrower blocks, because the default takes minutes per epoch on one
processor.
"""

from gradrank.training.model import param, register
from gradrank.training.nets.net_params import NeuralParams, ScorerName
from gradrank.training.nets.neural import NeuralRanker, own_loss
from gradrank.training.search_space import Choice, Dimension, LogUniform, Uniform

SOURCE = "package rtdl_revisiting_models"


class FTTransformerParams(NeuralParams):
    loss: str = own_loss("softmax")
    scorer: ScorerName = param("ft_transformer", "Gorishniy et al. 2021")
    width: int = param(192, SOURCE, ge=1)
    heads: int = param(8, SOURCE, ge=1)
    blocks: int = param(3, SOURCE, ge=1, le=16)
    feed_forward: int = param(256, f"{SOURCE}: 4/3 of the width, before ReGLU twice as much", ge=1)
    dropout: float = param(0.1, f"{SOURCE}: in the feed-forward layer", ge=0, le=0.9)
    attention_dropout: float | None = param(0.2, SOURCE, ge=0, le=0.9)
    learning_rate: float = param(1e-4, SOURCE, gt=0)
    weight_decay: float = param(1e-5, f"{SOURCE}; none for tokens, norms and biases", ge=0)
    epochs: int = param(40, "the best epoch on validation is kept", ge=1)


PAPER = "Gorishniy et al. 2021"
SPACE: dict[str, Dimension] = {
    "width": Choice((16, 32), f"{PAPER}: 64 to 512; narrower here, to limit the time of an epoch"),
    "heads": Choice((2, 4), f"{PAPER}: 8"),
    "blocks": Choice((1, 2), f"{PAPER}: 1 to 4"),
    "feed_forward": Choice((32, 64), f"{PAPER}: 2/3 to 8/3 of the width"),
    "dropout": Uniform(0.0, 0.5, PAPER),
    "attention_dropout": Uniform(0.0, 0.5, PAPER),
    "learning_rate": LogUniform(1e-5, 1e-2, f"{PAPER}: up to 1e-3, for wider blocks"),
    "weight_decay": LogUniform(1e-6, 1e-3, PAPER),
}


@register("ft_transformer")
class FTTransformer(NeuralRanker[FTTransformerParams]):
    Params = FTTransformerParams
    summary = "FT-Transformer: attention over the features of a document, softmax loss (Gorishniy et al. 2021)"
    space = SPACE
