"""Detection of values that are 0 only because a query is short.

LETOR's programs give NDCG@k = 0 to a query with fewer than k documents. On data where most queries are short, a table
is then dominated by zeros that do not depend on the rankings.
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

NOTABLE_SHARE = 0.01  # smallest share of test queries that causes a warning; in MQ2007, 1 query of 1,692 is affected
REMEDY = "standard"  # the convention that the warning recommends


def short_lists(data: Path, metrics: Sequence[str], conventions: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield one row per convention and metric under which some queries have the value 0 only because they are short.

    The keys of a row are `convention`, `metric`, `queries` (number of these queries), `of` (number of all test queries)
    and `share` (queries / of). data: a stored collection. A query counts if its ideal ranking has the value 0 under the
    convention, but a positive value under this convention with `short="truncate"` and `short_precision="pad"`.
    """
    stored = StoredCollection.open(data)
    tests = [read_judgements(stored, parts["test"]) for parts in stored.folds]
    queries = sum(len(test.qids) for test in tests)
    for name in conventions:
        convention = resolve(name)
        truncated = replace(convention, short="truncate", short_precision="pad")
        counts = dict.fromkeys(metrics, 0)
        for test in tests if convention != truncated else ():
            ideal = test.labels.astype(np.float64), test.labels, test.offsets
            values = compute(metrics, *ideal, convention, ids=test.docids)
            truncated_values = compute(metrics, *ideal, truncated, ids=test.docids)
            for metric in metrics:
                counts[metric] += int(np.count_nonzero((values[metric] == 0) & (truncated_values[metric] > 0)))
        for metric, count in counts.items():
            if count:
                share = count / queries
                yield {"convention": name, "metric": metric, "queries": count, "of": queries, "share": share}


def warning(rows: Iterable[dict[str, Any]], dataset: str, primary: str) -> str | None:
    """Return the warning about a data set's short queries under its primary convention, or None if there are few.

    rows: as yielded by `short_lists`.
    """
    notable = [row for row in rows if row["convention"] == primary and row["share"] >= NOTABLE_SHARE]
    if not notable:
        return None
    notable.sort(key=lambda row: -row["share"])
    shares = [f"{metric_label(row['metric'])} is 0 for {row['share']:.0%}" for row in notable]
    return (
        f"Values of 0 due to short queries: under `{primary}`, a query with fewer than k documents has the value 0 at "
        f"rank k, whatever its ranking. {', '.join(shares)} of the {notable[0]['of']:,} test queries. Fix: set "
        f"`datasets.{dataset}.convention: {REMEDY}` in params.yaml and run the same command again; no model is "
        "retrained."
    )
