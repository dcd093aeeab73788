"""A net: a document's output depends on its own features."""

import numpy as np
import torch

from gradrank.training.nets.layers import FullyConnected
from gradrank.training.nets.net import Net
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Chance, Inputs, Scorer


class NetScorer(Scorer):
    """One tower on the features."""

    def __init__(self, inputs: Inputs, hidden: tuple[int, ...], params: ScorerParams, outputs: int, seed: int) -> None:
        self.inputs, self.chance = inputs, Chance(params.dropout, params.noise, seed)
        widths = [inputs.features.shape[1], *hidden, outputs]
        generator = torch.Generator().manual_seed(seed)  # torch's global generator stays untouched
        self.layers = FullyConnected(widths, params, generator, self.chance).to(inputs.features.device)

    def outputs(self, rows: np.ndarray, offsets: np.ndarray | None = None) -> torch.Tensor:
        features = self.inputs.features
        return self.layers(self.chance.disturb(features[torch.from_numpy(rows).to(features.device)]))

    def export(self) -> Net:
        return self.layers.export(self.inputs)


def net(inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> Scorer:
    return NetScorer(inputs, params.hidden, params, outputs, seed)
