"""Matrix products in torch, computed by NumPy on the CPU. Large scorers spend most of their time on them.

torch computes products with MKL, whose reproducible kernels use registers of 128 bits. NumPy's OpenBLAS has kernels for
x86-64-v3, which `gradrank.pin` selects on every processor. They are 2.5 times as fast for a batch of MQ2007. Plain nets
keep torch's products, because they spend little time on them.
"""

from typing import Any

import torch


def affine(x: torch.Tensor, *layers: torch.nn.Linear) -> torch.Tensor:
    """Return the outputs of linear layers for (..., d) inputs, concatenated along the last axis."""
    weights, biases = torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers])
    return rows_product(x, weights.mT) + biases


def rows_product(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the (..., n) products of (..., d) inputs and (d, n) weights."""
    return product(x.reshape(-1, x.shape[-1]), weights).view(*x.shape[:-1], -1)


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
    def backward(ctx: Any, *grad_outputs: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        (slope,), (a, b) = grad_outputs, ctx.saved_tensors
        of_a, of_b = ctx.needs_input_grad
        return _product(slope, b.mT) if of_a else None, _product(a.mT, slope) if of_b else None


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(a.detach().numpy() @ b.detach().numpy())
