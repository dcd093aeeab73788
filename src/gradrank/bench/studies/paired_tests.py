"""Paired tests that compare two methods on the same queries, as rows of a table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gradrank.base.numbers import number
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.numbers import P
from gradrank.bench.report.tables.table import Column, Row
from gradrank.comparison.significance.decision import RULE, decide_row
from gradrank.comparison.statistics import holm, paired_test
from gradrank.measures.metrics import metric_label

MAX_NAMED = 4  # largest number of differences that `describe_significant` names
COLUMNS = (
    Column("difference", "difference", "+.4f"),
    Column("low", "95% interval from", "+.4f"),
    Column("high", "to", "+.4f"),
    Column("record", "won, tied, lost", of=lambda row: f"{row['wins']}, {row['ties']}, {row['losses']}"),
    Column("t", "p (t)", P),
    Column("wilcoxon", "p (Wilcoxon)", P),
    Column("wilcoxon_holm", "p (Holm)", P),
)
PAIR_COLUMNS = (Column("dataset", "data set"), Column("pair", "methods"), Column("metric"), *COLUMNS)
NOTE = (
    "Difference of the means over folds, first minus second, with its bootstrap interval over test queries; the "
    "number of queries won, tied and lost; two-sided p values over queries, the last one corrected by Holm for the "
    f"rows of this table. {RULE}"
)


class Question(NamedTuple):
    """Two methods to compare on one metric.

    about: the cells that identify the comparison in the table, except the metric. first, second: the per-query values
    of the two methods, for the same queries in the same order.
    """

    about: Row
    metric: str
    first: QueryValues
    second: QueryValues


def paired_tests(questions: Sequence[Question]) -> list[Row]:
    """Return one row per question.

    A row has the cells of `about`, the metric, and the results of the paired tests of first minus second. The results
    have the keys of COLUMNS.
    """
    rows: list[Row] = [
        about
        | {"metric": metric_label(metric)}
        | paired_test(first.values[metric], second.values[metric], first.folds, queries=first.qids)._asdict()
        for about, metric, first, second in questions
    ]
    for row, p in zip(rows, holm([row["wilcoxon"] for row in rows]), strict=True):
        row["wilcoxon_holm"] = float(p)
    return rows


def pair_tests(
    measured: Mapping[tuple[str, str], QueryValues], pairs: Iterable[tuple[str, str]], metrics: Sequence[str]
) -> list[Row]:
    """Return one row of `paired_tests` per data set, pair of methods and metric, for a table with PAIR_COLUMNS.

    measured: values per query by data set and method.
    """
    pairs = tuple(pairs)
    return paired_tests(
        [
            Question(
                {"dataset": dataset, "pair": f"{first} − {second}"},
                metric,
                measured[dataset, first],
                measured[dataset, second],
            )
            for dataset in dict.fromkeys(dataset for dataset, _ in measured)
            for first, second in pairs
            for metric in metrics
        ]
    )


def describe_significant(rows: Sequence[Row], *keys: str) -> str:
    """Return one sentence about the rows of `paired_tests` that are significant.

    A row is significant by the rule in `gradrank.comparison.significance.decision`. keys: the cells that identify a row
    in the sentence, in addition to its metric.
    """
    significant_rows = [row for row in rows if decide_row(row) != "no evidence"]
    if not significant_rows:
        return f"none of {len(rows)} differences stands."
    widest = sorted(significant_rows, key=lambda row: -abs(row["difference"]))[:MAX_NAMED]
    parts = [
        f"{', '.join(str(row[key]) for key in (*keys, 'metric'))} ({number(row['difference'], '+.4f')})"
        for row in widest
    ]
    stand = "stands" if len(significant_rows) == 1 else "stand"
    opening = f"{len(significant_rows)} of {len(rows)} differences {stand}"
    return f"{opening}{', the widest' if len(significant_rows) > MAX_NAMED else ''}: {'; '.join(parts)}."
