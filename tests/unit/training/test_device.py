"""Tests of the parameter `device`: its choice, its messages without a GPU, and equal scores on GPU and CPU."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gradrank.base.errors import GradrankError
from gradrank.training.contract.test_models import QUICK_SCORERS
from gradrank.training.nets.net_params import TorchParams, prepare
from gradrank.training.registry import models
from made_rankings import linear_grades

# The loop is the same for all: one for each scorer, for several outputs, and what has a loop of its own.
NAMES = "lambdarank", "ordinal", "rankprop", "attention_lambdaloss", "dasalc", "tabm", "realmlp", "ft_transformer"
ON_TORCH = [models()[name] for name in NAMES]
without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without an NVIDIA GPU")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU and torch for CUDA")


def fit(cls, **changes):
    changes |= QUICK_SCORERS.get(cls.Params.model_fields["scorer"].default, {})
    return cls.fit(
        linear_grades(1, 30, 12),
        linear_grades(2, 30, 12),
        cls.Params(epochs=5, **changes),
        3,
        lambda step, **values: None,
    )


def within_queries(model, collection):
    """Return the scores minus their mean over the query, because a constant changes no ranking."""
    scores = model.score(collection.features, collection.offsets)
    sizes = np.diff(collection.offsets)
    return scores - np.repeat(np.add.reduceat(scores, collection.offsets[:-1]) / sizes, sizes)


def saved(model, folder):
    folder.mkdir()
    model.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_every_net_that_torch_trains_takes_a_device():
    assert all(issubclass(cls.Params, TorchParams) for cls in ON_TORCH)
    assert {cls.Params.model_fields["scorer"].default for cls in ON_TORCH} == {
        *("net", "attention", "dasalc", "tabm", "realmlp", "ft_transformer")
    }


@without_gpu
@pytest.mark.parametrize("cls", ON_TORCH, ids=lambda cls: cls.name)
def test_cuda_without_a_gpu_names_the_remedy(cls):
    with pytest.raises(GradrankError, match=r"device: cuda.*docs/gpu\.md.*cpu or auto"):
        fit(cls, device="cuda")


@without_gpu
@pytest.mark.parametrize("cls", ON_TORCH, ids=lambda cls: cls.name)
def test_auto_without_a_gpu_is_the_cpu_and_says_so(cls, tmp_path, capsys):
    auto = saved(fit(cls, device="auto"), tmp_path / "auto")
    assert "device: auto" in capsys.readouterr().err
    assert auto == saved(fit(cls), tmp_path / "default")


def test_cpu_is_the_default_and_starts_no_gpu():
    assert prepare("cpu") == torch.device("cpu") and TorchParams().device == "cpu"
    fit(ON_TORCH[0])
    assert not torch.cuda.is_initialized()


@needs_gpu
@pytest.mark.parametrize("cls", ON_TORCH, ids=lambda cls: cls.name)
def test_gpu_learns_what_the_cpu_learns_and_the_same_bytes_twice(cls, tmp_path):
    test = linear_grades(4, 30, 12)
    on_gpu = fit(cls, device="cuda")
    assert np.corrcoef(*(within_queries(model, test) for model in (on_gpu, fit(cls, device="cpu"))))[0, 1] > 0.9999
    first = saved(on_gpu, tmp_path / "first")
    assert first == saved(fit(cls, device="cuda"), tmp_path / "again")
    loaded = cls.load(tmp_path / "first")  # needs no GPU: the file holds plain arrays
    np.testing.assert_array_equal(loaded.score(test.features, test.offsets), on_gpu.score(test.features, test.offsets))
