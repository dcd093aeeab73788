"""Comparison of target probabilities with hard labels, for equal numbers of pairs."""

from itertools import product
from typing import Any

import numpy as np

from gradrank.base.numbers import number, p_value
from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.study import Figure, PageSection
from gradrank.comparison.statistics import LEVEL, Interval, holm, mean_interval, paired_t
from studies.pair_targets.claims import OURS, Claim
from studies.pair_targets.experiments import FEATURES, JUDGES, KINDS

Values = dict[tuple[str, int], np.ndarray]  # key: (kind, number of pairs); value: (draws,)
COLUMNS = (
    Column("pairs", "pairs", ",d"),
    Column("kind", "a pair's target is"),
    Column("right", "% in order", ".2f"),
    Column("error", "error of P", ".4f"),
    Column("half", "±", ".4f"),
    Column("p", "p against one judge", "p"),
)
NOTE = (
    "Means over draws: percent of new pairs in the true order, mean absolute error of their probability and half its "
    "95% interval; p of Student's paired test of the error, corrected by Holm for the rows of this table."
)


def noise(draws: list[dict[str, Any]]) -> tuple[PageSection, list[Claim]]:
    """Return the section on the three kinds of targets, and the claims about them."""
    right, error = (_values(draws, name) for name in ("right", "error"))
    sizes = sorted({size for _, size in error})
    rows = _rows(right, error, sizes)
    probability, judges, _ = KINDS
    paragraphs = [
        f"The truth is linear in {FEATURES} features, and a pair's probability is the logistic function of the "
        "difference. RankNet sees as many pairs with the probability itself, with the share of "
        f"{JUDGES} judges who drew from it, and with one judge's word, which is 0 or 1; its l2 is chosen by as many "
        "further pairs of the same kind.",
        *_equal_judgements(error, sizes),
    ]
    table = Table("noise", "Targets of three kinds", COLUMNS, rows, NOTE)
    claims = [
        _better(rows, error, probability, "probabilities teach more than as many hard labels"),
        _better(rows, error, judges, f"shares of {JUDGES} judges teach more than as many hard labels"),
    ]
    return PageSection(
        "noise", "Probabilities against hard labels", paragraphs, [_figure(rows, error, sizes), table]
    ), claims


def _values(draws: list[dict[str, Any]], name: str) -> Values:
    """Return one value per draw for each kind of target and number of pairs.

    The keys are (kind, number of pairs). name: `right` or `error`.
    """
    runs = [{(run["kind"], run["pairs"]): run[name] for run in draw["noise"]} for draw in draws]
    return {key: np.array([run[key] for run in runs]) for key in runs[0]}


def _rows(right: Values, error: Values, sizes: list[int]) -> list[dict[str, Any]]:
    """Return one row per number of pairs and kind of target.

    `p` is the p value of the comparison with hard labels. The rows of the hard labels themselves have the value None.
    """
    rows = []
    for size, kind in product(sizes, KINDS):
        interval = mean_interval(error[kind, size])
        rows.append(
            {"pairs": size, "kind": kind, "right": float(right[kind, size].mean()), "error": interval.mean}
            | {"half": _half(interval), "p": None}
        )
    tested_rows = [row for row in rows if row["kind"] != KINDS[-1]]
    p = [paired_t(error[row["kind"], row["pairs"]], error[KINDS[-1], row["pairs"]]) for row in tested_rows]
    for row, corrected in zip(tested_rows, holm(p), strict=True):
        row["p"] = float(corrected)
    return rows


def _half(interval: Interval) -> float:
    """Return half the width of an interval."""
    return (interval.high - interval.low) / 2.0


def _better(rows: list[dict[str, Any]], error: Values, kind: str, claim: str) -> Claim:
    """Return the claim that a kind of target has a smaller error than hard labels for every number of pairs."""
    kind_rows = [row for row in rows if row["kind"] == kind]
    ratios = [error[KINDS[-1], row["pairs"]].mean() / row["error"] for row in kind_rows]
    measured = ", ".join(
        f"{row['pairs']:,} pairs: 1/{ratio:.{0 if ratio > 9.95 else 1}f} of the error"
        for row, ratio in zip(kind_rows, ratios, strict=True)
    )
    holds = all(ratio > 1.0 and row["p"] < LEVEL for row, ratio in zip(kind_rows, ratios, strict=True))
    return Claim(claim, OURS, measured, holds)


def _equal_judgements(error: Values, sizes: list[int]) -> list[str]:
    """Return a list with one sentence that compares two ways to spend the same number of judgements.

    One way is JUDGES judgements per pair. The other way is one judgement per pair, for JUDGES times as many pairs. The
    list is empty if no two of the sizes allow the comparison.
    """
    _, judges, one = KINDS
    comparisons = []
    for size in sizes:
        if size * JUDGES not in sizes:
            continue
        few, many = error[judges, size], error[one, size * JUDGES]
        comparisons.append(
            f"{size * JUDGES:,} judgements: error {number(few.mean())} as {JUDGES} of each of {size:,} pairs, "
            f"{number(many.mean())} as one of each of {size * JUDGES:,} (p {p_value(paired_t(few, many))})"
        )
    return (
        [f"The same number of judgements on fewer or on more pairs: {'; '.join(comparisons)}."] if comparisons else []
    )


def _figure(rows: list[dict[str, Any]], error: Values, sizes: list[int]) -> Figure:
    """Return the chart of the error against the number of pairs."""
    series = []
    for kind in KINDS:
        intervals = [mean_interval(error[kind, size]) for size in sizes]
        series.append(
            Series(
                kind,
                sizes,
                [interval.mean for interval in intervals],
                [_half(interval) for interval in intervals],
                points=True,
            )
        )
    first, last = (f"{number(error[KINDS[-1], size].mean())} with {size:,}" for size in (sizes[0], sizes[-1]))
    alt = (
        f"Mean error of a new pair's probability against the number of pairs: one judge's words leave {first} and "
        f"{last} pairs, the share of {JUDGES} judges less, the probabilities themselves nearly none"
    )
    drawing = line_chart(series, "pairs", "mean error of P", alt, log_x=True)
    columns = [column for column in COLUMNS if column.key in ("pairs", "kind", "error", "half")]
    table = Table("noise_curve", "Error by number of pairs", columns, rows)
    return Figure(table.id, table.title, drawing, alt, table)
