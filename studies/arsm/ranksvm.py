"""RankSVM on OHSUMED: the published results of LETOR 3.0 compared with our solvers.

Our solvers find the optimum for each C, or are stopped early. The section says which of these weights have values near
the published row. It does not say how the published row was computed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradrank.base.numbers import number
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.literature.published import lookup
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import PageSection
from gradrank.measures.metrics import metric_label
from studies.arsm.experiments import METRICS

SHOWN = "ndcg@3"  # the metric for which our value differs most from the published one
PAGE = "research.microsoft.com/en-us/um/beijing/projects/letor/letor3baseline.aspx"


def ranksvm(job: Mapping[str, Sequence[Mapping[str, Any]]], ours: QueryValues) -> PageSection:
    """Return the section on RankSVM.

    job: the result of the job `ranksvm-ohsumed`. ours: per-query values of our RankSVM on OHSUMED, with C selected by
    validation MAP.
    """
    published = {metric: _published(metric) for metric in METRICS}
    return PageSection(
        "ranksvm",
        "RankSVM on OHSUMED: C, and a stop before the optimum",
        [
            f"LETOR 3.0's RankSVM has NDCG@3 {number(published[SHOWN])} on OHSUMED, below its other linear methods. "
            f"Ours, with C chosen by validation MAP, has {number(ours.mean(SHOWN))}. The table has the optimum for "
            "each C, and the dual of the plain hinge loss, stopped after some pairs, each visited once. It shows the "
            "test values of all, and nothing was chosen by them.",
            _ranges(job, published),
            _inconclusive(job, published),
            "The makers of the collection write that their results can be improved, and that RankSVM needs more "
            f"iterations to converge ({PAGE}). They do not give C or the number of iterations.",
        ],
        [_table(job, published)],
    )


def _table(job: Mapping[str, Sequence[Mapping[str, Any]]], published: dict[str, float]) -> Table:
    solved = [_row(f"2^{row['exponent']}", "the end", [row]) for row in job["solved"]]
    stopped = [
        _row(f"2^{exponent}", f"{visits:,} pairs", runs)
        | {"spread": float(np.std([run[SHOWN] for run in runs], ddof=1)) if len(runs) > 1 else None}
        for (exponent, visits), runs in _orders(job["stopped"]).items()
    ]
    rows = [{"spread": None} | row | {"furthest": _furthest(row, published)} for row in (*solved, *stopped)]
    return Table(
        "ranksvm_ohsumed",
        "OHSUMED: RankSVM by C and by where its solver stops",
        [
            Column("C"),
            Column("until", "solved until"),
            *(Column(metric, metric_label(metric), ".4f") for metric in METRICS),
            Column("spread", f"{metric_label(SHOWN)}, deviation over orders", ".4f"),
            Column("furthest", "furthest from LETOR's", ".4f"),
        ],
        [{"C": "LETOR 3.0", "until": "", "furthest": None, "spread": None} | published, *rows],
        "Test means over folds under `letor3`. Rows of stopped solvers are also means over "
        f"{len({row['order'] for row in job['stopped']})} random orders of the pairs, and the standard deviation over "
        "these orders is given. The last column is the widest difference from the first row's six values.",
    )


def _published(metric: str) -> float:
    """Return the value that LETOR 3.0 published for a metric."""
    (value,) = (row.value for row in lookup("ohsumed", "ranksvm", metric) if row.source.startswith("LETOR 3.0"))
    return value


def _orders(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[int, int], list[Mapping[str, Any]]]:
    """Return the runs in groups. The runs of a group differ only in the order of the pairs.

    The key of a group is (exponent of C, number of visited pairs).
    """
    runs: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
    for row in rows:
        runs.setdefault((row["exponent"], row["visits"]), []).append(row)
    return runs


def _row(C: str, until: str, runs: Sequence[Mapping[str, Any]]) -> Row:
    means = {metric: float(np.mean([run[metric] for run in runs])) for metric in METRICS}
    return {"C": C, "until": until} | means


def _furthest(row: Mapping[str, Any], published: Mapping[str, float]) -> float:
    """Return the largest absolute difference from the published values, over all metrics."""
    return max(abs(row[metric] - published[metric]) for metric in METRICS)


def _ranges(job: Mapping[str, Sequence[Mapping[str, Any]]], published: Mapping[str, float]) -> str:
    """Return sentences that say whether the published values are within the range of our values.

    There is one range for the optimal solutions, and one for the runs that were stopped early.
    """
    parts = []
    for metric in (SHOWN, "ndcg@10"):
        value, ranges = published[metric], []
        for kind, until in (("solved", "at the optimum"), ("stopped", "stopped")):
            values = [row[metric] for row in job[kind]]
            place = "inside" if min(values) <= value <= max(values) else "outside"
            ranges.append(f"{number(min(values))} to {number(max(values))} {until} (LETOR's value is {place})")
        parts.append(f"{metric_label(metric)}, {number(value)} in LETOR: {', '.join(ranges)}")
    return f"{'; '.join(parts)}."


def _inconclusive(job: Mapping[str, Sequence[Mapping[str, Any]]], published: Mapping[str, float]) -> str:
    """Return sentences that say how near our runs come to the published row, and that its cause is not shown."""
    near = {kind: min(_furthest(row, published) for row in job[kind]) for kind in ("solved", "stopped")}
    orders = _orders(job["stopped"])
    values = [run[SHOWN] for run in job["stopped"]]
    return (
        f"The nearest optimum differs from one of the row's values by {number(near['solved'])}, the nearest stopped "
        f"run by {number(near['stopped'])}. But the {len(values)} stopped runs ({len(orders)} settings) have "
        f"{metric_label(SHOWN)} from {number(min(values))} to {number(max(values))}. So values near the published ones "
        "do not show that the published solver was stopped early. The row is unexplained."
    )
