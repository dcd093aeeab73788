"""One hidden tanh layer in NumPy: as fast as torch at this size, no import of a second."""

import numpy as np

from gradrank.learning.adam import glorot


class TanhNet:
    """outputs = tanh(x W1 + b1) W2 + b2; `parameters` is [W1, b1, W2, b2], float32, biases zero at first."""

    def __init__(self, inputs: int, hidden: int, outputs: int, rng: np.random.Generator) -> None:
        w1, w2 = glorot(inputs, hidden, rng), glorot(hidden, outputs, rng)
        self.parameters = [w1, np.zeros(hidden, np.float32), w2, np.zeros(outputs, np.float32)]
        # Written over in each step: to ask for megabytes anew costs as much as to fill them.
        self._hidden = self._inner = np.empty((0, hidden), np.float32)

    def forward(self, x: np.ndarray) -> np.ndarray:
        """(n, outputs) of (n, inputs) float32; keeps what `backward` needs."""
        w1, b1, w2, b2 = self.parameters
        if len(x) > len(self._hidden):
            self._hidden, self._inner = (np.empty((len(x), len(b1)), np.float32) for _ in range(2))
        self.x, self.hidden = x, self._hidden[: len(x)]
        np.matmul(x, w1, out=self.hidden)
        self.hidden += b1
        np.tanh(self.hidden, out=self.hidden)
        return self.hidden @ w2 + b2

    def backward(self, gradient: np.ndarray) -> list[np.ndarray]:
        """Gradients of the parameters, given the (n, outputs) float32 one of the last forward's outputs."""
        hidden, inner = self.hidden, self._inner[: len(gradient)]
        last = hidden.T @ gradient
        np.matmul(gradient, self.parameters[2].T, out=inner)
        np.square(hidden, out=hidden)  # from here on it is the slope of tanh
        np.subtract(1.0, hidden, out=hidden)
        inner *= hidden
        return [self.x.T @ inner, inner.sum(axis=0), last, gradient.sum(axis=0)]
