"""Where a net written in NumPy starts and how it steps: Glorot's weights, Adam, averaged weights."""

import numpy as np


def glorot(inputs: int, outputs: int, rng: np.random.Generator) -> np.ndarray:
    """(inputs, outputs) float32 from U[-r, r], r = sqrt(6 / (inputs + outputs)) (Glorot & Bengio 2010)."""
    r = np.sqrt(6.0 / (inputs + outputs))
    return rng.uniform(-r, r, (inputs, outputs)).astype(np.float32)


class Adam:
    """Adam (Kingma & Ba 2015, Algorithm 1) with its default decay rates; `step` changes `parameters`."""

    def __init__(self, parameters: list[np.ndarray], learning_rate: float) -> None:
        self.parameters, self.learning_rate, self.steps = parameters, learning_rate, 0
        self.first = [np.zeros_like(p) for p in parameters]
        self.second = [np.zeros_like(p) for p in parameters]

    def step(self, gradients: list[np.ndarray]) -> None:
        self.steps += 1
        bias1, bias2 = 1.0 - 0.9**self.steps, 1.0 - 0.999**self.steps
        for p, m, v, g in zip(self.parameters, self.first, self.second, gradients, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            p -= self.learning_rate * (m / bias1) / (np.sqrt(v / bias2) + 1e-8)


class Average:
    """Exponential moving average of `parameters`; `step` moves it by 1 / `window`, in the first steps by more.

    Training on noisy gradients never settles, the average of its path does (Polyak & Juditsky 1992).
    """

    def __init__(self, parameters: list[np.ndarray], window: float) -> None:
        self.parameters, self.window, self.steps = parameters, window, 0
        self.means = [p.copy() for p in parameters]

    def step(self) -> None:
        self.steps += 1
        share = max(1.0 / self.window, 3.0 / (self.steps + 3.0))
        for mean, p in zip(self.means, self.parameters, strict=True):
            mean += share * (p - mean)
