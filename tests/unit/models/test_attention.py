"""Attention scorers: torch and exported arrays agree, lists are seen whole, memory is bounded, batches are alike."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gradrank.data.collection import Collection
from gradrank.models.dasalc import DASALC
from gradrank.models.lambdaloss import AttentionLambdaLoss
from gradrank.training.nets.scorer import CELLS
from gradrank.training.nets.torch_training import create_scorer

SIZES = (7, 1, 12, 4, 30)
both = pytest.mark.parametrize("cls", [AttentionLambdaLoss, DASALC], ids=lambda cls: cls.name)


def drawn(sizes=SIZES, seed=0, features=6):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(sum(sizes), features)).astype(np.float32)
    labels = np.digitize(x[:, 0] + 0.3 * rng.normal(size=len(x)), [0.3, 1.2]).astype(np.int32)
    return Collection(x, labels, np.r_[0, np.cumsum(sizes)].astype(np.int64), np.arange(len(sizes)))


def scorer_of(cls, data, **changes):
    """Untrained, but with every number of its layers moved off where it starts."""
    scorer, _ = create_scorer(data.features, cls.Params(**changes), seed=3)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for each in scorer.layers.parameters():
            each += 0.1 * torch.randn(each.shape, generator=generator)
    return scorer


@both
@pytest.mark.parametrize("changes", [{}, {"blocks": 3, "heads": 4, "width": 32}, {"inputs": "log1p", "heads": 1}])
def test_exported_arrays_agree_with_torch(cls, changes):
    data = drawn()
    scorer = scorer_of(cls, data, **changes)
    scorer.layers.eval()
    expected = scorer.outputs(np.arange(data.rows), data.offsets).detach().numpy()[:, 0]
    np.testing.assert_allclose(scorer.export().scores(data.features, data.offsets), expected, rtol=1e-4, atol=1e-5)


def test_batches_hold_each_query_once_similar_lengths_and_a_bounded_number_of_cells():
    sizes = np.random.default_rng(0).integers(1, 1200, 300)
    data = drawn(sizes, features=1)
    scorer = scorer_of(AttentionLambdaLoss, drawn())
    batches = scorer.batches(np.random.default_rng(1), data.offsets, 50)
    assert sorted(np.concatenate(batches)) == list(range(300))
    longest = [sizes[batch].max() for batch in batches]
    assert all(
        len(batch) <= 50 and len(batch) * most**2 <= max(CELLS, most**2)
        for batch, most in zip(batches, longest, strict=True)
    )
    assert longest != sorted(longest)  # the batches themselves come in random order
    padded = sum(len(batch) * most for batch, most in zip(batches, longest, strict=True))
    assert padded < 1.15 * sizes.sum()
    again = scorer.batches(np.random.default_rng(2), data.offsets, 50)
    assert [list(batch) for batch in again] != [list(batch) for batch in batches]
