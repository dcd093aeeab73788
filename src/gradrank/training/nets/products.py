"""Matrix products in torch's training, computed by NumPy on the CPU.

torch computes products with MKL, whose reproducible kernels use registers of 128 bits. NumPy's OpenBLAS has kernels for
x86-64-v3 that are three times as fast, and `gradrank.pin` selects them on every processor.
"""

from typing import Any

import torch


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return the (..., m, n) products of (..., m, k) and (..., k, n) matrices with equal leading axes."""
    return NumpyProduct.apply(a, b) if a.device.type == "cpu" else a @ b


class NumpyProduct(torch.autograd.Function):
    """The products of `product` on the CPU, and their gradients."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(a, b)
        return _product(a, b)

    @staticmethod
    def backward(ctx: Any, slope: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        a, b = ctx.saved_tensors
        of_a, of_b = ctx.needs_input_grad
        return _product(slope, b.mT) if of_a else None, _product(a.mT, slope) if of_b else None


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(a.detach().numpy() @ b.detach().numpy())


class Linear(torch.nn.Linear):
    """A linear layer that computes its products with `product`."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # torch's name of the parameter
        return product(input, self.weight.mT) + self.bias
