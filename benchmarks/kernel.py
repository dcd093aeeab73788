"""Seconds of kernel RankNet on one fold, where they go, and how they grow, beside an explicit Nystroem map.

python benchmarks/kernel.py [--data data/parquet/mq2007.parquet] [--fold 1]

CPU seconds of one thread, which a busy machine does not lengthen; compilation is not included. The peer is
scikit-learn's Nystroem with the same landmarks and gamma: its map alone, before anything is fitted on it.
For scale, an RBF-Nystroem RankSVM by Newton's method took 13 s a fold with 2000 landmarks on a similar core.
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # one core, as a job of the study

import numpy as np

from gradrank.collection import Collection, Pairs
from gradrank.files import read_json
from gradrank.losses import pair_slope, ranknet
from gradrank.models.ranknet_kernel import RankNetKernel, RankNetKernelParams
from gradrank.nets import standardisation, standardised
from gradrank.nystroem import Kernel, independent

WHY = """
rows and landmarks: linear, as a pass is one product with the (rows x landmarks) kernel matrix; the landmarks'
own Cholesky factor is cubic in their number, but small beside it. features: only the kernel matrix, once a gamma,
depends on them. pairs: none is formed; the cost of a pair is a few exponentials beside thousands of products."""


def seconds(call: Callable[[], object]) -> tuple[float, object]:
    """CPU seconds, and what `call` returned."""
    started = time.process_time()
    value = call()
    return time.process_time() - started, value


def fit(train: Collection, vali: Collection, **changes) -> tuple[float, int]:
    """(CPU seconds of fit, grid points)."""
    points = []
    params = RankNetKernelParams(**changes)
    took, _ = seconds(
        lambda: RankNetKernel.fit(train, vali, params, 0, lambda step, **values: points.append(step))
    )
    return took, len(points)


def pairwise_gradient(scores: np.ndarray, train: Collection, pairs: Pairs) -> np.ndarray:
    """What the factored gradient saves: one slope a pair, over an explicit list of pairs."""
    slope = pair_slope(scores[pairs.better] - scores[pairs.worse])
    return np.bincount(pairs.better, slope, train.rows) - np.bincount(pairs.worse, slope, train.rows)


def parts_of_a_fit(train: Collection) -> None:
    kernel = Kernel("rbf", RankNetKernelParams().gamma[0], 2)
    x = standardised(train.features, *standardisation(train.features))
    chosen = x[np.random.default_rng(0).permutation(train.rows)[: RankNetKernelParams().landmarks]]
    factoring, (landmarks, _) = seconds(lambda: independent(kernel, chosen))
    filling, matrix = seconds(lambda: kernel.matrix(x, landmarks))
    print(
        f"  kernel matrix {filling:.2f} s ({matrix.nbytes / 2**20:.0f} MiB), landmarks' factor {factoring:.2f} s"
    )

    from sklearn.kernel_approximation import Nystroem

    peer = Nystroem(kernel="rbf", gamma=kernel.gamma, n_components=len(chosen), random_state=0)
    mapping, _ = seconds(lambda: peer.fit_transform(x.astype(np.float64)))
    print(
        f"  scikit-learn's map {mapping:.2f} s: {mapping / (filling + factoring):.0f} times ours, which forms none"
    )

    scores = np.random.default_rng(0).normal(size=train.rows)
    factored, (_, gradient) = seconds(lambda: ranknet(scores, train.labels, train.offsets))
    pairs = train.pairs
    listed, same = seconds(lambda: pairwise_gradient(scores, train, pairs))
    assert np.allclose(gradient, same)
    print(
        f"  gradient {1e3 * factored:.1f} ms factored, {1e3 * listed:.1f} ms over {len(pairs):,} listed pairs"
    )


def first_queries(data: Collection, queries: int) -> Collection:
    end = data.offsets[queries]
    return Collection(
        data.features[:end], data.labels[:end], data.offsets[: queries + 1], data.qids[:queries]
    )


def wide(data: Collection, times: int) -> Collection:
    """Every feature `times` times."""
    return Collection(np.tile(data.features, (1, times)), data.labels, data.offsets, data.qids)


def growth(train: Collection, vali: Collection) -> None:
    """One value of l2, so that what grows is not the number of grid points."""
    quarter, few = train.queries // 4, first_queries(vali, 1)
    cases = {
        "rows": lambda times: fit(first_queries(train, quarter * times), few, landmarks=500, l2=(1e-4,)),
        "landmarks": lambda times: fit(first_queries(train, quarter), few, landmarks=500 * times, l2=(1e-4,)),
        "features": lambda times: fit(
            wide(first_queries(train, quarter), times),
            wide(few, times),
            landmarks=500,
            l2=(1e-4,),
            gamma=(2.0**-9 / times,),  # the same distances
        ),
    }
    print(f"\n{'seconds at':12} {'1x':>7} {'2x':>7} {'4x':>7}   2x/1x  4x/1x")
    for title, run in cases.items():
        took = [run(times)[0] for times in (1, 2, 4)]
        shown = " ".join(f"{value:7.2f}" for value in took)
        print(f"{title:12} {shown}   {took[1] / took[0]:5.2f}  {took[2] / took[0]:5.2f}")
    print(WHY)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data/parquet/mq2007.parquet"))
    parser.add_argument("--fold", type=int, default=1)
    given = parser.parse_args()
    fold = read_json(given.data.with_suffix(".json"))["folds"][given.fold - 1]
    train, vali = (Collection.read(given.data, fold[split]) for split in ("train", "vali"))
    fit(first_queries(train, 20), first_queries(vali, 1), landmarks=20)  # compilation

    print(f"{given.data.stem} fold {given.fold}: {train.rows} rows, {train.features.shape[1]} features")
    took, points = fit(train, vali)
    print(f"  ranknet_kernel, 2000 landmarks: {took:.1f} s (at most 20 s), {points} values of l2")
    parts_of_a_fit(train)
    growth(train, vali)


if __name__ == "__main__":
    main()
