"""CPU time of `Ranker` and `evaluate`, compared with direct calls of LightGBM, ranx and pytrec_eval in the same run.

python benchmarks/library.py [--data data/parquet/mq2007]

`fit` and `predict` compare Ranker("lambdamart") with a LightGBM call that has the same parameters, the same validation
data, early stopping and one thread. `evaluate` computes NDCG@10 and MAP per query. ranx and pytrec_eval are given their
own form of the data; its preparation is not counted. Each time is the smallest of several repetitions, in CPU seconds.
The last column is gradrank's time divided by that of the other tool. Tools that are not installed are skipped; to
install them: pip install ranx pytrec-eval-terrier.
"""

import gradrank

gradrank.pin()  # before numpy

# isort: split
import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import lightgbm
import numpy as np

from gradrank.data.stored import StoredCollection

SIZES = {70_000: 1_700, 3_500_000: 84_600}  # key: documents; value: queries


def cpu_seconds(call: Callable[[], object], repetitions: int) -> float:
    """Return the smallest CPU time of several calls."""
    seconds = []
    for _ in range(repetitions):
        started = time.process_time()
        call()
        seconds.append(time.process_time() - started)
    return min(seconds)


def show(what: str, own: float, other: str, seconds: float) -> None:
    print(f"{what:32} {own:8.3f} s   {other:12} {seconds:8.3f} s   ratio {own / seconds:.2f}", flush=True)


def training(data: Path) -> None:
    """Compare `fit` and `predict` on fold 1."""
    stored = StoredCollection.open(data)
    train, vali = (stored.read(stored.fold(1)[split]) for split in ("train", "vali"))
    qid, vali_qid = train.query_of_row, vali.query_of_row
    ranker = gradrank.Ranker("lambdamart", random_state=1)
    params = ranker.get_params()
    settings = {name: params[name] for name in ("learning_rate", "num_leaves", "min_data_in_leaf", "lambda_l2")}
    settings |= {name: params[name] for name in ("feature_fraction", "bagging_fraction", "bagging_freq", "max_bin")}
    settings |= {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "seed": 1, "num_threads": 1}
    settings |= {"deterministic": True, "force_row_wise": True, "feature_pre_filter": False, "verbosity": -1}

    def direct() -> lightgbm.Booster:
        parts = lightgbm.Dataset(train.features, train.labels, group=np.diff(train.offsets), params=settings)
        held_out = parts.create_valid(vali.features, vali.labels, group=np.diff(vali.offsets))
        stopping = lightgbm.early_stopping(params["patience"], verbose=False)
        return lightgbm.train(settings, parts, params["rounds"], valid_sets=[held_out], callbacks=[stopping])

    booster = direct()
    eval_set = (vali.features, vali.labels, vali_qid)
    ranker.fit(train.features, train.labels, qid=qid, eval_set=eval_set)
    # Both tools are given the same number of rounds, because their criteria differ in the last digits.
    rounds = min(booster.current_iteration(), len(ranker.history_))
    params["rounds"] = params["patience"] = rounds
    ranker.set_params(rounds=rounds, patience=rounds)
    fit = cpu_seconds(lambda: ranker.fit(train.features, train.labels, qid=qid, eval_set=eval_set), 3)
    show(f"fit, {train.rows:,} rows, {rounds} rounds", fit, "LightGBM", cpu_seconds(direct, 3))
    trees = lightgbm.Booster(model_str=ranker.fold_.model.texts[0])
    many = np.repeat(train.features, 10, axis=0)
    predict = cpu_seconds(lambda: ranker.predict(many), 3)
    show(
        f"predict, {len(many):,} rows", predict, "LightGBM", cpu_seconds(lambda: trees.predict(many, num_threads=1), 3)
    )


def evaluation(documents: int, queries: int) -> None:
    """Compare `evaluate` on random scores."""
    rng = np.random.default_rng(0)
    sizes = 2 + rng.multinomial(documents - 2 * queries, np.full(queries, 1 / queries))
    grades = rng.choice(5, documents, p=[0.6, 0.2, 0.1, 0.06, 0.04])
    scores, qid = rng.normal(size=documents), np.repeat(np.arange(queries), sizes)
    repetitions = 3 if documents < 1_000_000 else 1
    gradrank.evaluate(grades[:50], scores[:50], qid=qid[:50], convention="trec")  # compiles
    own = cpu_seconds(lambda: gradrank.evaluate(grades, scores, qid=qid, convention="trec"), repetitions)
    what, names = f"evaluate, {documents:,} rows", [f"q{number}" for number in range(queries)]
    if find_spec("pytrec_eval"):
        import pytrec_eval

        qrels, run, start = {}, {}, 0
        for name, size in zip(names, sizes.tolist(), strict=True):
            ids = [f"d{number}" for number in range(size)]
            qrels[name] = dict(zip(ids, grades[start : start + size].tolist(), strict=True))
            run[name] = dict(zip(ids, scores[start : start + size].tolist(), strict=True))
            start += size
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map"})
        show(what, own, "pytrec_eval", cpu_seconds(lambda: evaluator.evaluate(run), repetitions))
        if find_spec("ranx"):
            import ranx

            pair = ranx.Qrels(qrels), ranx.Run(run)
            ranx.evaluate(*pair, ["ndcg@10", "map"])  # compiles
            show(what, own, "ranx", cpu_seconds(lambda: ranx.evaluate(*pair, ["ndcg@10", "map"]), repetitions))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data/parquet/mq2007"))
    arguments = parser.parse_args()
    training(arguments.data)
    for documents, queries in SIZES.items():
        evaluation(documents, queries)
