"""CPU seconds of the linear rankers, the nets and the boosted trees on one fold, and their growth with the data.

python benchmarks/linear_and_nets.py [--data data/parquet/mq2007] [--fold 1]

Also measured: milliseconds of every loss (value and gradient over the whole training part, and an epoch of a net that
is trained with it), and of an epoch of each attention scorer. Times are CPU times of one thread, with validation and
without compilation; the load of the machine hardly affects them. For comparison, on MQ2007 fold 1 and a similar core,
RankLib (Java) took 52 s for RankNet (100 epochs), 56 s for ListNet, 84 s for LambdaRank and 11 s for LambdaMART, and
an epoch of allRank's net took 0.3 s with ListNet and 1.7 s with RankNet.
"""

from fold import first_queries, growth, read_fold, seconds  # before numpy

# isort: split
import time

import numpy as np

from gradrank.data.collection import Collection
from gradrank.models.ranknet import RankNetLinearParams
from gradrank.training.registry import find_loss, loss_names

ONE_C = {"C": [2.0**-9]}
RUNS = [
    ("ranknet_2005_linear", {"epochs": 100}, 10.0),
    ("ranknet_linear", {}, 10.0),
    ("listnet", {}, 10.0),
    ("ranksvm", ONE_C, 1.0),
    ("ranksvm_l2_dual", ONE_C, 1.0),
    ("ranksvm_l1_dual", ONE_C, 1.0),
    ("ranksvm_sparse", ONE_C, 1.0),
    ("ranknet_two_layer", {}, None),
    ("lambdarank", {}, None),
    ("listnet_neural", {}, None),
    ("lambdamart", {}, None),
    ("xendcg", {}, None),
    ("mcrank", {}, None),
]
GROWN = [
    ("ranknet_linear", {"l2": RankNetLinearParams().l2[:1]}),
    ("listnet", {"l2": [1e-3]}),
    ("ranksvm", ONE_C),
    ("ranknet_two_layer", {"epochs": 3}),
    ("lambdarank", {"epochs": 3}),
    ("lambdamart", {"rounds": 50}),
]
PAIRS = {"approx_ndcg", "frank", "gumbel_approx_ndcg", "lambdaloss", "lambdarank", "pirank", "ranknet", "smoothrank"}
CUBIC = {"neural_ndcg": "50 steps of n^2", "softrank": "n^2 times the cutoff"}
WHY = """
rows: a pass is linear; the number of passes of convex models depends on their tolerance.
pairs (the same rows in queries 2 and 4 times as long): RankSVM forms no pairs but sorts scores, n log n in the length
of a query; ListNet does not depend on pairs. The gradients of RankNet, LambdaRank and LightGBM go over the pairs of a
query, in addition to products and histograms that do not grow.
features: one product of rows x features (x hidden) per pass; the sums over pairs of a net do not grow."""


def losses(train: Collection, vali: Collection) -> None:
    """Print a line per loss: its own milliseconds, and those of an epoch of a net with validation."""
    print(f"\n{'ms':22} {'loss':>7} {'epoch':>7}")
    few = first_queries(vali, 1)
    seconds("softmax", {"epochs": 1}, few, few)
    for name in loss_names():
        function, rng = find_loss(name), np.random.default_rng(0)
        width = function.outputs(train.labels)
        scores = rng.normal(size=train.rows if width == 1 else (train.rows, width))
        function(scores[: few.rows], few.labels, few.offsets, rng=rng)  # compilation
        started = time.process_time()
        function(scores, train.labels, train.offsets, rng=rng)
        took = time.process_time() - started
        epoch = seconds("softmax", {"loss": name, "epochs": 3}, train, vali)[0] / 3
        limit = CUBIC.get(name) or f"at most {120 if name in PAIRS else 70} ms"
        print(f"  {name:20} {1e3 * took:7.1f} {1e3 * epoch:7.1f}  ({limit})")
    for name in ("attention_lambdaloss", "dasalc"):
        seconds(name, {"epochs": 1}, few, few)
        epoch = seconds(name, {"epochs": 3}, train, vali)[0] / 3
        print(f"  {name:20} {'':7} {1e3 * epoch:7.1f}")


def main() -> None:
    train, vali = read_fold(__doc__)
    for name, params, limit in RUNS:
        seconds(name, params, vali, first_queries(vali, 1))  # compilation
        took, calls = seconds(name, params, train, vali)
        bound = f"  (at most {limit:.0f} s)" if limit else ""
        print(f"  {name:20} {took:6.2f} s{bound}  {params or 'defaults'}, {calls} steps validated")
    losses(train, vali)
    growth(("rows", "pairs", "features"), GROWN, train, vali)
    print(WHY)


if __name__ == "__main__":
    main()
