"""Processor seconds of `evaluate` by the form of the data, and of pytrec_eval and ranx, with the conversion.

    python benchmarks/evaluate_forms.py [--peers PYTHON]

NDCG@10 and MAP per query under trec_eval's convention, for random judgements and scores with text ids. The time is that
of everything after the import: from the caller's data to the values. Each form runs in a process of its own, after a
run on 8 queries. The smallest of three times is given, for 3.5 million rows the only one.
"""

import sys

from measured import is_installed, parser, printed_values, record

SIZES = {69_623: 1_692, 3_500_000: 84_600}  # rows and queries
CHILD = """
import json, sys, time
form, rows, queries = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if form not in ("pytrec_eval", "ranx"):
    import gradrank; gradrank.pin()
import numpy as np

def generated(rows, queries):
    rng = np.random.default_rng(0)
    sizes = 2 + rng.multinomial(rows - 2 * queries, np.full(queries, 1 / queries))
    query = np.repeat(np.arange(queries), sizes)
    docid = [f"GX{i % 1000:03}-{i:08}" for i in range(rows)]
    return query, docid, rng.choice(5, rows, p=[0.6, 0.2, 0.1, 0.06, 0.04]), rng.normal(size=rows), sizes

def dicts(query, docid, grades, scores, sizes):
    ends = np.cumsum(sizes).tolist()
    for values in (grades.tolist(), scores.tolist()):
        yield {
            f"q{number}": dict(zip(docid[end - size : end], values[end - size : end]))
            for number, (size, end) in enumerate(zip(sizes.tolist(), ends))
        }

def prepared(data):
    if form == "arrays":
        query, docid, grades, scores, _ = data
        return lambda: evaluate(grades, scores, qid=query, **how)
    if form == "Polars frames":
        names = pl.Series("qid", [f"q{number}" for number in data[0].tolist()])
        ids = {"qid": names, "docid": data[1]}
        y, run = (pl.DataFrame(ids | {key: values}) for key, values in (("label", data[2]), ("score", data[3])))
        return lambda: evaluate(y, run, **how)
    qrels, run = dicts(*data)
    if form == "pytrec_eval":
        return lambda: pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map"}).evaluate(run)
    if form == "ranx":
        return lambda: ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), ["ndcg@10", "map"])
    return lambda: evaluate(qrels, run, **how)

if form == "pytrec_eval":
    import pytrec_eval
elif form == "ranx":
    import ranx
else:
    import polars as pl
    from gradrank import evaluate
    how = {"metrics": ["ndcg@10", "map"], "convention": "trec"}
prepared(generated(60, 8))()
run, seconds = prepared(generated(rows, queries)), []
for _ in range(3 if rows < 1_000_000 else 1):
    started = time.process_time()
    run()
    seconds.append(time.process_time() - started)
print(json.dumps({"seconds": min(seconds)}))
"""
FORMS = {"nested dicts": "after", "Polars frames": "Polars frames", "arrays": "arrays, without document ids"}
PEERS = ("pytrec_eval", "ranx")
NOTES = (
    "*After* has the nested dicts of pytrec_eval, as pytrec_eval and ranx. The conversion is included.",
    "Of the time for nested dicts, reading the dicts is a fifth, checking the ids a third, and the metrics a third. "
    "pytrec_eval does not check ids, and is faster.",
    "With 3.5 million rows, the first call also loads Numba's machine code. A second and third call with arrays took "
    "1.5 s and 1.0 s in a separate process.",
)


def main() -> None:
    options = parser(__doc__).parse_args()
    tools = FORMS | {name: name for name in PEERS if is_installed(options.peers, name)}
    values: dict[str, dict[float, float]] = {shown: {} for shown in tools.values()}
    for rows, queries in SIZES.items():
        for form, shown in tools.items():
            python = options.peers if form in PEERS else sys.executable
            found = printed_values([python, "-c", CHILD, form, rows, queries])
            values[shown][rows] = found["seconds"]
            print(form, rows, found, flush=True)
    record("evaluate_forms", "Evaluation by the form of the data", "rows", values, NOTES, options)


if __name__ == "__main__":
    main()
