"""The parameters of the neural rankers that torch trains: the loss, the scorer, the training and the device.

The defaults are those of the libraries. Models override them with the values of their papers, or with values chosen on
validation data.

A model's parameter `device` selects the CPU or an NVIDIA GPU. Torch is imported inside the functions, because every
command that lists the models imports this file.
"""

import os
import sys
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, Field, WithJsonSchema, field_validator, model_validator

from gradrank.base.errors import GradrankError
from gradrank.training.model import ModelParams, param
from gradrank.training.registry import SCORERS, check_loss, check_scorer, loss_module, scorer_names
from gradrank.training.selection import CRITERION

if TYPE_CHECKING:
    import torch


class TorchParams(ModelParams):
    """The parameters of all models that torch trains."""

    device: Literal["cpu", "auto", "cuda"] = param(
        "cpu",
        "the reference; cuda: an NVIDIA GPU, whose results differ in the last digits; auto: a GPU if there is one",
    )


def prepare(device: str) -> "torch.device":
    """Configure torch for bit-identical results and return the torch device for the parameter `device`.

    Raises GradrankError if `device` is `cuda` and torch finds no GPU.
    """
    import torch

    torch.set_num_threads(1)  # more threads change the order of sums, and jobs already run in parallel
    if device == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        build = f"torch {torch.__version__}, built {_cuda(torch.version.cuda)}, finds no GPU"
        if device == "cuda":
            raise GradrankError(
                f"device: cuda, but {build}. Fix: install NVIDIA's driver and a CUDA build of torch (docs/gpu.md), "
                "or set device to cpu or auto"
            )
        print(f"device: auto: {build}; training on the CPU", file=sys.stderr)
        return torch.device("cpu")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # otherwise cuBLAS may change the order of sums
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("highest")  # no TF32
    print(f"device: {device}: training on {torch.cuda.get_device_name()}", file=sys.stderr)
    return torch.device("cuda")


def _cuda(version: str | None) -> str:
    return f"for CUDA {version}" if version else "without CUDA"


ScorerName = Annotated[str, AfterValidator(check_scorer), WithJsonSchema({"enum": scorer_names(), "type": "string"})]
InputsName = Literal["standardised", "log1p", "robust"]
EmbeddingName = Literal["none", "piecewise_linear", "periodic", "pbld"]


