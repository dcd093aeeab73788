"""Table 2 of the paper (training on ties), and the check that a net learns its training set without error."""

from collections.abc import Iterable

import numpy as np

from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.report.tables.verdicts import count_verdicts
from gradrank.bench.studies.study import PageSection
from gradrank.comparison.statistics import mean_interval
from studies.ranknet2005.artificial import ZERO_EPOCHS, ZERO_SIZE
from studies.ranknet2005.draws import NOTE, OVER_DRAWS, PERCENT_ROUNDING, SHARE_ROUNDING, Run, over_draws
from studies.ranknet2005.published import published, value

SIZE = Column("size", "training vectors", ",d")
COLUMNS = (
    SIZE,
    Column("ties", "ties"),
    *OVER_DRAWS,
    Column("published_pairs", "their pairs", ",d"),
    Column("pairs", "our pairs", ",d"),
)
DIFFERENCE = (
    SIZE,
    Column("difference", "all ties minus none", "+.3f"),
    Column("low", "95% interval from", "+.3f"),
    Column("high", "to", "+.3f"),
)


def ties(runs: list[Run]) -> PageSection:
    """Return the section on Table 2: nets for the polynomial target, trained with and without pairs of equal grades."""
    rows, gaps = _with_and_without(runs, "table2")
    scaled, scaled_gaps = _with_and_without(runs, "table2_by_variance")
    return PageSection(
        "table2",
        "Table 2: training on ties",
        [
            "The polynomial target and a net of ten hidden units; a pair of equal grades has target probability "
            "1/2. The paired differences over draws answer the question of the table, whether ties help; the level is "
            "that of the target (see Table 1).",
            f"{count_verdicts(rows)} That is the text's target; the other tables have its terms divided by their "
            f"variance, as in Table 1's experiment. {count_verdicts(scaled)}",
        ],
        [
            Table("table2", "Table 2", COLUMNS, rows, NOTE),
            Table("table2_difference", "Effect of ties, percentage points", DIFFERENCE, gaps),
            Table(
                "table2_by_variance",
                "Table 2, the polynomial's terms divided by their variance",
                COLUMNS,
                scaled,
                "Not what the text says; the same draws otherwise.",
            ),
            Table(
                "table2_by_variance_difference",
                "Effect of ties with scaled terms, percentage points",
                DIFFERENCE,
                scaled_gaps,
            ),
        ],
    )


def _with_and_without(runs: list[Run], experiment: str) -> tuple[list[Row], list[Row]]:
    """Return two lists of rows.

    The first list has the rows of the table. The second list has one row per number of training vectors, with the
    paired difference over draws.
    """
    experiment_runs = [run for run in runs if run["experiment"] == experiment]
    rows, gaps = [], []
    for size in sorted({run["size"] for run in experiment_runs}):
        chosen = {
            tied: [run for run in experiment_runs if (run["size"], run["ties"]) == (size, tied)]
            for tied in (False, True)
        }
        tests = {tied: np.array([run["test"] for run in runs_of_size]) for tied, runs_of_size in chosen.items()}
        for with_ties, name in ((False, "two_layer_10_no_ties"), (True, "two_layer_10_all_ties")):
            rivals = [tests[not with_ties].tolist()]
            published_share = value("Table 2", "poly", name, size, "pairwise_accuracy")
            pairs = published().get(("Table 2", "poly", name, size, "pairwise_accuracy"))
            rows.append(
                {"size": size, "ties": "all" if with_ties else "none"}
                | over_draws(
                    published_share and 100 * published_share, tests[with_ties].tolist(), rivals, SHARE_ROUNDING
                )
                | {"published_pairs": int(pairs[1]) if pairs else None}
                | {"pairs": round(float(np.mean([run["pairs"] for run in chosen[with_ties]])))}
            )
        gap = mean_interval(tests[True] - tests[False])
        gaps.append({"size": size, "difference": gap.mean, "low": gap.low, "high": gap.high})
    return rows, gaps


def _check_value(metric: str) -> float | None:
    """Return a published number of the check in section 5.1."""
    return value("text 5.1", "net", "two layer (10 hidden)", ZERO_SIZE, metric)


def without_errors(runs: Iterable[Run]) -> list[int]:
    """Return the numbers of trained epochs of the runs that ended without a training pair in error."""
    return [run["epochs"] for run in runs if run["train"] == 100.0]


def zero_error(runs: list[Run]) -> PageSection:
    """Return the section on the check in section 5.1 that a net learns 1000 vectors without error."""
    check_runs = [run for run in runs if run["experiment"] == "zero_error"]
    reached = without_errors(check_runs)
    epochs = f", after {min(reached)} to {max(reached)} epochs (median {np.median(reached):.0f})" if reached else ""
    rows = [
        {"what": what} | over_draws(published, values, rounding=rounding)
        for what, published, values, rounding in (
            ("training pairs", _check_value("pairs_train"), [float(run["pairs"]) for run in check_runs], 0.5),
            ("training pairs in error, %", 0.0, [100 - run["train"] for run in check_runs], PERCENT_ROUNDING),
            (
                "least validation error, %",
                _check_value("pairwise_error_validation_percent"),
                [100 - run["vali"] for run in check_runs],
                PERCENT_ROUNDING,
            ),
            (
                "test error there, %",
                _check_value("pairwise_error_test_percent"),
                [100 - run["test"] for run in check_runs],
                PERCENT_ROUNDING,
            ),
        )
        if check_runs
    ]
    return PageSection(
        "zero_error",
        "A net of the target's shape learns 1000 vectors",
        [
            f"Ten hidden units, first layer of zeros: {len(reached)} of {len(check_runs)} draws end without a training "
            f"error{epochs}. Training stops then, or after {ZERO_EPOCHS:,} epochs. The paper does not say how many "
            "epochs its check took."
        ],
        [Table("zero_error", "Section 5.1", (Column("what", ""), *OVER_DRAWS), rows)],
    )
