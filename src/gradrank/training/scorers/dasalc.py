"""The scorer of DASALC: a net whose last hidden layer is combined with self-attention over the query's documents.

Source: Qin et al. 2021, Are Neural Rankers still Outperformed by Gradient Boosted Decision Trees?
"""

import numpy as np
import torch

from gradrank.training.nets.attention_net import AttentionNet
from gradrank.training.nets.embeddings import EmbeddedInputs
from gradrank.training.nets.layers import FullyConnected, ListScorer, affine, array, glorot_layer
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Inputs, Scorer, TrainingNoise
from gradrank.training.scorers.attention import Encoder


class DasalcScorer(ListScorer):
    """A linear output layer on relu(h * a + h).

    h is the last hidden layer of a net. a is the output of an encoder, mapped to the width of h by a linear layer.
    """

    def __init__(self, inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> None:
        self.inputs, self.heads = inputs, params.heads
        self.noise = TrainingNoise(params.dropout, params.noise, seed)
        generator = torch.Generator().manual_seed(seed)
        self.embedded = EmbeddedInputs(inputs, params, generator)
        features, last = self.embedded.width, (params.hidden or (params.width,))[-1]
        self.net = FullyConnected([features, *(params.hidden or (last,))], params, generator, self.noise)
        self.encoder = Encoder(features, params, generator, self.noise)
        self.context = glorot_layer(params.width, last, generator)
        self.output = glorot_layer(last, outputs, generator)
        parts = {"embedded": self.embedded, "net": self.net, "encoder": self.encoder}
        parts |= {"context": self.context, "output": self.output}
        self.layers = torch.nn.ModuleDict(parts).to(inputs.device)

    def outputs(self, rows: np.ndarray, offsets: np.ndarray | None = None) -> torch.Tensor:
        x = self.embedded(self.noise.add_noise(self.inputs.of_rows(rows)))
        context = affine(self.encoder(x, self.padding(rows, offsets)), self.context)
        hidden = self.net(x)
        return self.output(self.noise.drop(torch.relu(hidden * context + hidden)))

    def export(self) -> AttentionNet:
        arrays = self.encoder.export()
        for name, layer in {"context": self.context, "output": self.output}.items():
            arrays |= {f"{name}.weights": array(layer.weight).T.copy(), f"{name}.biases": array(layer.bias)}
        inputs, steps = self.inputs, self.embedded.steps()
        net = self.net.export(inputs, steps)
        return AttentionNet(arrays, inputs.mean, inputs.scale, inputs.log_limit, self.heads, net, steps)


def dasalc(inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> Scorer:
    """Create a DASALC scorer with the hidden layers `params.hidden` and `params.blocks` encoder blocks.

    outputs: number of outputs per document. seed: seed of the weights, dropout and noise.
    """
    return DasalcScorer(inputs, params, outputs, seed)
