"""Training of nets in NumPy: Glorot's initial weights, the optimiser Adam, and averages of the weights."""

import numpy as np

from gradrank.base.compiled import compiled


def glorot(inputs: int, outputs: int, rng: np.random.Generator) -> np.ndarray:
    """Return random (inputs, outputs) float32 weights from U[-r, r], where r = sqrt(6 / (inputs + outputs)).

    Source: Glorot & Bengio 2010.
    """
    r = np.sqrt(6.0 / (inputs + outputs))
    return rng.uniform(-r, r, (inputs, outputs)).astype(np.float32)


class Adam:
    """Adam (Kingma & Ba 2015, Algorithm 1) with its default decay rates. `step` changes the float32 `parameters`."""

    def __init__(self, parameters: list[np.ndarray], learning_rate: float) -> None:
        self.parameters, self.learning_rate, self.steps = parameters, np.float32(learning_rate), 0
        self.first = [np.zeros_like(p) for p in parameters]
        self.second = [np.zeros_like(p) for p in parameters]

    def step(self, gradients: list[np.ndarray]) -> None:
        """Change the parameters in place by one step. gradients: one array per parameter, with the same shape."""
        self.steps += 1
        biases = np.float32(1.0 - 0.9**self.steps), np.float32(1.0 - 0.999**self.steps)
        for p, m, v, g in zip(self.parameters, self.first, self.second, gradients, strict=True):
            _step(p.ravel(), m.ravel(), v.ravel(), g.ravel(), self.learning_rate, *biases)


@compiled("f4[:] out, f4[:] out, f4[:] out, f4[:], f4, f4, f4")
def _step(p, m, v, g, learning_rate, bias1, bias2):
    """Change the (n,) float32 arrays p (parameters), m and v (moments of Adam) in place.

    Numbers in p and m with absolute values up to 1e-20 become 0. Otherwise, numbers that only decay become subnormal,
    and many processors compute with subnormal numbers a hundred times more slowly.
    """
    share1, share2, epsilon, smallest = np.float32(0.1), np.float32(0.001), np.float32(1e-8), np.float32(1e-20)
    for i in range(len(p)):
        mean = m[i] + share1 * (g[i] - m[i])
        square = v[i] + share2 * (g[i] * g[i] - v[i])
        moved = p[i] - learning_rate * (mean / bias1) / (np.sqrt(square / bias2) + epsilon)
        m[i] = mean if abs(mean) > smallest else np.float32(0.0)
        p[i] = moved if abs(moved) > smallest else np.float32(0.0)
        v[i] = square


class Average:
    """The exponential moving average of the parameters of a net, stored in `means`.

    Each step gives the current parameters the weight 1 / `window`; the first steps have larger weights. With noisy
    gradients, the parameters do not converge, but their average does (Polyak & Juditsky 1992).
    """

    def __init__(self, parameters: list[np.ndarray], window: float) -> None:
        self.parameters, self.window, self.steps = parameters, window, 0
        self.means = [p.copy() for p in parameters]

    def step(self) -> None:
        """Update `means` with the current parameters."""
        self.steps += 1
        share = max(1.0 / self.window, 3.0 / (self.steps + 3.0))
        for mean, p in zip(self.means, self.parameters, strict=True):
            mean += share * (p - mean)
