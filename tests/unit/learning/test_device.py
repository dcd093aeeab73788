"""`device`: what it chooses, what it says where there is no GPU, and that a GPU's scores are the CPU's."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gradrank.data.collection import Collection
from gradrank.errors import GradrankError
from gradrank.learning import torch_net as training
from gradrank.learning.attention_net import AttentionNet
from gradrank.learning.device import TorchParams, prepare
from gradrank.learning.model import models

# The loop is the same for all: one for each scorer, for several outputs, and what has a loop of its own.
ON_TORCH = [
    models()[name] for name in ("lambdarank", "ordinal", "rankprop", "attention_lambdaloss", "dasalc")
]
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU and torch for CUDA")


def drawn(seed, queries=30, documents=12):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(queries * documents, 6)).astype(np.float32)
    value = x @ np.arange(6.0) + rng.normal(size=len(x))
    labels = np.digitize(value, np.quantile(value, [0.6, 0.85])).astype(np.int32)
    return Collection(x, labels, np.arange(0, len(x) + 1, documents), np.arange(queries))


def fit(cls, **changes):
    return cls.fit(drawn(1), drawn(2), cls.Params(epochs=5, **changes), 3, lambda step, **values: None)


def saved(model, folder):
    folder.mkdir()
    model.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def no_gpu():
    if torch.cuda.is_available():
        pytest.skip("needs a machine without a GPU for torch")


def test_every_net_that_torch_trains_takes_a_device():
    assert all(issubclass(cls.Params, TorchParams) for cls in ON_TORCH)
    assert {cls.Params.model_fields["scorer"].default for cls in ON_TORCH} == {"net", "attention", "dasalc"}


@pytest.mark.parametrize("cls", ON_TORCH, ids=lambda cls: cls.name)
def test_cuda_without_a_gpu_names_the_remedy(cls, no_gpu):
    with pytest.raises(GradrankError, match=r"device: cuda.*finds no GPU.*docs/gpu\.md.*cpu or auto"):
        fit(cls, device="cuda")


@pytest.mark.parametrize("cls", ON_TORCH, ids=lambda cls: cls.name)
def test_auto_without_a_gpu_is_the_cpu_and_says_so(cls, no_gpu, tmp_path, capsys):
    auto = saved(fit(cls, device="auto"), tmp_path / "auto")
    assert "finds no GPU; training on the CPU" in capsys.readouterr().err
    assert auto == saved(fit(cls), tmp_path / "default")


def test_the_default_is_the_cpu_without_a_word_about_gpus(capsys):
    assert prepare(TorchParams().device) == torch.device("cpu")
    assert capsys.readouterr().err == ""


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in the arguments of an operation, which may be nested in lists and dictionaries."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from tensors(each)


class SecondDevice(TorchDispatchMode):
    """Torch's `meta` device played as a GPU: an operation on tensors of two devices is an error, as on a GPU.

    Meta tensors hold no values: what is brought to the host is zero.
    """

    def __init__(self):
        super().__init__()
        self.fetched = 0  # tensors brought to the host
        self.updates = 0  # of the optimiser

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        aten = torch.ops.aten
        if operation is aten._to_copy.default:
            if args[0].is_meta and kwargs["device"].type == "cpu":
                self.fetched += 1
                return torch.zeros_like(args[0], device="cpu")
            return operation(*args, **kwargs)
        devices = {tensor.device.type for tensor in tensors((args, kwargs))}
        if len(devices) > 1:
            raise RuntimeError(f"{operation}: expected all tensors to be on the same device, not {devices}")
        if operation is aten._local_scalar_dense.default:
            return 0.0
        if operation is aten._fused_adamw_.default:
            self.updates += 1
            return None
        return operation(*args, **kwargs)


@pytest.mark.parametrize("cls", ON_TORCH, ids=lambda cls: cls.name)
def test_a_step_on_another_device_mixes_no_tensors_with_the_hosts(cls, monkeypatch):
    monkeypatch.setattr(training, "prepare", lambda device: torch.device("meta"))
    monkeypatch.setattr(
        import_module("torch.optim.adam"), "_device_dtype_check_for_fused", lambda parameter: None
    )
    with SecondDevice() as device:
        model = fit(cls)
    assert device.updates >= 5 and device.fetched > device.updates  # weights or scores, each epoch
    arrays = model.net.arrays if isinstance(model.net, AttentionNet) else model.net.tensors()
    weights = [array for name, array in arrays.items() if "weights" in name]
    assert weights and not any(array.any() for array in weights)  # what was saved came from that device


def test_the_second_device_refuses_a_mixture():
    with SecondDevice(), pytest.raises(RuntimeError, match="same device"):
        torch.zeros(3, 3, device="meta") @ torch.zeros(3, 3)


@needs_gpu
@pytest.mark.parametrize("cls", ON_TORCH, ids=lambda cls: cls.name)
def test_gpu_learns_what_the_cpu_learns_and_the_same_bytes_twice(cls, tmp_path):
    test = drawn(4)
    on_gpu = fit(cls, device="cuda")
    np.testing.assert_allclose(
        on_gpu.score(test.features, test.offsets),
        fit(cls, device="cpu").score(test.features, test.offsets),
        rtol=1e-3,
        atol=1e-3,
    )
    first = saved(on_gpu, tmp_path / "first")
    assert first == saved(fit(cls, device="cuda"), tmp_path / "again")
    loaded = cls.load(tmp_path / "first")  # needs no GPU: the file holds plain arrays
    np.testing.assert_array_equal(
        loaded.score(test.features, test.offsets), on_gpu.score(test.features, test.offsets)
    )
