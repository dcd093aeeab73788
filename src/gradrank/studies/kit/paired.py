"""Chosen pairs of methods compared query by query, as rows of a study's table."""

from collections.abc import Sequence

import numpy as np

from gradrank.evaluation.statistics import bootstrap_interval, holm, paired_t, wilcoxon, win_tie_loss
from gradrank.report.pages.page import number
from gradrank.report.tables.rows import BOOTSTRAP_SEED, LEVEL
from gradrank.studies.kit.study import Column, Row

NAMED = 4  # differences, at most, in a sentence
COLUMNS = (
    Column("difference", "difference", "+.4f"),
    Column("low", "95% from", "+.4f"),
    Column("high", "to", "+.4f"),
    Column("record", "won, tied, lost"),
    Column("t", "p (t)", ".4f"),
    Column("wilcoxon", "p (Wilcoxon)", ".4f"),
    Column("wilcoxon_holm", "p, Holm", ".4f"),
)
NOTE = (
    "Mean of the differences over all test queries, first minus second, with its bootstrap interval; the number "
    "of queries won, tied and lost; two-sided p values, the last one corrected by Holm for the rows of this table."
)


def paired_rows(questions: Sequence[tuple[Row, np.ndarray, np.ndarray]]) -> list[Row]:
    """A row for each (what it is about, (q,) values a, (q,) values b of the same queries): the COLUMNS of a - b."""
    rows = []
    for about, a, b in questions:
        difference, low, high = bootstrap_interval(a, b, BOOTSTRAP_SEED)
        wins, ties, losses = win_tie_loss(a, b)
        rows.append(
            dict(about)
            | {"difference": difference, "low": low, "high": high}
            | {"wins": wins, "ties": ties, "losses": losses, "record": f"{wins}, {ties}, {losses}"}
            | {"t": paired_t(a, b), "wilcoxon": wilcoxon(a, b)}
        )
    for row, p in zip(rows, holm([row["wilcoxon"] for row in rows]), strict=True):
        row["wilcoxon_holm"] = float(p)
    return rows


def found(rows: Sequence[Row], *keys: str) -> str:
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
