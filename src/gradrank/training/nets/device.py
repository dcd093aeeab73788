"""The device on which torch trains: the CPU or an NVIDIA GPU. A model's parameter `device` selects the device.

Torch is imported inside the functions, because every command that lists the models imports this file.
"""

import os
import sys
from typing import TYPE_CHECKING, Literal

from gradrank.base.errors import GradrankError
from gradrank.training.model import ModelParams, param

if TYPE_CHECKING:
    import torch


class TorchParams(ModelParams):
    """The parameters of all models that torch trains."""

    device: Literal["cpu", "auto", "cuda"] = param(
        "cpu",
        "the reference; cuda: an NVIDIA GPU, whose results differ in the last digits; auto: a GPU if there is one",
    )


def prepare(device: str) -> "torch.device":
    """Configure torch for bit-identical results and return the torch device for the parameter `device`.

    Raises GradrankError if `device` is `cuda` and torch finds no GPU.
    """
    import torch

    torch.set_num_threads(1)  # more threads change the order of sums, and jobs already run in parallel
    if device == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        build = f"torch {torch.__version__}, built {_cuda(torch.version.cuda)}, finds no GPU"
        if device == "cuda":
            raise GradrankError(
                f"device: cuda, but {build}. Fix: install NVIDIA's driver and a CUDA build of torch (docs/gpu.md), "
                "or set device to cpu or auto"
            )
        print(f"device: auto: {build}; training on the CPU", file=sys.stderr)
        return torch.device("cpu")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # otherwise cuBLAS may change the order of sums
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("highest")  # no TF32
    print(f"device: {device}: training on {torch.cuda.get_device_name()}", file=sys.stderr)
    return torch.device("cuda")


def _cuda(version: str | None) -> str:
    return f"for CUDA {version}" if version else "without CUDA"
