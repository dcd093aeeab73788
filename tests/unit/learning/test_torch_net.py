"""The optimiser of the torch nets: torch's own, to the last bit, without what its class imports."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from gradrank.learning.torch_net import AdamW  # noqa: E402


def test_adamw_steps_as_torchs_class_does():
    generator = torch.Generator().manual_seed(0)
    ours, theirs = ([torch.ones(shape, requires_grad=True) for shape in ((7, 5), (5,))] for _ in range(2))
    optimiser = AdamW(ours, 0.01, 2.0)
    reference = torch.optim.AdamW(theirs, lr=0.01, weight_decay=2.0, fused=True)
    for _ in range(20):
        for one, other in zip(ours, theirs, strict=True):
            one.grad = torch.randn(one.shape, generator=generator)
            other.grad = one.grad.clone()
        optimiser.step()
        reference.step()
    assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))
    optimiser.zero_grad()
    assert all(p.grad is None for p in ours)


def test_training_does_not_import_torchs_compiler():
    code = """
import numpy as np
from gradrank.learning.net_params import NetParams
from gradrank.learning.torch_net import untrained
scorer, optimiser = untrained(np.eye(3, dtype=np.float32), NetParams(loss="ranknet"), 0)
scorer.outputs(np.arange(3), np.array([0, 3])).sum().backward()
optimiser.step()
import sys
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
