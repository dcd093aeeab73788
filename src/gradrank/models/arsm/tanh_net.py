"""A net with one hidden tanh layer in NumPy.

For a net of this size, NumPy is as fast as torch. Importing torch takes a second.
"""

import numpy as np

from gradrank.training.solvers.adam import glorot


class TanhNet:
    """The net tanh(x W1 + b1) W2 + b2. `parameters` is [W1, b1, W2, b2] in float32. The biases are initially zero."""

    def __init__(self, inputs: int, hidden: int, outputs: int, rng: np.random.Generator) -> None:
        w1, w2 = glorot(inputs, hidden, rng), glorot(hidden, outputs, rng)
        self.parameters = [w1, np.zeros(hidden, np.float32), w2, np.zeros(outputs, np.float32)]

    def forward(self, x: np.ndarray) -> np.ndarray:
        """Return the (n, outputs) outputs of the net, and store `x` and the hidden layer for `backward`.

        x: (n, inputs) float32.
        """
        w1, b1, w2, b2 = self.parameters
        self.x, self.hidden = x, x @ w1
        self.hidden += b1
        np.tanh(self.hidden, out=self.hidden)
        return self.hidden @ w2 + b2

    def backward(self, gradient: np.ndarray) -> list[np.ndarray]:
        """Return the gradient of the loss with respect to each of `parameters`, in the same order.

        This method can be called only once per call of `forward`, because it overwrites the hidden layer.

        gradient: (n, outputs) float32, the gradient of the loss with respect to the outputs of the last `forward`.
        """
        outer = self.hidden.T @ gradient
        # The operations are in place, because allocating arrays of this size takes longer than the computation.
        slope = np.square(self.hidden, out=self.hidden)
        np.subtract(1.0, slope, out=slope)
        inner = gradient @ self.parameters[2].T
        inner *= slope
        return [self.x.T @ inner, inner.sum(axis=0), outer, gradient.sum(axis=0)]
