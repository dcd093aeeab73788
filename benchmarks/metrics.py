"""Time and peak memory of evaluation, compared with other packages in the same run.

python benchmarks/metrics.py [--data data/parquet/mq2007] [--large]

Each tool runs in its own process. After a warm-up on a few queries (imports, compilation), it converts the input to its
own form ("prepare") and computes NDCG@1..10, P@1..10 and MAP per query under trec_eval's convention ("evaluate").
"gradrank, all metrics" computes every metric of gradrank; "gradrank, from files" also reads and checks judgements and
scores in Parquet and writes the values. The limit of the large run is 10 s and 2 GB. Tools that are not installed are
skipped; to install them: pip install pytrec-eval-terrier ir-measures ranx.
"""

import gradrank

gradrank.pin()  # before numpy

# isort: split
import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np

from gradrank.base import processor

CUTS = range(1, 11)
SHARED = [*(f"ndcg@{k}" for k in CUTS), *(f"p@{k}" for k in CUTS), "map"]
ALL = [
    *SHARED,
    *(f"{name}@{k}" for name in ("recall", "f1", "err") for k in CUTS),
    *(f"iprec@{level / 10}" for level in range(11)),
    *("ndcg@15", "ndcg", "mean_ndcg", "ndcg_beta", "r_precision", "iprec_11pt", "mrr"),
    *("pairwise_accuracy", "pairwise_error"),
]
LARGE = (3_500_000, 84_600)
LIMIT_SECONDS = 120


def generated(rows: int, queries: int):
    """Return random (scores, labels, offsets) of queries with at least two documents and grades 0 to 4."""
    rng = np.random.default_rng(0)
    sizes = 2 + rng.multinomial(rows - 2 * queries, np.full(queries, 1 / queries))
    labels = rng.choice(5, rows, p=[0.6, 0.2, 0.1, 0.06, 0.04])
    return rng.normal(size=rows), labels, np.r_[0, np.cumsum(sizes)]


def load(source: str):
    """Return (scores, labels, offsets) of a stored collection with random scores, or generated from `rows,queries`."""
    if not Path(source).exists():
        return generated(*map(int, source.split(",")))
    from gradrank.measures.judgements import read_judgements

    judgements = read_judgements(source)
    scores = np.random.default_rng(0).normal(size=len(judgements.labels))
    return scores, judgements.labels, judgements.offsets


def gradrank(names, scores, labels, offsets):
    """Return an evaluation of arrays by gradrank, which includes checks and the search for the rows of each query."""
    from gradrank.comparison.rankings.evaluation import evaluate

    qid = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return lambda: evaluate(labels, scores, qid=qid, metrics=names, convention="trec").per_query["ndcg@10"].mean()


def gradrank_from_files(scores, labels, offsets):
    """Return an evaluation of Parquet files by gradrank."""
    import polars as pl

    from gradrank.comparison.rankings.evaluation import evaluate

    folder = Path(tempfile.mkdtemp())
    sizes = np.diff(offsets)
    rows = {
        "part": np.ones(len(labels), np.int8),
        "qid": np.repeat(np.arange(len(sizes)), sizes),
        "docid": pl.Series(np.arange(len(labels)) - np.repeat(offsets[:-1], sizes)).cast(pl.String),
        "label": labels,
    }
    pl.DataFrame(rows).write_parquet(folder / "data.parquet")
    pl.DataFrame({"score": scores}).write_parquet(folder / "scores.parquet")

    def run():
        values = evaluate(folder / "data.parquet", folder / "scores.parquet", metrics=ALL, convention="trec").per_query
        values.write_parquet(folder / "values.parquet")
        shutil.rmtree(folder)
        return values["ndcg@10"].mean()

    return run


def plain_numpy(scores, labels, offsets):
    """Return an evaluation in plain NumPy: two sorts of all documents, then sums over the first k of each query."""

    def run():
        query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        rank = np.arange(1, len(labels) + 1) - offsets[query]
        ranked, ideal = (labels[np.lexsort((-key, query))] for key in (scores, labels))

        def sums(values):
            total = np.r_[0.0, np.cumsum(values)]
            return lambda k: total[np.minimum(offsets[:-1] + k, offsets[1:])] - total[offsets[:-1]]

        gain, best = sums(ranked / np.log2(rank + 1)), sums(ideal / np.log2(rank + 1))
        hits = sums(ranked > 0)
        total_hits = np.cumsum(ranked > 0)
        relevant = hits(len(labels))
        so_far = total_hits - (total_hits[offsets[:-1]] - (ranked[offsets[:-1]] > 0))[query]
        values = {"map": sums(np.where(ranked > 0, so_far / rank, 0.0))(len(labels)) / np.maximum(relevant, 1)}
        for k in CUTS:
            ideal_gain = best(k)
            values[f"ndcg@{k}"] = np.divide(gain(k), ideal_gain, out=np.zeros(len(ideal_gain)), where=ideal_gain > 0)
            values[f"p@{k}"] = hits(k) / k
        return values["ndcg@10"].mean()

    return run


