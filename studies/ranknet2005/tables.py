"""Tables 1 and 2 of the paper: accuracy of nets on the artificial data, and training on ties.

Table 1 has different numbers of training vectors. The section also covers the share of the linear term in the variance
of the polynomial target. The section of Table 2 also checks that a net learns its training set without error.
"""

from collections.abc import Iterable

import numpy as np

from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, Row, Table, count_verdicts
from gradrank.bench.studies.study import Figure, PageSection
from gradrank.bench.studies.tables import verdict_columns
from gradrank.comparison.statistics import mean_interval, prediction_interval
from studies.ranknet2005.artificial import LINEAR_SHARES, TABLE1, ZERO_EPOCHS, ZERO_SIZE
from studies.ranknet2005.published import (
    NOTE,
    OVER_DRAWS,
    PERCENT_ROUNDING,
    SHARE_ROUNDING,
    Run,
    over_draws,
    published,
    value,
)

TARGETS = {"net": "random net", "poly": "random polynomial"}
TEXT_SHARE = 1 / 3  # share of the linear term in the variance of the polynomial, in the paper's text
WHERE = (Column("target", "target"), Column("net", "net"), Column("size", "training vectors", ",d"))


def training_sizes(runs: list[Run]) -> PageSection:
    """Return the section on Table 1. runs: the runs of all draws."""
    main = _cells(runs, "table1", TABLE1)
    scaled = _cells(runs, "table1_by_variance", TABLE1)
    shares = matching_shares(runs)
    compared = [row for row in main if row["verdict"]]
    net = [row for row in compared if row["target"] == "net"]
    farthest = max(net, key=lambda row: abs(row["difference"]), default=None)
    paragraphs = [
        "1000 files of 50 vectors with 50 features, uniform in [-1, 1], graded by a random target function in six "
        "equally populated bins: only these give the paper's pair counts. 800 files to train on, 100 to validate "
        "and 100 to test; gradient descent from a first layer of zeros, one step per pair in random order, rate .001, "
        "halved when the mean cost rose, 100 epochs, or fewer if no training pair is in error.",
        "A cell of the paper is one draw of a target that is not published: it can be consistent with our further "
        f"draws, and reproduced by chance alone. {count_verdicts(compared)}{_farthest(farthest)}",
        "The two-layer net of Table 1 has five hidden units here, half of the target's ten. With ten (a table "
        "below) it is of the target's own shape, and 12,500 vectors are enough to recover the target almost wholly, "
        "which the paper's 97.67 does not.",
        "The polynomial as the text has it, the mean of three terms each of unit variance, is easier than the "
        "paper's: its linear term is a third of its variance, which a linear net learns.",
        *_share_in_words(shares),
        "Terms divided by their variance instead of their standard deviation leave the linear term about a fifth. "
        f"{count_verdicts(scaled)} We keep the text's target and judge ours by it.",
    ]
    tables = [
        Table("table1", "Table 1", (*WHERE, *OVER_DRAWS), main, NOTE),
        Table(
            "table1_ten",
            "Table 1 with ten hidden units",
            (*WHERE, *OVER_DRAWS),
            _cells(runs, "table1", ["two_layer_10"]),
            "The same data and training, a net of the random net's own shape.",
        ),
        Table(
            "table1_by_variance",
            "Table 1, the polynomial's terms divided by their variance",
            (*WHERE, *OVER_DRAWS),
            scaled,
            "Not what the text says; the same draws otherwise.",
        ),
        *_share_tables(runs, shares),
    ]
    figures = [_figure(target, [row for row in main if row["target"] == target]) for target in TARGETS]
    return PageSection("table1", "Table 1: training sizes", paragraphs, [tables[0], *figures, *tables[1:]])


def _share_tables(runs: list[Run], shares: list[Row]) -> list[Table]:
    """Return two tables about the share of the linear term.

    The first table has the accuracy of a linear net for each share. The second table has the share at which a linear
    net reaches the paper's number.
    """
    return [
        Table(
            "table1_linear_share",
            "Table 1, the polynomial's linear term with other shares of its variance",
            (Column("share", "linear share", ".3f"), WHERE[2], *OVER_DRAWS),
            _swept(runs),
            "A linear net. The other two terms have half the rest each; in the text's target every share is a third.",
        ),
        Table(
            "table1_share_met",
            "The linear share at which a draw gives the paper's number",
            (
                WHERE[2],
                Column("published", "published", ".2f"),
                Column("share", "linear share", ".3f"),
                Column("low", "95% interval from", ".3f"),
                Column("high", "to", ".3f"),
                Column("draws", "draws", "d"),
            ),
            shares,
            "Interpolated within each draw, whose other terms stay the same; the interval is that of one further draw.",
        ),
    ]


def _by_share(runs: list[Run], size: int) -> dict[float, list[float]]:
    """Return the percentages of correctly ordered test pairs of a linear net.

    The key is the share of the linear term, and the value has one percentage per draw. The values for TEXT_SHARE come
    from the experiment for Table 1.
    """
    names = {f"linear_share_{share}": share for share in LINEAR_SHARES} | {"table1": TEXT_SHARE}
    tests: dict[float, list[float]] = {}
    for run in sorted(runs, key=lambda run: run["draw"]):
        is_linear = (run["target"], run["net"], run["size"]) == ("poly", "linear", size)
        if is_linear and run["experiment"] in names:
            tests.setdefault(names[run["experiment"]], []).append(run["test"])
    return dict(sorted(tests.items()))


