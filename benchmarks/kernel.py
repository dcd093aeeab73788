"""CPU seconds of kernel RankNet on one fold and of its parts, their growth, and a comparison with a Nystroem map.

python benchmarks/kernel.py [--data data/parquet/mq2007] [--fold 1]

Times are CPU seconds of one thread, without compilation; the load of the machine hardly affects them. The peer is
scikit-learn's Nystroem with the same landmarks and gamma: only its map, without a model fitted on it. For comparison,
an RBF-Nystroem RankSVM by Newton's method took 13 s per fold with 2000 landmarks on a similar core.
"""

from fold import first_queries, head, line, more_features, read_fold, seconds  # before numpy

# isort: split
import time
from collections.abc import Callable

import numpy as np
from scipy.special import expit

from gradrank.data.collection import Collection
from gradrank.data.pairs import Pairs
from gradrank.models.ranknet_kernel import Kernel, RankNetKernelParams, independent
from gradrank.training.losses.pairwise import ranknet
from gradrank.training.nets.net import standardisation, standardised

WHY = """
rows and landmarks: linear, because a pass is one product with the (rows x landmarks) kernel matrix; the landmarks'
own Cholesky factor is cubic in their number, but cheap in comparison.
features: only the kernel matrix, computed once per gamma, depends on them.
pairs: none is formed; a few exponentials per pair are cheap compared with thousands of products."""


def timed(call: Callable[[], object]) -> tuple[float, object]:
    """Return the CPU seconds of a call and its result."""
    started = time.process_time()
    value = call()
    return time.process_time() - started, value


def pairwise_gradient(scores: np.ndarray, train: Collection, pairs: Pairs) -> np.ndarray:
    """Return the gradient from one slope per pair, over an explicit list of pairs, for comparison with `ranknet`."""
    slope = expit(scores[pairs.better] - scores[pairs.worse]) - 1.0
    return np.bincount(pairs.better, slope, train.rows) - np.bincount(pairs.worse, slope, train.rows)


def parts_of_a_fit(train: Collection) -> None:
    """Print the CPU seconds of the kernel matrix, the landmarks' factor, scikit-learn's map and one gradient."""
    kernel = Kernel("rbf", RankNetKernelParams().gamma[0], 2)
    x = standardised(train.features, *standardisation(train.features))
    chosen = x[np.random.default_rng(0).permutation(train.rows)[: RankNetKernelParams().landmarks]]
    factoring, (landmarks, _) = timed(lambda: independent(kernel, chosen))
    filling, matrix = timed(lambda: kernel.matrix(x, landmarks))
    print(f"  kernel matrix {filling:.2f} s ({matrix.nbytes / 2**20:.0f} MiB), landmarks' factor {factoring:.2f} s")

    from sklearn.kernel_approximation import Nystroem

    peer = Nystroem(kernel="rbf", gamma=kernel.gamma, n_components=len(chosen), random_state=0)
    mapping, _ = timed(lambda: peer.fit_transform(x.astype(np.float64)))
    ratio = mapping / (filling + factoring)
    print(
        f"  scikit-learn's map {mapping:.2f} s: {ratio:.0f} times gradrank's matrix and factor; gradrank forms no map"
    )

    scores = np.random.default_rng(0).normal(size=train.rows)
    factored, (_, gradient) = timed(lambda: ranknet(scores, train.labels, train.offsets))
    pairs = train.pairs
    listed, same = timed(lambda: pairwise_gradient(scores, train, pairs))
    assert np.allclose(gradient, same)
    print(f"  gradient {1e3 * factored:.1f} ms factored, {1e3 * listed:.1f} ms over {len(pairs):,} listed pairs")


def growth(train: Collection, vali: Collection) -> None:
    """Print the growth with rows, landmarks and features, with a single l2, so that the grid is fixed."""
    quarter, few = train.queries // 4, first_queries(vali, 1)
    fourth = first_queries(train, quarter)

    def fit(part: Collection, validated: Collection = few, landmarks: int = 500, **changes) -> float:
        return seconds("ranknet_kernel", {"landmarks": landmarks, "l2": [1e-4]} | changes, part, validated)[0]

    head()
    line("rows", lambda n: fit(first_queries(train, quarter * n)))
    line("landmarks", lambda n: fit(fourth, landmarks=500 * n))
    line(  # gamma / n keeps the kernel values the same
        "features", lambda n: fit(more_features(fourth, n), more_features(few, n), gamma=[2.0**-9 / n])
    )
    print(WHY)


def main() -> None:
    train, vali = read_fold(__doc__)
    seconds("ranknet_kernel", {"landmarks": 20}, first_queries(train, 20), first_queries(vali, 1))  # compilation
    took, points = seconds("ranknet_kernel", {}, train, vali)
    print(f"  ranknet_kernel, 2000 landmarks: {took:.1f} s (at most 8 s), {points} values of l2")
    parts_of_a_fit(train)
    growth(train, vali)


if __name__ == "__main__":
    main()
