"""Metric values of each query: their table, and detection of values that are 0 only because a query is short.

LETOR's programs give NDCG@k = 0 to a query with fewer than k documents. On data where most queries are short, a table
is then dominated by zeros that do not depend on the rankings.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import Convention, resolve
from gradrank.measures.judgements import Judgements, read_judgements
from gradrank.measures.metrics import compute, find, metric_label

QUERY = "query"  # column of textual query ids; if there is such a column, `qid` holds their numbers


def query_table(
    judgements: Judgements,
    scores: np.ndarray,
    convention: Convention,
    metrics: Sequence[str],
    ranked: np.ndarray | None = None,
) -> pl.DataFrame:
    """Return one row per query: `qid`, `query` (if the ids are text) and one column per metric.

    The arguments are those of Ranking. metrics: names in gradrank's own spelling. Undefined values are null.
    """
    labels, offsets, ids = judgements.labels, judgements.offsets, judgements.docids
    ranked = None if ranked is None or ranked.all() else ranked
    status, stratum = judgements.status, judgements.stratum
    values = compute(metrics, scores, labels, offsets, convention, ids, ranked, status, stratum)
    ids = {"qid": judgements.qids} | ({} if judgements.names is None else {QUERY: judgements.names})
    return pl.DataFrame(ids | values).with_columns(pl.col(metrics).fill_nan(None))


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
        counts = [zeros_of_short_lists(metrics, test.labels, test.offsets, resolve(name)) for test in tests]
        for metric in metrics:
            if count := sum(of_fold.get(metric, 0) for of_fold in counts):
                share = count / queries
                yield {"convention": name, "metric": metric, "queries": count, "of": queries, "share": share}


def zeros_of_short_lists(
    metrics: Sequence[str], labels: np.ndarray, offsets: np.ndarray, convention: Convention
) -> dict[str, int]:
    """Return the number of queries with the value 0 due to few documents, for each metric with such queries.

    A query counts as in `short_lists`. labels: (n,) grades. offsets: (q+1,).
    """
    truncated = replace(convention, short="truncate", short_precision="pad")
    deepest = max((find(metric)[1].get("k", 0) for metric in metrics), default=0)
    sizes = np.diff(offsets)
    short = sizes < deepest
    if convention == truncated or not short.any():
        return {}
    labels, offsets = labels[np.repeat(short, sizes)], np.r_[0, np.cumsum(sizes[short])]
    ideal = labels.astype(np.float64), labels, offsets
    values, truncated_values = (compute(metrics, *ideal, rules) for rules in (convention, truncated))
    counts = {name: int(np.count_nonzero((values[name] == 0) & (truncated_values[name] > 0))) for name in metrics}
    return {name: count for name, count in counts.items() if count}


def short_lists_note(zeros: Mapping[str, int], queries: int, convention: str) -> str:
    """Return the note under a table of values per query, which names the queries with the value 0; empty if none have.

    zeros: the result of `zeros_of_short_lists`. queries: number of all queries.
    """
    if not zeros:
        return ""
    counts = ", ".join(f"{metric_label(name)} for {count:,}" for name, count in zeros.items())
    return (
        f"Note: under `{convention}`, a metric at rank k is 0 for a query with fewer than k documents, whatever the "
        f"ranking: {counts} of {queries:,} queries. The convention `{REMEDY}` has no such rule."
    )


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
        f"`datasets.{dataset}.convention: {REMEDY}` in params.yaml and run the same command again. The models are "
        "then trained again, because the convention also selects epochs, rounds and grid points."
    )
