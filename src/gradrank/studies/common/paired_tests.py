"""Chosen pairs of methods compared query by query, as rows of a study's table."""

from collections.abc import Sequence
from typing import NamedTuple

from gradrank.evaluation.metrics import metric_label
from gradrank.evaluation.per_query import QueryValues
from gradrank.evaluation.statistics import LEVEL, holm, paired_test
from gradrank.report.tables.numbers import P, number
from gradrank.report.tables.table import Column, Row

NAMED = 4  # differences, at most, in a sentence
COLUMNS = (
    Column("difference", "difference", "+.4f"),
    Column("low", "95% from", "+.4f"),
    Column("high", "to", "+.4f"),
    Column("record", "won, tied, lost", of=lambda row: f"{row['wins']}, {row['ties']}, {row['losses']}"),
    Column("t", "p (t)", P),
    Column("wilcoxon", "p (Wilcoxon)", P),
    Column("wilcoxon_holm", "p, Holm", P),
)
NOTE = (
    "Difference of the means over folds, first minus second, with its bootstrap interval over test queries; the "
    "number of queries won, tied and lost; two-sided p values over queries, the last one corrected by Holm for the "
    "rows of this table."
)


class Question(NamedTuple):
    """Two methods' values of the same queries, and what names them in the table beside the metric."""

    about: Row
    metric: str
    first: QueryValues
    second: QueryValues


def paired_tests(questions: Sequence[Question]) -> list[Row]:
    """A row for each: what it is about, and the COLUMNS of first minus second."""
    rows = [
        about
        | {"metric": metric_label(metric)}
        | paired_test(first.values[metric], second.values[metric], first.folds)._asdict()
        for about, metric, first, second in questions
    ]
    for row, p in zip(rows, holm([row["wilcoxon"] for row in rows]), strict=True):
        row["wilcoxon_holm"] = float(p)
    return rows


def significant(rows: Sequence[Row], *keys: str) -> str:
    """A sentence: which of the rows, named by `keys` and their metric, differ after correction (Wilcoxon)."""
    real = [row for row in rows if row["wilcoxon_holm"] < LEVEL]
    if not real:
        return f"none of {len(rows)} differences stands (Wilcoxon, corrected by Holm)."
    widest = sorted(real, key=lambda row: -abs(row["difference"]))[:NAMED]
    named = [
        f"{', '.join(str(row[key]) for key in (*keys, 'metric'))} ({number(row['difference'], '+.4f')})"
        for row in widest
    ]
    stand = "stands" if len(real) == 1 else "stand"
    opening = f"{len(real)} of {len(rows)} differences {stand} (Wilcoxon, corrected by Holm)"
    return f"{opening}{', the widest' if len(real) > NAMED else ''}: {'; '.join(named)}."
