"""RealMLP: a net with a recipe for training that works well without tuning.

After the embedding of the features, a layer multiplies each input by a learned factor. A hidden layer computes
act(x W / sqrt(inputs) + b), and then dropout. act(x) is x + a (selu(x) - x), with a learned number a per unit. The
initial weights give outputs with the standard deviation 1 on the training part. The initial bias of a unit is minus a
random convex combination of five outputs of the unit on the training part.

The optimiser is AdamW with the decay .95 of the squared gradients. The learning rate has the factor 6 for the factors
of the inputs, .1 for biases, activations and the embedding, and the schedule coslog4: four cosine cycles of growing
length. Dropout and weight decay are constant in the first half of the training, and then fall to 0 as a cosine. Biases
of layers have no weight decay.

The defaults of the model `realmlp` are those of RealMLP-TD for classification, because the default loss of the model is
a cross-entropy. Left out are the parts for categorical features, and label smoothing, which is defined for classes.
RealMLP-TD for regression has the activation Mish, a higher learning rate, and outputs in the units of the targets.
Quantiles are not interpolated. If the training part is large, a sample of it determines the initial weights.

Source: Holzmüller et al. 2024, Better by default: Strong pre-tuned MLPs and boosted trees on tabular data.
"""

from itertools import pairwise

import numpy as np
import torch

from gradrank.training.nets.embeddings import embedded
from gradrank.training.nets.layers import Chain, Dropout, Layer, ListPadding, TrainingNoise, array, product
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Inputs, Scorer, adamw
from gradrank.training.nets.steps import Activation, Linear, Scale, Shift, Steps, Sum

SAMPLE = 1 << 14  # maximum number of documents that determine the initial weights
POINTS = 5  # number of outputs whose convex combination is the initial bias
FACTORS_RATE, SLOW_RATE = 6.0, 0.1  # factors of the learning rate


class Factors(Layer):
    """The products of the inputs and learned factors."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.factors = torch.nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        return x * self.factors

    def steps(self) -> Steps:
        return (Scale(array(self.factors)[None, :]),)


class ScaledDense(Layer):
    """x W / sqrt(inputs) + b."""

    def __init__(self, inputs: int, outputs: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weights = torch.nn.Parameter(torch.randn((inputs, outputs), generator=generator))
        self.biases = torch.nn.Parameter(torch.zeros(outputs))

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        return product(x, self.weights) / len(self.weights) ** 0.5 + self.biases

    def steps(self) -> Steps:
        weights = array(self.weights / len(self.weights) ** 0.5)
        return Linear(weights), Shift(array(self.biases)[None, :])

    @torch.no_grad()
    def initialise(self, x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Set the initial weights and biases by the outputs for (n, inputs) values x, and return the outputs."""
        weights = self.weights
        deviation = (x @ weights / len(weights) ** 0.5).std(dim=0, correction=0)
        weights /= torch.where(deviation > 0.0, deviation, 1.0)
        x = x @ weights / len(weights) ** 0.5
        chosen = torch.randint(len(x), (POINTS, x.shape[1]), generator=generator)
        # The lengths of the parts between sorted uniform numbers have the distribution of normalised exponential
        # numbers, whose kernel in torch differs between processors.
        cuts = torch.rand((POINTS - 1, x.shape[1]), generator=generator).sort(dim=0).values
        ends = torch.zeros(1, x.shape[1]), torch.ones(1, x.shape[1])
        shares = torch.cat([ends[0], cuts, ends[1]]).diff(dim=0)
        self.biases -= (torch.gather(x, 0, chosen) * shares).sum(dim=0)
        return x + self.biases


class BentSelu(Layer):
    """x + a (selu(x) - x), with a learned number a per unit."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.bends = torch.nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        return x + (torch.nn.functional.selu(x) - x) * self.bends

    def steps(self) -> Steps:
        bend = array(self.bends)[None, :]
        return (Sum((Scale(np.float32(1.0) - bend),), (Activation("selu"), Scale(bend))),)


class RealMLPScorer(Scorer):
    """The embedding, the factors of the inputs, and the layers of a RealMLP, with their optimiser and schedules."""

    def __init__(self, inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> None:
        noise, generator = TrainingNoise.of(params, seed), torch.Generator().manual_seed(seed)
        self.dropout, self.rate, self.decay = params.dropout, params.learning_rate, params.weight_decay
        self.row, width = embedded(inputs, params, generator)
        widths = [width, *params.hidden, outputs]
        self.factors = Factors(width)
        self.dense = [ScaledDense(*sizes, generator) for sizes in pairwise(widths)]
        self.activations = [BentSelu(width) for width in widths[1:-1]]
        hidden = [
            layer
            for parts in zip(self.activations, self.dense[1:], strict=True)
            for layer in (parts[0], Dropout(noise), parts[1])
        ]
        self._initialise(inputs, generator)
        super().__init__(inputs, Chain(self.row, self.factors, self.dense[0], *hidden), noise)

    @torch.no_grad()
    def _initialise(self, inputs: Inputs, generator: torch.Generator) -> None:
        """Set the initial weights and biases by the outputs of the layers for documents of the training part."""
        rows = torch.randperm(len(inputs.features), generator=generator)[:SAMPLE].numpy()
        x = self.dense[0].initialise(self.row(inputs.of_rows(rows).cpu()), generator)
        for activation, dense in zip(self.activations, self.dense[1:], strict=True):
            x = dense.initialise(activation(x), generator)

    def optimiser(self, params: ScorerParams) -> torch.optim.AdamW:
        slow = [each for layer in (*self.activations, self.row) for each in layer.parameters()]
        groups = [
            {"params": list(self.factors.parameters()), "rate": FACTORS_RATE},
            {"params": [layer.weights for layer in self.dense], "rate": 1.0},
            {"params": [layer.biases for layer in self.dense], "rate": SLOW_RATE, "decay": 0.0},
            {"params": slow, "rate": SLOW_RATE},
        ]
        return adamw(groups, params, beta2=0.95)

    def start_step(self, optimiser: torch.optim.AdamW, progress: float) -> None:
        falling = float(flat_cosine(progress))
        self.noise.dropout = self.dropout * falling
        for group in optimiser.param_groups:
            group["lr"] = self.rate * group["rate"] * float(coslog4(progress))
            group["weight_decay"] = self.decay * group.get("decay", 1.0) * falling


def coslog4(progress: float) -> float:
    """Return the factor of the learning rate: 0 at the progress 0, 1/15, 3/15, 7/15 and 1, and 1 between them."""
    return 0.5 * (1.0 - np.cos(2.0 * np.pi * np.log2(1.0 + 15.0 * progress)))


def flat_cosine(progress: float) -> float:
    """Return the factor of dropout and weight decay: 1 in the first half of the training, then a falling cosine."""
    return 0.5 * (1.0 + np.cos(2.0 * np.pi * max(progress - 0.5, 0.0)))


def realmlp(inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> Scorer:
    """Create a RealMLP scorer with the hidden layers `params.hidden`.

    outputs: number of outputs per document. seed: seed of the weights, dropout and noise.
    """
    return RealMLPScorer(inputs, params, outputs, seed)
