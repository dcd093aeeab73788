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

from gradrank.training.nets.embeddings import EmbeddedInputs
from gradrank.training.nets.layers import array, product
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Inputs, Scorer, TrainingNoise, adamw
from gradrank.training.nets.step_net import StepNet
from gradrank.training.nets.steps import Activation, Flatten, Linear, Scale, Shift, Sum

SAMPLE = 1 << 14  # maximum number of documents that determine the initial weights
POINTS = 5  # number of outputs whose convex combination is the initial bias
FACTORS_RATE, SLOW_RATE = 6.0, 0.1  # factors of the learning rate


class RealMLPScorer(Scorer):
    """The embedding, the factors of the inputs, and the layers of a RealMLP."""

    def __init__(self, inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> None:
        self.inputs, self.noise = inputs, TrainingNoise(params.dropout, params.noise, seed)
        self.dropout, self.rate, self.decay = params.dropout, params.learning_rate, params.weight_decay
        generator = torch.Generator().manual_seed(seed)
        self.embedded = EmbeddedInputs(inputs, params, generator)
        widths = [self.embedded.width, *params.hidden, outputs]
        self.factors = torch.nn.Parameter(torch.ones(widths[0]))
        self.weights = torch.nn.ParameterList([torch.randn(size, generator=generator) for size in pairwise(widths)])
        self.biases = torch.nn.ParameterList([torch.zeros(width) for width in widths[1:]])
        self.bends = torch.nn.ParameterList([torch.ones(width) for width in widths[1:-1]])
        self._initialise(generator)
        parts = [self.embedded, torch.nn.ParameterList([self.factors]), self.weights, self.biases, self.bends]
        self.layers = torch.nn.ModuleList([*parts, self.noise]).to(inputs.device)

    @torch.no_grad()
    def _initialise(self, generator: torch.Generator) -> None:
        """Set the initial weights and biases by the outputs of the layers for documents of the training part."""
        rows = torch.randperm(len(self.inputs.features), generator=generator)[:SAMPLE].numpy()
        x = self.embedded(self.inputs.of_rows(rows).cpu())
        for layer, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True)):
            if layer:
                x = self._activation(x, layer - 1)
            deviation = (x @ weights / len(weights) ** 0.5).std(dim=0, correction=0)
            weights /= torch.where(deviation > 0.0, deviation, 1.0)
            x = x @ weights / len(weights) ** 0.5
            chosen = torch.randint(len(x), (POINTS, x.shape[1]), generator=generator)
            # The lengths of the parts between sorted uniform numbers have the distribution of normalised exponential
            # numbers, whose kernel in torch differs between processors.
            cuts = torch.rand((POINTS - 1, x.shape[1]), generator=generator).sort(dim=0).values
            ends = torch.zeros(1, x.shape[1]), torch.ones(1, x.shape[1])
            shares = torch.cat([ends[0], cuts, ends[1]]).diff(dim=0)
            biases -= (torch.gather(x, 0, chosen) * shares).sum(dim=0)
            x = x + biases

    def _activation(self, x: torch.Tensor, layer: int) -> torch.Tensor:
        return x + (torch.nn.functional.selu(x) - x) * self.bends[layer]

    def outputs(self, rows: np.ndarray, offsets: np.ndarray | None = None) -> torch.Tensor:
        x = self.embedded(self.noise.add_noise(self.inputs.of_rows(rows))) * self.factors
        for layer, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True)):
            if layer:
                x = self.noise.drop(self._activation(x, layer - 1))
            x = product(x, weights) / len(weights) ** 0.5 + biases
        return x

    def optimiser(self, params: ScorerParams) -> torch.optim.AdamW:
        groups = [
            {"params": [self.factors], "rate": FACTORS_RATE},
            {"params": list(self.weights), "rate": 1.0},
            {"params": list(self.biases), "rate": SLOW_RATE, "decay": 0.0},
            {"params": [*self.bends, *self.embedded.parameters()], "rate": SLOW_RATE},
        ]
        return adamw(groups, params, beta2=0.95)

    def start_step(self, optimiser: torch.optim.AdamW, progress: float) -> None:
        falling = float(flat_cosine(progress))
        self.noise.dropout = self.dropout * falling
        for group in optimiser.param_groups:
            group["lr"] = self.rate * group["rate"] * float(coslog4(progress))
            group["weight_decay"] = self.decay * group.get("decay", 1.0) * falling

    def export(self) -> StepNet:
        inputs = self.inputs
        steps: list = [*self.embedded.steps(), Flatten(), Scale(array(self.factors)[None, :])]
        for layer, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True)):
            if layer:
                bend = array(self.bends[layer - 1])[None, :]
                steps.append(Sum((Scale(np.float32(1.0) - bend),), (Activation("selu"), Scale(bend))))
            steps += [Linear(array(weights / len(weights) ** 0.5)), Shift(array(biases)[None, :])]
        return StepNet(tuple(steps), inputs.mean, inputs.scale, inputs.log_limit)


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
