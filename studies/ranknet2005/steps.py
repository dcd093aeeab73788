"""The experiment with steps per file instead of steps per pair, and the check that cost and errors decrease."""

import numpy as np

from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import PageSection
from gradrank.comparison.statistics import mean_interval
from studies.ranknet2005.artificial import TABLE1
from studies.ranknet2005.draws import Run, by_draw
from studies.ranknet2005.table1 import TARGETS, WHERE
from studies.ranknet2005.table2 import without_errors

STEPS = {"table1": "pair", "table1_by_file": "file"}  # the experiments with both kinds of steps
CHECKS = {"zero_error": "pair", "zero_error_by_file": "file"}
GAP = (
    Column("difference", "pair minus file", "+.2f"),
    Column("low", "95% interval from", "+.2f"),
    Column("high", "to", "+.2f"),
    Column("better", "draws with pair better"),
)


def steps(runs: list[Run]) -> PageSection:
    """Return the section on the kinds of steps. runs: the runs of all draws."""
    compared, descents = _compared(runs), _descents(runs)
    return PageSection(
        "steps",
        "Steps per pair, and steps per file",
        [
            "Every other section on artificial data takes one step per pair, as the paper does. A step per file "
            "follows the sum of the gradients of the file's pairs, all computed before the step. To first order, it "
            "equals the steps of its pairs. The draws, the initial nets, the rate and its halving are the same here.",
            *_largest(compared),
            *_reached(runs),
            *_falls(descents),
        ],
        [
            Table(
                "table1_by_file",
                "Table 1 with steps per file",
                (*WHERE, Column("pair", "steps per pair", ".2f"), Column("file", "steps per file", ".2f"), *GAP),
                compared,
                "Percent of the test pairs in the right order, mean over draws. The interval is that of the mean "
                "difference within a draw.",
            ),
            Table("zero_error_by_file", "1000 vectors with steps per file", CHECK_COLUMNS, _checks(runs)),
            Table(
                "descent",
                "Section 5.1: the decrease of errors and cost",
                DESCENT_COLUMNS,
                descents,
                "An epoch rises if its value is above that of the epoch before. Shares of the epochs of all draws. The "
                "cost is the mean over pairs, computed before each step. Its largest rise is relative. The largest "
                "rise of the errors is in percent of the training pairs.",
            ),
        ],
    )


def _compared(runs: list[Run]) -> list[Row]:
    """Return one row per target, net and number of training vectors, with the paired difference over draws."""
    rows = []
    for target in TARGETS:
        for net in TABLE1:
            for size in sorted({run["size"] for run in runs if run["experiment"] == "table1"}):
                pair, file = (by_draw(runs, name, target, net, size) for name in STEPS)
                gap = mean_interval(pair - file)
                rows.append(
                    {"target": target, "net": net, "size": size, "pair": pair.mean(), "file": file.mean()}
                    | {"difference": gap.mean, "low": gap.low, "high": gap.high}
                    | {"better": f"{np.count_nonzero(pair > file)} of {len(pair)}"}
                )
    return rows


def _largest(rows: list[Row]) -> list[str]:
    """Return a sentence about the largest difference between the kinds of steps, or nothing without rows."""
    if not rows:
        return []
    row = max(rows, key=lambda row: abs(row["difference"]))
    return [
        f"The largest difference is that of {row['net']} with {row['size']:,} vectors of the {TARGETS[row['target']]}: "
        f"{row['pair']:.2f} percent with steps per pair, {row['file']:.2f} with steps per file. Steps per pair are "
        f"better in {row['better']} draws."
    ]


CHECK_COLUMNS = (
    Column("steps", "steps per"),
    Column("reached", "draws without a training error", "d"),
    Column("draws", "of", "d"),
    Column("epochs", "epochs, median", ".0f"),
    Column("least", "least", "d"),
    Column("most", "most", "d"),
    Column("errors", "training pairs in error at the end, mean %", ".4f"),
    Column("test", "test error, %", ".2f"),
)


def _checks(runs: list[Run]) -> list[Row]:
    """Return one row per kind of steps for the check on 1000 vectors. The epochs are those of draws without error."""
    rows = []
    for experiment, kind in CHECKS.items():
        checked = [run for run in runs if run["experiment"] == experiment]
        if checked:
            epochs = without_errors(checked)
            rows.append(
                {"steps": kind, "reached": len(epochs), "draws": len(checked)}
                | {"epochs": float(np.median(epochs)) if epochs else None}
                | {"least": min(epochs, default=None), "most": max(epochs, default=None)}
                | {"errors": float(np.mean([100 - run["train"] for run in checked]))}
                | {"test": float(np.mean([100 - run["test"] for run in checked]))}
            )
    return rows


def _reached(runs: list[Run]) -> list[str]:
    """Return a sentence on the draws in which 1000 vectors are learned without error, by kind of steps."""
    found = [f"{row['reached']} of {row['draws']} draws with steps per {row['steps']}" for row in _checks(runs)]
    return (
        [f"A net of the target's shape learns 1000 vectors without error in {' and in '.join(found)}."] if found else []
    )


DESCENT_COLUMNS = (
    *WHERE,
    Column("steps", "steps per"),
    Column("epochs", "epochs, all draws", ",d"),
    Column("cost_rises", "cost rises, %", ".2f"),
    Column("largest_cost_rise", "largest rise, %", ".2f"),
    Column("error_rises", "errors rise, %", ".2f"),
    Column("largest_error_rise", "largest rise, points", ".2f"),
)


def _descents(runs: list[Run]) -> list[Row]:
    """Return one row per target, net, number of training vectors and kind of steps. The last net is the check's."""
    groups: dict[tuple[str, str, int, str], list[Run]] = {}
    for run in runs:
        kind = (STEPS | CHECKS).get(run["experiment"])
        if kind:
            groups.setdefault((run["target"], run["net"], run["size"], kind), []).append(run)
    rows = []
    for (target, net, size, kind), group in sorted(groups.items()):
        later = sum(run["epochs"] - 1 for run in group)  # the first epoch has no epoch before
        rows.append(
            {"target": target, "net": net, "size": size, "steps": kind}
            | {"epochs": sum(run["epochs"] for run in group)}
            | {f"{name}_rises": 100 * sum(run[f"{name}_rises"] for run in group) / later for name in ("cost", "error")}
            | {"largest_cost_rise": 100 * max(run["largest_cost_rise"] for run in group)}
            | {"largest_error_rise": max(run["largest_error_rise"] for run in group)}
        )
    return rows


def _falls(descents: list[Row]) -> list[str]:
    """Return a sentence on the paper's statement that errors and cost decrease, for steps per pair."""
    rows = [row for row in descents if row["steps"] == "pair"]
    if not rows:
        return []
    cost, error = (max(row[f"largest_{name}_rise"] for row in rows) for name in ("cost", "error"))
    most_cost, most_error = (max(row[f"{name}_rises"] for row in rows) for name in ("cost", "error"))
    return [
        "The paper finds that the number of pairwise errors and the mean cost decrease approximately monotonically on "
        f"the training set. With steps per pair, the cost rises in at most {most_cost:.1f}% of the epochs of a row, "
        f"and never by more than {cost:.2f}%. The errors rise in up to {most_error:.0f}% of the epochs, by at most "
        f"{error:.2f} percent of the training pairs."
    ]
