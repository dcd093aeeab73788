"""Where a net written in NumPy starts and how it steps: Glorot's weights, Adam, averaged weights."""

import numpy as np

from gradrank.base.compiled import compiled


def glorot(inputs: int, outputs: int, rng: np.random.Generator) -> np.ndarray:
    """(inputs, outputs) float32 from U[-r, r], r = sqrt(6 / (inputs + outputs)) (Glorot & Bengio 2010)."""
    r = np.sqrt(6.0 / (inputs + outputs))
    return rng.uniform(-r, r, (inputs, outputs)).astype(np.float32)


class Adam:
    """Adam (Kingma & Ba 2015, Algorithm 1) with its default decay rates; `step` changes `parameters`, float32."""

    def __init__(self, parameters: list[np.ndarray], learning_rate: float) -> None:
        self.parameters, self.learning_rate, self.steps = parameters, np.float32(learning_rate), 0
        self.first = [np.zeros_like(p) for p in parameters]
        self.second = [np.zeros_like(p) for p in parameters]

    def step(self, gradients: list[np.ndarray]) -> None:
        self.steps += 1
        biases = np.float32(1.0 - 0.9**self.steps), np.float32(1.0 - 0.999**self.steps)
        for p, m, v, g in zip(self.parameters, self.first, self.second, gradients, strict=True):
            _step(p.ravel(), m.ravel(), v.ravel(), g.ravel(), self.learning_rate, *biases)


@compiled("f4[:] out, f4[:] out, f4[:] out, f4[:], f4, f4, f4")
def _step(p, m, v, g, learning_rate, bias1, bias2):
    """All (n,) float32, p, m and v in place. What is nothing becomes 0.

    Weight decay halves what nothing else moves until it is subnormal, and many processors take a hundred times as
    long over such numbers.
    """
    share1, share2, epsilon, nothing = np.float32(0.1), np.float32(0.001), np.float32(1e-8), np.float32(1e-20)
    for i in range(len(p)):
        mean = m[i] + share1 * (g[i] - m[i])
        square = v[i] + share2 * (g[i] * g[i] - v[i])
        moved = p[i] - learning_rate * (mean / bias1) / (np.sqrt(square / bias2) + epsilon)
        m[i] = mean if abs(mean) > nothing else np.float32(0.0)
        p[i] = moved if abs(moved) > nothing else np.float32(0.0)
        v[i] = square


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
