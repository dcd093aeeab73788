"""Measure the seconds of the slowest models on one fold, of the same models in other libraries, and their growth.

python benchmarks/training.py [--data data/parquet/mq2007] [--fold 1]

CPU seconds of one thread, which a busy machine does not lengthen. Validation is included, compilation is not. The
tree models are compared with LightGBM's own training call with the same settings, rounds and data, with and without
its NDCG@10 on the validation part in each round. XGBoost, CatBoost and fastrank are measured if they are installed:
LambdaMART and coordinate ascent with their defaults, with the number of rounds that gradrank took, and one start of
fastrank.
"""

from fold import first_queries, growth, read_fold, seconds  # before numpy

# isort: split
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np

from gradrank.data.collection import Collection
from gradrank.training.registry import get_model
from gradrank.training.solvers.boosting import settings_of

METHODS = ("ranknet_kernel", "ranknet_report", "ranknet_report_l2", "arsm", "rankprop", "coordinate_ascent")
TREES = ("lambdamart", "xendcg", "mcrank", "mart", "random_forest")
FOLLOWING = ("lambdaloss_trees", "lambdamart_stochastic", "yeti_trees")  # with derivatives from this package
SAME = {"rounds": 200, "patience": 200}
LIMIT = 1.15  # of LightGBM's own training call, validation included
GROWN = [
    ("ranknet_kernel", {"landmarks": 500}),
    ("ranknet_report_l2", {"epochs": 1, "pairs_per_epoch": 10**9}),
    ("arsm", {"epochs": 3, "least_steps": 1}),
    ("rankprop", {"epochs": 3}),
    ("coordinate_ascent", {"starts": 1, "passes": 1}),
    *((name, {"rounds": 20}) for name in TREES),
]
WHY = """
1x is a quarter of the fold's training part.
rows: linear, because all models pass over documents: products, histograms and sums per query. RankNet of the report
passes over pairs, which grow like the rows if queries keep their length.
pairs (the same rows in queries 2 and 4 times as long): RankNet of the report takes its steps over pairs, and kernel
RankNet sums over pairs in each pass. The other models use no pairs; LightGBM's lambdas stop at a rank.
features: one product, histogram or line search per feature. Of a kernel model, only the matrix depends on them."""


def timed(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def lightgbms_own(name: str, rounds: int, train: Collection, vali: Collection, validated: bool) -> None:
    """Call `lightgbm.train` once per booster of the model, with the settings that the model passes."""
    import lightgbm

    cls = get_model(name)
    params = cls.Params()
    for number, (target, own) in enumerate(cls.objectives(train.labels, params)):
        settings = settings_of(params, number) | own
        data = lightgbm.Dataset(train.features, target, group=np.diff(train.offsets), params=settings)
        parts = []
        if validated:
            settings |= {"metric": "ndcg", "eval_at": [10]}
            parts = [data.create_valid(vali.features, vali.labels, group=np.diff(vali.offsets), params=settings)]
        lightgbm.train(settings, data, rounds, valid_sets=parts)


def tree_seconds(train: Collection, vali: Collection) -> None:
    for name in TREES:
        ours, rounds = seconds(name, {}, train, vali)
        alone, whole = (
            timed(lambda v=v: lightgbms_own(name, rounds, train, vali, v))  # noqa: B023
            for v in (False, True)
        )
        print(
            f"  {name:18} {ours:6.2f} s, {rounds} rounds; LightGBM's own {whole:.2f} s (ours {ours / whole:.2f} times; "
            f"at most {LIMIT}), {alone:.2f} s without validation"
        )


def following_seconds(train: Collection, vali: Collection) -> None:
    """Print the seconds of trees with derivatives from this package, relative to those of `lambdamart`."""
    own, _ = seconds("lambdamart", SAME, train, vali)
    for name in FOLLOWING:
        took, rounds = seconds(name, SAME, train, vali)
        print(f"  {name:22} {took:6.2f} s, {rounds} rounds: {took / own:.2f} times lambdamart (at most 1.5)")


def peers(rounds: int) -> Iterator[tuple[str, Callable[[Collection], None]]]:
    """Yield each installed library besides LightGBM: its name and a function that trains `rounds` rounds."""
    if find_spec("xgboost"):
        yield "XGBoost, rank:ndcg", lambda train: _xgboost(train, rounds)
    if find_spec("catboost"):
        yield "CatBoost, YetiRank", lambda train: _catboost(train, rounds)
    if find_spec("fastrank"):
        yield "fastrank, coordinate ascent", _fastrank


def _xgboost(train: Collection, rounds: int) -> None:
    import xgboost

    data = xgboost.DMatrix(train.features, train.labels, nthread=1)
    data.set_group(np.diff(train.offsets))
    xgboost.train({"objective": "rank:ndcg", "nthread": 1, "tree_method": "hist"}, data, rounds)


def _catboost(train: Collection, rounds: int) -> None:
    import catboost

    data = catboost.Pool(train.features, train.labels, group_id=train.query_of_row)
    settings = {"loss_function": "YetiRank", "iterations": rounds, "thread_count": 1}
    catboost.CatBoost(settings | {"verbose": False, "allow_writing_files": False}).fit(data)


def _fastrank(train: Collection) -> None:
    from fastrank import CDataset, TrainRequest

    request = TrainRequest.coordinate_ascent()
    request.measure = "ndcg@10"
    request.params.seed, request.params.quiet, request.params.num_restarts = 0, True, 1
    data = CDataset.from_numpy(train.features, train.labels.astype(np.float64), train.query_of_row)
    data.train_model(request)


def main() -> None:
    train, vali = read_fold(__doc__)
    for name in (*METHODS, *TREES, *FOLLOWING):  # compilation
        seconds(name, {}, first_queries(train, 30), first_queries(vali, 5))
    for name in METHODS:
        took, calls = seconds(name, {}, train, vali)
        print(f"  {name:18} {took:6.2f} s, {calls} validated", flush=True)
    took, _ = seconds("coordinate_ascent", {"starts": 1}, train, vali)
    print(f"  coordinate_ascent  {took:6.2f} s, one start")
    tree_seconds(train, vali)
    following_seconds(train, vali)
    rounds = seconds("lambdamart", {}, train, vali)[1]
    for title, fit in peers(rounds):
        print(f"  {title:28} {timed(lambda: fit(train)):6.2f} s")  # noqa: B023
    growth(("rows", "pairs", "features"), GROWN, first_queries(train, train.queries // 4), vali)
    print(WHY)


if __name__ == "__main__":
    main()