def _dicts(scores, labels, offsets):
    """Return the nested dictionaries that pytrec_eval and ranx expect."""
    qrels, run = {}, {}
    for q, (a, b) in enumerate(pairwise(offsets)):
        ids = [f"d{i}" for i in range(b - a)]
        qrels[str(q)] = dict(zip(ids, labels[a:b].tolist(), strict=True))
        run[str(q)] = dict(zip(ids, scores[a:b].tolist(), strict=True))
    return qrels, run


def pytrec_eval(scores, labels, offsets):
    import pytrec_eval as tool

    cuts = ",".join(map(str, CUTS))
    qrels, run = _dicts(scores, labels, offsets)
    evaluator = tool.RelevanceEvaluator(qrels, {f"ndcg_cut.{cuts}", f"P.{cuts}", "map"})
    return lambda: np.mean([values["ndcg_cut_10"] for values in evaluator.evaluate(run).values()])


def ir_measures(scores, labels, offsets):
    import ir_measures as tool

    qrels, run = _dicts(scores, labels, offsets)
    measures = [tool.AP, *(tool.nDCG @ k for k in CUTS), *(tool.P @ k for k in CUTS)]
    evaluator = tool.evaluator(measures, qrels)
    return lambda: np.mean([m.value for m in evaluator.iter_calc(run) if m.measure == tool.nDCG @ 10])


def ranx(scores, labels, offsets):
    import ranx as tool

    qrels, run = (form(table) for form, table in zip((tool.Qrels, tool.Run), _dicts(scores, labels, offsets)))  # noqa: B905
    measures = ["map", *(f"ndcg@{k}" for k in CUTS), *(f"precision@{k}" for k in CUTS)]
    return lambda: tool.evaluate(qrels, run, measures)["ndcg@10"]


def scikit_learn(scores, labels, offsets):
    from sklearn.metrics import average_precision_score, ndcg_score

    def run():
        values = []
        for a, b in pairwise(offsets):
            for k in CUTS:
                value = ndcg_score(labels[None, a:b], scores[None, a:b], k=k)
            values.append(value)
            if labels[a:b].any():
                average_precision_score(labels[a:b] > 0, scores[a:b])
        return np.mean(values)

    return run


TOOLS = {
    "gradrank, same metrics": ("numpy", lambda *data: gradrank(SHARED, *data)),
    "gradrank, all metrics": ("numpy", lambda *data: gradrank(ALL, *data)),
    "gradrank, from files": ("numpy", gradrank_from_files),
    "plain NumPy": ("numpy", plain_numpy),
    "pytrec_eval": ("pytrec_eval", pytrec_eval),
    "ir_measures": ("ir_measures", ir_measures),
    "ranx": ("ranx", ranx),
    "scikit-learn, no P@k": ("sklearn", scikit_learn),
}


def measure(tool: str, source: str) -> None:
    """Run one tool and print its measurements as JSON."""
    prepare = TOOLS[tool][1]
    prepare(*generated(60, 8))()
    data = load(source)
    started = time.perf_counter()
    evaluate = prepare(*data)
    prepared, busy = time.perf_counter(), time.process_time()
    value = evaluate()
    figures = {
        "prepare": prepared - started,
        "evaluate": time.perf_counter() - prepared,
        "cpu": time.process_time() - busy,
        "ndcg@10": float(value),
    }
    print(json.dumps(figures | {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 2**10}))


def table(title: str, source: str, tools: Iterable[str] = TOOLS) -> None:
    """Print a line per tool. "times": its CPU time divided by that of gradrank with the same metrics."""
    print(f"instruction set: {processor.form()}")
    print(
        f"\n{title}\n{'':24}{'prepare s':>10}{'evaluate s':>11}{'cpu s':>8}{'times':>8}{'peak MB':>9}  NDCG@10",
        flush=True,
    )
    base = None
    for tool in tools:
        if find_spec(TOOLS[tool][0]) is None:
            print(f"{tool:24}not installed")
            continue
        command = [sys.executable, __file__, "--tool", tool, "--source", source]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=True)
        except subprocess.TimeoutExpired:
            print(f"{tool:24}stopped after {LIMIT_SECONDS} s", flush=True)
            continue
        figures = json.loads(done.stdout.splitlines()[-1])
        base = base or figures["cpu"]
        print(
            f"{tool:24}{figures['prepare']:10.3f}{figures['evaluate']:11.3f}{figures['cpu']:8.3f}"
            f"{figures['cpu'] / base:8.1f}{figures['peak_mb']:9}  {figures['ndcg@10']:.6f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="data/parquet/mq2007", help="stored collection")
    parser.add_argument("--large", action="store_true", help="also run on 84,600 generated queries, 3.5 million rows")
    parser.add_argument("--tool", choices=TOOLS, help=argparse.SUPPRESS)
    parser.add_argument("--source", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.tool:
        return measure(chosen.tool, chosen.source)
    if Path(chosen.data).exists():
        table(chosen.data, chosen.data)
    else:
        table("69,623 generated rows, 1,692 queries (the size of MQ2007)", "69623,1692")
    if chosen.large:
        tools = [tool for tool in TOOLS if not tool.startswith("scikit-learn")]  # takes ten minutes
        table(f"{LARGE[0]:,} generated rows, {LARGE[1]:,} queries", ",".join(map(str, LARGE)), tools)


if __name__ == "__main__":
    main()
