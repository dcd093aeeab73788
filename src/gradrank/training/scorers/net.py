"""A feed-forward net. Its outputs for a document depend only on the features of this document."""

import numpy as np
import torch

from gradrank.training.nets.embeddings import EmbeddedInputs
from gradrank.training.nets.layers import FullyConnected
from gradrank.training.nets.net import Net
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Inputs, Scorer, TrainingNoise


class NetScorer(Scorer):
    """Fully connected layers on the features. hidden: widths of the hidden layers."""

    def __init__(self, inputs: Inputs, hidden: tuple[int, ...], params: ScorerParams, outputs: int, seed: int) -> None:
        self.inputs, self.noise = inputs, TrainingNoise(params.dropout, params.noise, seed)
        generator = torch.Generator().manual_seed(seed)  # torch's global generator is not used
        self.embedded = EmbeddedInputs(inputs, params, generator)
        self.net = FullyConnected([self.embedded.width, *hidden, outputs], params, generator, self.noise)
        self.layers = torch.nn.ModuleList([self.embedded, self.net]).to(inputs.device)

    def outputs(self, rows: np.ndarray, offsets: np.ndarray | None = None) -> torch.Tensor:
        return self.net(self.embedded(self.noise.add_noise(self.inputs.of_rows(rows))))

    def export(self) -> Net:
        return self.net.export(self.inputs, self.embedded.steps())


def net(inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> Scorer:
    """Create a net with the hidden layers `params.hidden`.

    outputs: number of outputs per document. seed: seed of the weights, dropout and noise.
    """
    return NetScorer(inputs, params.hidden, params, outputs, seed)