class ScorerParams(TorchParams):
    """The parameters of a scorer, which computes outputs from features."""

    if TYPE_CHECKING:  # each subclass declares these fields with its own defaults
        learning_rate: float
        weight_decay: float

    scorer: ScorerName = param(
        "net",
        "linear: no hidden layer; net: the layers in `hidden`; attention: self-attention over the documents of a query "
        "(Pobrotyn et al. 2020); dasalc: a net combined with attention (Qin et al. 2021); tabm: nets that share "
        "weights (Gorishniy et al. 2025); realmlp: a net with the recipe of Holzmüller et al. 2024; ft_transformer: "
        "attention over the features of a document (Gorishniy et al. 2021)",
    )
    hidden: tuple[Annotated[int, Field(ge=1)], ...] = param(
        (64,), "net, dasalc, tabm, realmlp: widths of the hidden layers; as in ranknet_two_layer", max_length=8
    )
    activation: Literal["relu", "tanh"] = param("relu", "net, dasalc: as in ranknet_two_layer")
    inputs: InputsName = param(
        "standardised",
        "with the mean and standard deviation of the training part; log1p: after sign(x) ln(1 + |x|), clipped to +-30 "
        "(Qin et al. 2021); robust: with the median and interquartile range, then clipped smoothly to +-3 (Holzmüller "
        "et al. 2024)",
    )
    embedding: EmbeddingName = param(
        "none",
        "embedding of each feature (Gorishniy et al. 2022); piecewise_linear: with quantiles, Q-LR; periodic: PLR; "
        "pbld: periodic with biases, and the feature itself (Holzmüller et al. 2024)",
    )
    embedding_width: int = param(24, "width of the embedding of a feature; rtdl_num_embeddings: 24", ge=2, le=1024)
    embedding_bins: int = param(48, "piecewise_linear: number of bins; rtdl_num_embeddings: 48", ge=1, le=1024)
    frequencies: int = param(48, "periodic, pbld: frequencies per feature; rtdl_num_embeddings: 48", ge=1, le=1024)
    frequency_scale: float = param(
        0.01, "periodic, pbld: standard deviation of the initial frequencies; rtdl_num_embeddings: 0.01", gt=0
    )
    norm: Literal["none", "batch", "layer"] = param(
        "none", "net, dasalc: norm before each activation; batch: Ioffe & Szegedy 2015, layer: Ba et al. 2016"
    )
    dropout: float = param(
        0.0, "dropout probability of hidden units and attention weights (Srivastava et al. 2014)", ge=0, le=0.9
    )
    noise: float = param(
        0.0, "standard deviation of normal noise on standardised inputs during training (Qin et al. 2021)", ge=0
    )
    width: int = param(64, "attention, dasalc, ft_transformer: width of the encoder; allRank on MSLR-WEB30K: 144", ge=1)
    heads: int = param(2, "attention, dasalc, ft_transformer: attention heads per block; allRank: 2", ge=1)
    blocks: int = param(
        1, "attention, dasalc, ft_transformer: number of encoder blocks; allRank on MSLR-WEB30K: 4", ge=1, le=16
    )
    feed_forward: int = param(
        128,
        "attention, dasalc, ft_transformer: width of the feed-forward layer of a block; allRank on MSLR-WEB30K: 512",
        ge=1,
    )
    attention_dropout: float | None = param(
        None, "ft_transformer: dropout probability of attention weights; null: as `dropout`", ge=0, le=0.9
    )
    submodels: int = param(
        32, "tabm: number of nets that share weights, called k by Gorishniy et al. 2025, who use 32", ge=1, le=256
    )

    def modules(self) -> tuple[str, ...]:
        return (f"{SCORERS}.{self.scorer}",)

    @model_validator(mode="after")
    def _members_have_a_hidden_layer(self) -> Self:
        if self.scorer == "tabm" and not self.hidden:
            raise ValueError("hidden is empty, and the scorer tabm needs a hidden layer. Fix: add a width")
        return self

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}. Fix: change one of them")
        return self


class NeuralParams(ScorerParams):
    """The parameters of a scorer, a loss, and training with AdamW on mini-batches of queries."""

    loss: str  # subclasses declare the default
    epochs: int = param(80, "as in ranknet_two_layer; the epoch with the best validation value is kept", ge=1)
    batch_queries: int = param(50, "as in ranknet_two_layer", ge=1)
    learning_rate: float = param(1e-3, "Adam's default (Kingma & Ba 2015)", gt=0)
    weight_decay: float = param(0.01, "torch's default of AdamW (Loshchilov & Hutter 2019)", ge=0)
    select_by: str = param("map", "LETOR's protocol: MAP on the validation part selects the epoch", pattern=CRITERION)

    def modules(self) -> tuple[str, ...]:
        return (*super().modules(), loss_module(self.loss))

    _is_known = field_validator("loss")(check_loss)


class NetParams(NeuralParams):
    """The parameters of a net with a pairwise loss. The defaults were chosen on the validation parts of MQ2007."""

    hidden: tuple[Annotated[int, Field(ge=1)], ...] = param(
        (64,),
        "widths of the hidden layers; on MQ2007, widths from 32 to 256 differ less in validation MAP than seeds do "
        "(Burges et al. 2005: 10)",
        max_length=8,
    )
    activation: Literal["relu", "tanh"] = param(
        "relu", "higher mean validation MAP on MQ2007 than tanh (Burges et al. 2005)"
    )
    epochs: int = param(80, "the best epoch is kept; on MQ2007, mean validation MAP does not rise after 80", ge=1)
    batch_queries: int = param(50, "on MQ2007, 20 to 100 differ less in mean validation MAP than seeds do", ge=1)
    learning_rate: float = param(2e-3, "best mean validation MAP on MQ2007 among 0.0005 to 0.002", gt=0)
    weight_decay: float = param(2.0, "Loshchilov & Hutter 2019; best mean validation MAP on MQ2007 among 1 to 4", ge=0)
    sigma: float = param(1.0, "scale of score differences (Burges 2010, section 2); Burges et al. 2005: 1", gt=0)