def _swept(runs: list[Run]) -> list[Row]:
    """Return one row per size and share of the linear term. Each row compares our draws with the paper's number."""
    rows = []
    for size in _sizes(runs):
        by_share = _by_share(runs, size)
        for share, tests in by_share.items():
            rivals = [rival for key, rival in by_share.items() if key != share]
            published = value("Table 1", "poly", "linear", size, "pairwise_accuracy_percent")
            rows.append({"share": share, "size": size} | over_draws(published, tests, rivals))
    return sorted(rows, key=lambda row: row["share"])


def matching_shares(runs: list[Run]) -> list[Row]:
    """Return the share of the linear term at which a linear net reaches the paper's number, one row per size.

    The sizes are numbers of training vectors.
    """
    rows = []
    for size in _sizes(runs):
        published = value("Table 1", "poly", "linear", size, "pairwise_accuracy_percent")
        by_share = _by_share(runs, size)
        if published is None or len(by_share) <= 1:
            continue
        curves = np.maximum.accumulate(np.array(list(by_share.values())), axis=0)  # np.interp needs ascending values
        shares = np.array([np.interp(published, curve, list(by_share)) for curve in curves.T])
        interval = prediction_interval(shares)
        bounds = {"share": interval.mean, "low": interval.low, "high": interval.high}
        rows.append({"size": size, "published": published} | bounds | {"draws": len(shares)})
    return rows


def _share_in_words(rows: list[Row]) -> list[str]:
    """Return the result of `matching_shares` in words."""
    if not rows:
        return []
    shares = [row["share"] for row in rows]
    outside = sum(not row["low"] <= TEXT_SHARE <= row["high"] for row in rows)
    return [
        "So the linear share was swept, draw by draw: a linear net gives the paper's number at a share of "
        f"{min(shares):.2f} to {max(shares):.2f} on average, by size. The text's third lies outside a further draw's "
        f"interval at {outside} of {len(rows)} sizes."
    ]


def _sizes(runs: list[Run]) -> list[int]:
    """Return the numbers of training vectors of Table 1."""
    return sorted({run["size"] for run in runs if run["experiment"] == "table1"})


def _farthest(row: Row | None) -> str:
    """Return a sentence about the row with the largest difference from the paper, or an empty text without a row."""
    if row is None:
        return ""
    return (
        " On the random net, which the paper defines fully, our mean is farthest from the paper's for "
        f"{row['net']} and {row['size']:,} vectors, by {row['difference']:+.2f} points; its standard error is "
        f"{row['spread'] / np.sqrt(row['draws']):.2f}."
    )


def _cells(runs: list[Run], experiment: str, nets: Iterable[str]) -> list[Row]:
    """Return one row per target, net and number of training vectors.

    Every two-layer net is compared with the paper's two-layer net, regardless of the number of hidden units.
    """
    tests: dict[tuple[str, str, int], list[float]] = {}
    for run in runs:
        if run["experiment"] == experiment:
            tests.setdefault((run["target"], run["net"], run["size"]), []).append(run["test"])
    rows = []
    for target in TARGETS:
        for net in nets:
            for size in sorted(size for *key, size in tests if key == [target, net]):
                kind = "linear" if net == "linear" else "two_layer"
                published = value("Table 1", target, kind, size, "pairwise_accuracy_percent")
                rivals = [values for key, values in tests.items() if key[::2] == (target, size) and key[1] != net]
                comparison = over_draws(published, tests[target, net, size], rivals)
                rows.append({"target": target, "net": net, "size": size} | comparison)
    return rows


def _figure(target: str, rows: list[Row]) -> Figure:
    """Return a chart of our values and of the paper's values against the number of training vectors."""
    series = []
    for net in dict.fromkeys(row["net"] for row in rows):
        net_rows = [row for row in rows if row["net"] == net]
        sizes = [row["size"] for row in net_rows]
        halves = [row["half_width"] if row["half_width"] == row["half_width"] else 0.0 for row in net_rows]
        series.append(Series(f"{net}, ours, 95% of draws", sizes, [row["ours"] for row in net_rows], halves, True))
        published_rows = [row for row in net_rows if row["published"] is not None]
        series.append(
            Series(
                f"{net}, the paper's draw",
                [row["size"] for row in published_rows],
                [row["published"] for row in published_rows],
                points=True,
            )
        )
    columns = (*WHERE, *verdict_columns(".2f"))
    table = Table(f"table1_{target}_figure", f"Table 1, {TARGETS[target]}", columns, rows)
    alt = f"Percent of test pairs in the right order against training vectors, {TARGETS[target]}: ours and the paper's"
    drawing = line_chart(series, "training vectors", "% correct", alt, log_x=True)
    return Figure(table.id, table.title, drawing, alt, table)


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
