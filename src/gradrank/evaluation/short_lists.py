"""Zeros that say nothing of a ranking: LETOR's programs give a query with fewer than k documents 0 at NDCG@k.

On data with short lists that is most queries, and a table of zeros looks like a result.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.data.stored import StoredCollection
from gradrank.evaluation.conventions import resolve
from gradrank.evaluation.judgements import read_judgements
from gradrank.evaluation.metrics import compute, metric_label

TELLING = 0.01  # share of the test queries from which on it is worth a warning; MQ2007 has one query of 1,692
REMEDY = "standard"


def short_lists(data: Path, metrics: Sequence[str], conventions: Iterable[str]) -> Iterator[dict[str, Any]]:
    """A row for each convention and metric that gives queries 0 for their length alone.

    Keys: `convention`, `metric`, `queries` (how many), `of` (all test queries), `share`. data: a stored
    collection. A query counts if even its ideal ranking has 0, but more where short lists are cut.
    """
    stored = StoredCollection.open(data)
    tests = [read_judgements(stored, parts["test"]) for parts in stored.folds]
    queries = sum(len(test.qids) for test in tests)
    for name in conventions:
        convention = resolve(name)
        cut = replace(convention, short="truncate", short_precision="pad")
        counts = dict.fromkeys(metrics, 0)
        for test in tests if convention != cut else ():
            ideal = test.labels.astype(np.float64), test.labels, test.offsets
            as_is, as_cut = (compute(metrics, *ideal, each, ids=test.docids) for each in (convention, cut))
            for metric in metrics:
                counts[metric] += int(np.count_nonzero((as_is[metric] == 0) & (as_cut[metric] > 0)))
        for metric, count in counts.items():
            if count:
                share = count / queries
                yield {"convention": name, "metric": metric, "queries": count, "of": queries, "share": share}


def warning(rows: Iterable[dict[str, Any]], dataset: str, primary: str) -> str | None:
    """What to say of a data set's rows under its primary convention; None where they are few."""
    own = [row for row in rows if row["convention"] == primary and row["share"] >= TELLING]
    if not own:
        return None
    own.sort(key=lambda row: -row["share"])
    shares = [f"{metric_label(row['metric'])} of {row['share']:.0%}" for row in own]
    return (
        f"Zeros that are no results: under `{primary}` a query with fewer than k documents has 0 at rank k, whatever "
        f"its ranking. Here that is {', '.join(shares)} of the {own[0]['of']:,} test queries. Choose another primary "
        f"convention: `datasets.{dataset}.convention: {REMEDY}` in params.yaml; the same command then measures by it, "
        "and nothing is trained again."
    )
