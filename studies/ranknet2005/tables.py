"""Tables 1 and 2 of the paper: accuracy of nets on the artificial data, and training on ties.

Table 1 has different numbers of training vectors. The rows also cover the share of the linear term in the variance of
the polynomial target, and the check that a net learns its training set without error.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Row, Table
from gradrank.bench.studies.claims import Claim
from gradrank.bench.studies.study import Figure
from gradrank.comparison.statistics import mean_interval, prediction_interval
from studies.ranknet2005 import columns
from studies.ranknet2005.artificial import LINEAR_SHARES, TABLE1, ZERO_SIZE
from studies.ranknet2005.published import Run, claim, over_draws, published, value

TARGETS = {"net": "random net", "poly": "random polynomial"}
TEXT_SHARE = 1 / 3  # share of the linear term in the variance of the polynomial, in the paper's text


def table1(runs: list[Run]) -> dict[str, Any]:
    """Return the facts of the section on Table 1. runs: the runs of all draws."""
    main, shares = _cells(runs, "table1", TABLE1), matching_shares(runs)
    compared = [row for row in main if row["verdict"]]
    farthest = max(
        (row for row in compared if row["target"] == "net"), key=lambda row: abs(row["difference"]), default=None
    )
    return {
        "rows": main,
        "compared": compared,
        "farthest": farthest,
        "ten": _cells(runs, "table1", ["two_layer_10"]),
        "scaled": _cells(runs, "table1_by_variance", TABLE1),
        "swept": _swept(runs),
        "shares": shares,
        "outside": sum(not row["low"] <= TEXT_SHARE <= row["high"] for row in shares),
        "figures": [_figure(target, [row for row in main if row["target"] == target]) for target in TARGETS],
    }


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
        for share in by_share:
            linear = claim("Table 1", "poly", "linear", size, "pairwise_accuracy_percent", share)
            rows.append({"share": share, "size": size} | over_draws(linear, by_share))
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


def _sizes(runs: list[Run]) -> list[int]:
    """Return the numbers of training vectors of Table 1."""
    return sorted({run["size"] for run in runs if run["experiment"] == "table1"})


def _cells(runs: list[Run], experiment: str, nets: Iterable[str]) -> list[Row]:
    """Return one row per target, net and number of training vectors.

    Every two-layer net is compared with the paper's two-layer net, regardless of the number of hidden units.
    """
    tests: dict[tuple[str, int], dict[str, list[float]]] = {}
    for run in runs:
        if run["experiment"] == experiment:
            by_net = tests.setdefault((run["target"], run["size"]), {})
            by_net.setdefault(run["net"], []).append(run["test"])
    rows = []
    for target in TARGETS:
        for net in nets:
            for size in sorted(size for (of, size), by_net in tests.items() if of == target and net in by_net):
                kind = "linear" if net == "linear" else "two_layer"
                cell = claim("Table 1", target, kind, size, "pairwise_accuracy_percent", net)
                rows.append({"target": target, "net": net, "size": size} | over_draws(cell, tests[target, size]))
    return rows


def _figure(target: str, rows: list[Row]) -> Figure:
    """Return a chart of our values and of the paper's values against the number of training vectors."""
    series = []
    for net in dict.fromkeys(row["net"] for row in rows):
        net_rows = [row for row in rows if row["net"] == net]
        sizes = [row["size"] for row in net_rows]
        halves = [row["half_width"] if row["half_width"] == row["half_width"] else 0.0 for row in net_rows]
        series.append(Series(f"{net}, ours, 95% of draws", sizes, [row["ours"] for row in net_rows], halves, True))
        theirs = [(row["size"], row["published"]) for row in net_rows if row["published"] is not None]
        x, y = ([pair[place] for pair in theirs] for place in (0, 1))
        series.append(Series(f"{net}, the paper's draw", x, y, points=True))
    table = Table(f"table1_{target}_figure", f"Table 1, {TARGETS[target]}", columns.TABLE1_FIGURE, rows)
    alt = f"Percent of test pairs in the right order against training vectors, {TARGETS[target]}: ours and the paper's"
    drawing = line_chart(series, "training vectors", "% correct", alt, log_x=True)
    return Figure(table.id, table.title, drawing, alt, table)


def with_and_without_ties(runs: list[Run], experiment: str) -> tuple[list[Row], list[Row]]:
    """Return two lists of rows on the polynomial target, trained with and without pairs of equal grades.

    The first list has the rows of the table. The second list has one row per number of training vectors, with the
    paired difference over draws.
    """
    experiment_runs = [run for run in runs if run["experiment"] == experiment]
    rows, gaps = [], []
    for size in sorted({run["size"] for run in experiment_runs}):
        of_size = [run for run in experiment_runs if run["size"] == size]
        chosen = {ties: [run for run in of_size if run["ties"] == (ties == "all")] for ties in ("none", "all")}
        tests = {ties: [run["test"] for run in own] for ties, own in chosen.items()}
        for ties, name in (("none", "two_layer_10_no_ties"), ("all", "two_layer_10_all_ties")):
            pairs = published().get(("Table 2", "poly", name, size, "pairwise_accuracy"))
            rows.append(
                {"size": size, "ties": ties}
                | over_draws(claim("Table 2", "poly", name, size, "pairwise_accuracy", ties), tests)
                | {"published_pairs": int(pairs[1]) if pairs else None}
                | {"pairs": round(float(np.mean([run["pairs"] for run in chosen[ties]])))}
            )
        gap = mean_interval(np.subtract(tests["all"], tests["none"]))
        gaps.append({"size": size, "difference": gap.mean, "low": gap.low, "high": gap.high})
    return rows, gaps


def without_errors(runs: Iterable[Run]) -> list[int]:
    """Return the numbers of trained epochs of the runs that ended without a training pair in error."""
    return [run["epochs"] for run in runs if run["train"] == 100.0]


PAIRS, TRAINING, VALIDATION = "training pairs", "training pairs in error, %", "least validation error, %"
TEST = "test error there, %"
CHECK = ("text 5.1", "net", "two layer (10 hidden)", ZERO_SIZE)
ZERO_ERROR = (
    claim(*CHECK, "pairs_train", PAIRS),
    Claim("the net learns its training set without error", "text 5.1", TRAINING, 0.0, 0.005),
    claim(*CHECK, "pairwise_error_validation_percent", VALIDATION),
    claim(*CHECK, "pairwise_error_test_percent", TEST),
)


def zero_error(runs: list[Run]) -> dict[str, Any]:
    """Return the facts of the section on the check in section 5.1 that a net learns 1000 vectors without error."""
    checked = [run for run in runs if run["experiment"] == "zero_error"]
    draws = {
        PAIRS: [float(run["pairs"]) for run in checked],
        TRAINING: [100 - run["train"] for run in checked],
        VALIDATION: [100 - run["vali"] for run in checked],
        TEST: [100 - run["test"] for run in checked],
    }
    rows = [
        {"what": own.quantity} | over_draws(own, {own.quantity: draws[own.quantity]}) for own in ZERO_ERROR if checked
    ]
    epochs = without_errors(checked)
    return {"rows": rows, "draws": len(checked), "epochs": epochs, "median": np.median(epochs) if epochs else None}
