"""CPU seconds per epoch of ARSM-L2R on one fold (gradient estimator, net, plain NumPy version), and their growth.

python benchmarks/arsm.py [--data data/parquet/mq2007] [--fold 1]

Times are CPU seconds of one thread, without compilation; the load of the machine hardly affects them. An epoch visits
every query once, in batches of 50. The plain version recomputes the levels of all documents for every swap, in NumPy.
"""

from fold import TIMES, head, line, more_rows, read_fold, seconds  # before numpy

# isort: split
import time
from collections.abc import Iterator

import numpy as np

from gradrank.data.collection import Collection
from gradrank.models.arsm import ARSMParams, Measure, TanhNet, arsm_gradient, measure_of
from gradrank.training.nets.net import standardisation, standardised
from gradrank.training.nets.torch_training import rows_of
from gradrank.training.solvers.adam import Adam
from gradrank.training.training_queries import with_grades_to_order

MEASURES = ("ndcg@10", "ap", "p@10")
LIMIT = 0.15  # seconds per epoch of the estimator on MQ2007's first fold
WHY = """
rows: linear, because every part is one pass over the documents. Per query and pair of levels, the cost is
proportional to the documents plus at most C levels until the cutoff; nothing is sorted.
levels: C (C - 1) / 2 swaps. Each compares every document once or twice and moves one document in eight. The net's
first layer does not depend on C."""


def batches(train: Collection) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield (queries, rows, offsets) of the mini-batches of an epoch."""
    rng = np.random.default_rng(0)
    for queries in np.array_split(rng.permutation(train.queries), -(-train.queries // ARSMParams().batch_queries)):
        yield queries, *rows_of(queries, train.offsets)


def estimator_seconds(train: Collection, name: str, levels: int) -> float:
    """Return the CPU seconds of the gradient estimator on all batches."""
    rng = np.random.default_rng(0)
    measure = measure_of(name, train.labels, train.offsets)
    phi = rng.normal(size=(train.rows, levels)).astype(np.float32)
    took = 0.0
    for queries, rows, offsets in batches(train):
        logits, part = phi[rows], measure.of(rows, queries)
        started = time.process_time()
        arsm_gradient(logits, rng.standard_exponential(logits.shape), offsets, part)
        took += time.process_time() - started
    return took


def net_seconds(train: Collection, levels: int) -> float:
    """Return the CPU seconds of forward pass, backward pass and Adam step on all batches."""
    rng = np.random.default_rng(0)
    features = standardised(train.features, *standardisation(train.features))
    net = TanhNet(features.shape[1], ARSMParams().hidden, levels, rng)
    adam, gradient = (
        Adam(net.parameters, ARSMParams().learning_rate),
        rng.normal(size=(train.rows, levels)).astype(np.float32),
    )
    took = 0.0
    for _, rows, _ in batches(train):
        x, g = features[rows], gradient[rows]
        started = time.process_time()
        net.forward(x)
        adam.step(net.backward(g))
        took += time.process_time() - started
    return took


def plain_gradient(phi: np.ndarray, races: np.ndarray, offsets: np.ndarray, measure: Measure) -> np.ndarray:
    """Return the gradient of `arsm_gradient` for NDCG and P@K, computed by its formula.

    The levels and losses of all documents are recomputed for every swap.
    """
    C, queries = phi.shape[1], len(offsets) - 1
    query = np.repeat(np.arange(queries), np.diff(offsets))
    pi = races / races.sum(axis=1, keepdims=True)
    log_pi = np.log(pi)
    loss = np.empty((queries, C, C))
    for c in range(C):
        for k in range(c, C):
            swapped = log_pi.copy()
            swapped[:, [c, k]] = log_pi[:, [k, c]]
            cell = query * C + np.argmin(swapped - phi, axis=1)
            count = np.bincount(cell, minlength=queries * C).reshape(queries, C)[:, ::-1]
            gain = np.bincount(cell, measure.gain, queries * C).reshape(queries, C)[:, ::-1]
            reached = measure.cumulated[np.cumsum(count, axis=1)]
            share = np.diff(reached, axis=1, prepend=0.0) / np.maximum(count, 1)
            loss[:, c, k] = loss[:, k, c] = -measure.scale * (gain * share).sum(axis=1)
    centred = loss - loss.mean(axis=1, keepdims=True)
    return np.einsum("jck,jk->jc", centred[query], 1.0 / C - pi)


def plain_seconds(train: Collection, levels: int) -> float:
    """Return the CPU seconds of `plain_gradient` on all batches, after a check that the gradients agree."""
    rng = np.random.default_rng(0)
    measure = measure_of("ndcg@10", train.labels, train.offsets)
    phi = rng.normal(size=(train.rows, levels))
    took = 0.0
    for queries, rows, offsets in batches(train):
        races, part = rng.standard_exponential((len(rows), levels)), measure.of(rows, queries)
        started = time.process_time()
        gradient = plain_gradient(phi[rows], races, offsets, part)
        took += time.process_time() - started
        np.testing.assert_allclose(gradient, arsm_gradient(phi[rows], races, offsets, part)[1], atol=1e-12)
    return took


def main() -> None:
    whole, vali = read_fold(__doc__)
    train, levels = with_grades_to_order(whole, "arsm"), ARSMParams().levels
    for name in MEASURES:  # compilation
        estimator_seconds(train, name, levels)

    print(
        f"{train.rows} rows in the {train.queries} queries with two grades, {levels} levels; "
        "CPU seconds per epoch of one draw"
    )
    for name in MEASURES:
        print(f"  estimator, {name:8} {estimator_seconds(train, name, levels):7.3f}  (at most {LIMIT})")
    ours, net, plain = (
        estimator_seconds(train, "ndcg@10", levels),
        net_seconds(train, levels),
        plain_seconds(train, levels),
    )
    print(f"  plain NumPy, ndcg@10{plain:7.3f}  ({plain / ours:.0f}x the estimator)")
    print(f"  net and Adam        {net:7.3f}  ({net / ours:.1f}x the estimator)")
    took, epochs = seconds("arsm", {}, whole, vali)
    print(
        f"  training, {ARSMParams().draws} draws   {took / epochs:7.3f}  "
        f"({took:.0f} s per fold: {epochs} epochs with validation)"
    )

    grown = {times: more_rows(train, times) for times in TIMES}
    head()
    line("rows: estimator", lambda n: estimator_seconds(grown[n], "ndcg@10", levels))
    line("rows: net and Adam", lambda n: net_seconds(grown[n], levels))
    line("rows: plain NumPy", lambda n: plain_seconds(grown[n], levels))
    line(f"levels ({levels // 2} at 1x)", lambda n: estimator_seconds(train, "ndcg@10", levels // 2 * n))
    print(WHY)


if __name__ == "__main__":
    main()
