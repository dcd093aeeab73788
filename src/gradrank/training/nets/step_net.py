"""A trained net that consists of steps, stored as NumPy arrays. Scoring, saving and loading do not need torch.

As in Net, the outputs for a document depend only on its features, in float32 and in a fixed order of the sums.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from gradrank.base.files import atomic
from gradrank.training.nets.net import log1p, standardised
from gradrank.training.nets.steps import Steps, run, stored

ROWS = 128  # rows per block, so that the arrays of a block stay in the cache of the processor


@dataclass(frozen=True)
class StepNet:
    """Steps on standardised features. The tokens of the last step are the members of an ensemble.

    steps: the first one gets the (n, d, 1) standardised features. The last one returns (n, members, K) outputs.
    mean, scale, log_limit: standardisation of the features, as in Net.
    members: number of members. The score is the mean of the members' scores.
    """

    scores_whole_queries: ClassVar[bool] = False
    steps: Steps
    mean: np.ndarray
    scale: np.ndarray
    log_limit: float | None = None
    members: int = 1

    def outputs(self, features: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        """Return the (n, members K) float32 outputs for (n, d) features. `offsets` has no effect."""
        parts = []
        for start in range(0, max(len(features), 1), ROWS):
            x = standardised(log1p(features[start : start + ROWS], self.log_limit), self.mean, self.scale)
            with np.errstate(over="ignore", invalid="ignore"):  # the training reports scores that are not finite
                outputs = run(self.steps, x[:, :, None])
            parts.append(outputs.reshape(len(x), outputs.shape[1] * outputs.shape[2]))
        return np.concatenate(parts)

    def scores(self, features: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        """Return the (n,) float64 scores for (n, d) features. `offsets` has no effect.

        The score of a member with K = 1 is its output. Otherwise it is sum_k sig(o_k), as in `combine_outputs`.
        """
        outputs = self.outputs(features).astype(np.float64)
        if outputs.shape[1] > self.members:
            outputs = 0.5 + 0.5 * np.tanh(0.5 * outputs)
        return (outputs / self.members).sum(axis=1)

    def save(self, path: Path) -> None:
        """Write the net to a safetensors file."""
        from safetensors.numpy import save

        arrays, description = stored(self.steps)
        limit = {} if self.log_limit is None else {"log_limit": np.array([self.log_limit])}
        tensors = arrays | {"mean": self.mean, "scale": self.scale} | limit
        # All metadata are under one key, because safetensors writes several keys in a random order.
        metadata = {"steps": json.dumps({"members": self.members, "steps": description})}
        with atomic(path) as partial:
            partial.write_bytes(save(tensors, metadata=metadata))
