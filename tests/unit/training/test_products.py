"""The products that NumPy computes for torch, the padding of queries, and dropout."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

torch = pytest.importorskip("torch")

from gradrank.models.dasalc import DASALC
from gradrank.models.lambdaloss import AttentionLambdaLoss
from gradrank.training.nets.layers import ListPadding, TrainingNoise, affine, product
from made_rankings import linear_grades, silent


def drawn(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


@pytest.mark.parametrize(("a", "b"), [((5, 3), (3, 4)), ((2, 3, 4, 5), (2, 3, 5, 6)), ((1, 1), (1, 1))])
def test_products_and_their_gradients_are_those_of_torch(a, b):
    a, b = drawn(*a), drawn(*b)
    torch.testing.assert_close(product(a, b), a @ b)
    assert torch.autograd.gradcheck(product, (a, b))
    assert torch.autograd.gradcheck(lambda a, b: product(a.mT, b.mT), (b, a))  # arrays that are not contiguous


def test_affine_concatenates_the_outputs_of_layers():
    layers = [torch.nn.Linear(4, width, dtype=torch.float64) for width in (3, 1, 5)]
    x = drawn(7, 4)
    torch.testing.assert_close(affine(x, *layers), torch.cat([layer(x) for layer in layers], dim=1))


@pytest.mark.parametrize("sizes", [(4, 4, 4), (1,), (2, 5, 1)])
def test_unpad_is_the_inverse_of_pad_for_each_part(sizes):
    padding = ListPadding.of(np.r_[0, np.cumsum(sizes)], torch.device("cpu"))
    rows = drawn(sum(sizes), 3 * 8)
    padded = padding.pad(rows, parts=3, heads=2)
    assert [part.shape for part in padded] == [(len(sizes), 2, max(sizes), 4)] * 3
    torch.testing.assert_close(torch.cat([padding.unpad(part) for part in padded], dim=1), rows)
    assert (padding.absent is None) == (len(set(sizes)) == 1)


def test_dropout_keeps_the_expected_share_and_the_mean_and_depends_on_the_seed():
    ones = torch.ones(300, 1000)
    dropped = TrainingNoise(0.3, 0.0, seed=1).drop(ones)
    assert set(dropped.unique().tolist()) == {0.0, float(np.float32(1 / 0.7))}
    assert (dropped > 0).double().mean().item() == pytest.approx(0.7, abs=5 * (0.21 / 3e5) ** 0.5)
    assert dropped.double().mean().item() == pytest.approx(1.0, abs=0.01)
    assert torch.equal(dropped, TrainingNoise(0.3, 0.0, seed=1).drop(ones))
    assert not torch.equal(dropped, TrainingNoise(0.3, 0.0, seed=2).drop(ones))
    noise = TrainingNoise(0.3, 0.5, seed=1)
    moved = noise.add_noise(ones) - ones
    assert moved.std().item() == pytest.approx(0.5, rel=0.01) and abs(moved.mean().item()) < 0.01
    noise.eval()
    assert torch.equal(noise.add_noise(noise.drop(ones)), ones)


@pytest.mark.parametrize("cls", [AttentionLambdaLoss, DASALC], ids=lambda cls: cls.name)
def test_training_does_not_depend_on_the_number_of_threads(cls):
    train, vali = linear_grades(1, 60, 40), linear_grades(2, 20, 40)

    def scores(threads: int) -> bytes:
        with threadpool_limits(threads):
            model = cls.fit(train, vali, cls.Params(epochs=2), 1, silent)
        return model.score(vali.features, vali.offsets).tobytes()

    assert scores(1) == scores(2)
