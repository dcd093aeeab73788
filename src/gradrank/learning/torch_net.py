"""The training loop of the neural rankers: any loss on scores, mini-batches of queries, best epoch kept.

Layers and optimiser are on the device that `device` names; losses, validation and all that is saved are the
CPU's. Torch is imported inside the functions: every command that lists the models imports this file.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from gradrank.data.collection import Collection
from gradrank.errors import GradrankError
from gradrank.learning.best_of import Candidate, best_of
from gradrank.learning.device import TorchParams, prepare
from gradrank.learning.model import Callback, param
from gradrank.learning.selection import CRITERION

if TYPE_CHECKING:
    import torch

    from gradrank.learning.nets import Net

# (scores, labels, offsets) of a batch of queries -> cost summed over them, (n,) gradient of that sum.
Loss = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[float, np.ndarray]]


class NetParams(TorchParams):
    """A net and its training by AdamW."""

    hidden: tuple[Annotated[int, Field(ge=1)], ...] = param(
        (64,),
        "widths of the hidden layers; 32 to 256 differ by less than seeds do in validation MAP on MQ2007 "
        "(the 2005 paper: 10)",
        max_length=8,
    )
    activation: Literal["relu", "tanh"] = param(
        "relu", "higher mean validation MAP on MQ2007 than tanh, the 2005 paper's"
    )
    epochs: int = param(
        80, "the best one is kept; MQ2007's mean validation MAP has stopped rising by then", ge=1
    )
    batch_queries: int = param(
        50, "20 to 100 differ by less than seeds do in mean validation MAP on MQ2007", ge=1
    )
    learning_rate: float = param(2e-3, "best mean validation MAP on MQ2007 of 0.0005 to 0.002", gt=0)
    weight_decay: float = param(
        2.0, "Loshchilov & Hutter 2019; best mean validation MAP on MQ2007 of 1 to 4", ge=0
    )
    sigma: float = param(1.0, "scale of a score difference (Burges 2010, section 2); the 2005 paper: 1", gt=0)
    select_by: str = param(
        "map", "LETOR's protocol: the epoch by the validation part's MAP", pattern=CRITERION
    )


def train_net(
    train: Collection, vali: Collection, loss: Loss, params: NetParams, seed: int, callback: Callback
) -> "Net":
    """The net after the epoch with the best `select_by` on `vali`; of equal epochs the first.

    Each step takes `batch_queries` whole queries in an order shuffled by `seed`, divides the gradient on the
    scores by their number and passes it backward once. Features are standardised by the training part's mean
    and standard deviation. Raises GradrankError where the scores stop being finite or there is no GPU.
    """
    epochs = _epochs(train, vali, loss, params, seed)
    return best_of(epochs, vali, params.select_by, callback).kept


def _epochs(
    train: Collection, vali: Collection, loss: Loss, params: NetParams, seed: int
) -> Iterator[Candidate]:
    """The net after each epoch."""
    import torch

    features, layers, optimiser, mean, scale = untrained(train.features, params, seed)
    device = features.device
    shuffle = np.random.default_rng(seed)
    steps = -(-train.queries // params.batch_queries)
    for epoch in range(1, params.epochs + 1):
        cost = 0.0
        for batch in np.array_split(shuffle.permutation(train.queries), steps):
            rows, offsets = rows_of(batch, train.offsets)
            outputs = layers(features[torch.from_numpy(rows).to(device)])[:, 0]
            batch_cost, gradient = loss(outputs.detach().cpu().double().numpy(), train.labels[rows], offsets)
            cost += batch_cost
            optimiser.zero_grad()
            outputs.backward(torch.from_numpy((gradient / len(batch)).astype(np.float32)).to(device))
            optimiser.step()
        net = export(layers, mean, scale, params.activation)
        scores = net.scores(vali.features)
        if not np.isfinite(scores).all():
            raise GradrankError(
                f"training diverged in epoch {epoch}: scores are not finite; lower learning_rate, now "
                f"{params.learning_rate:g}, or weight_decay, now {params.weight_decay:g}"
            )
        yield Candidate(net, cost / train.queries, scores)


def untrained(
    features: np.ndarray, params: TorchParams, seed: int
) -> "tuple[torch.Tensor, torch.nn.Sequential, AdamW, np.ndarray, np.ndarray]":
    """Where training starts, on the device that `params` names: features, layers and optimiser; mean and scale.

    features: (n, d), returned standardised by their (d,) mean and scale. params: with the `hidden`, `activation`,
    `learning_rate` and `weight_decay` of NetParams.
    """
    import torch

    from gradrank.learning.nets import standardisation, standardised

    device = prepare(params.device)
    mean, scale = standardisation(features)
    inputs = torch.from_numpy(standardised(features, mean, scale)).to(device)
    layers = build_layers([inputs.shape[1], *params.hidden, 1], params.activation, seed).to(device)
    optimiser = AdamW(list(layers.parameters()), params.learning_rate, params.weight_decay)
    return inputs, layers, optimiser, mean, scale


class AdamW:
    """torch.optim's (Loshchilov & Hutter 2019), fused: the other form takes roots from MKL, which nothing pins.

    Called below its class, which imports torch's compiler, in as long as torch itself takes.
    """

    def __init__(self, parameters: "list[torch.Tensor]", learning_rate: float, weight_decay: float) -> None:
        import torch

        self.parameters = parameters
        self.first, self.second = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
        self.steps = [torch.zeros((), dtype=torch.float32, device=p.device) for p in parameters]
        self.settings = {
            "lr": learning_rate,
            "beta1": 0.9,
            "beta2": 0.999,
            "weight_decay": weight_decay,
            "eps": 1e-8,
            "amsgrad": False,
            "maximize": False,
        }

    def zero_grad(self) -> None:
        for p in self.parameters:
            p.grad = None

    def step(self) -> None:
        import torch

        with torch.no_grad():
            torch._foreach_add_(self.steps, 1)
            gradients = [p.grad for p in self.parameters]
            torch._fused_adamw_(
                self.parameters, gradients, self.first, self.second, [], self.steps, **self.settings
            )


def rows_of(queries: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of the given queries' documents, one query after the other, and their own offsets."""
    sizes = np.diff(offsets)[queries]
    own = np.r_[0, np.cumsum(sizes)]
    return np.arange(own[-1]) + np.repeat(offsets[queries] - own[:-1], sizes), own


def build_layers(widths: list[int], activation: str, seed: int) -> "torch.nn.Sequential":
    """Fully connected layers of the given widths, input first; Glorot & Bengio 2010 weights, zero biases."""
    import torch

    generator = torch.Generator().manual_seed(seed)  # torch's global generator stays untouched
    modules: list[torch.nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layer = torch.nn.utils.skip_init(torch.nn.Linear, inputs, outputs)
        torch.nn.init.xavier_uniform_(layer.weight, generator=generator)
        torch.nn.init.zeros_(layer.bias)
        modules += [layer, {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}[activation]()]
    return torch.nn.Sequential(*modules[:-1])


def export(layers: "torch.nn.Sequential", mean: np.ndarray, scale: np.ndarray, activation: str) -> "Net":
    """A copy of the layers' present weights, for scoring without torch."""
    import torch

    from gradrank.learning.nets import Net

    linear = [layer for layer in layers if isinstance(layer, torch.nn.Linear)]
    return Net(
        weights=[layer.weight.detach().cpu().numpy().T.copy() for layer in linear],
        biases=[layer.bias.detach().cpu().numpy().copy() for layer in linear],
        mean=mean,
        scale=scale,
        activation=activation,
    )
