"""Where torch trains: the CPU, which is the reference, or an NVIDIA GPU where a model's `device` asks for it.

Torch is imported inside the function: every command that lists the models imports this file.
"""

import os
import sys
from typing import TYPE_CHECKING, Literal

from gradrank.base.errors import GradrankError
from gradrank.training.model import ModelParams, param

if TYPE_CHECKING:
    import torch


class TorchParams(ModelParams):
    """What can be chosen for every model that torch trains."""

    device: Literal["cpu", "auto", "cuda"] = param(
        "cpu", "the reference; cuda: an NVIDIA GPU, whose sums differ in the last digits; auto: one if present"
    )


def prepare(device: str) -> "torch.device":
    """The torch device behind a `device` parameter, with torch set up to give equal bytes on it every time.

    Raises GradrankError for `cuda` without a GPU that torch can use.
    """
    import torch

    torch.set_num_threads(1)  # more threads sum in another order, and a study runs its jobs in parallel
    if device == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        build = f"torch {torch.__version__}, built {_cuda(torch.version.cuda)}, finds no GPU"
        if device == "cuda":
            raise GradrankError(
                f"device: cuda, but {build}; install NVIDIA's driver and a CUDA build of torch (docs/gpu.md), "
                "or set device to cpu or auto"
            )
        print(f"device: auto: {build}; training on the CPU", file=sys.stderr)
        return torch.device("cpu")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it cuBLAS may change its order of sums
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("highest")  # no TF32
    print(f"device: {device}: training on {torch.cuda.get_device_name()}", file=sys.stderr)
    return torch.device("cuda")


def _cuda(version: str | None) -> str:
    return f"for CUDA {version}" if version else "without CUDA"
