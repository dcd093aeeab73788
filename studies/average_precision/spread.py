"""The spread of AP over the queries of one method, and over the methods of one query."""

import numpy as np

from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import Figure, PageSection
from studies.average_precision.tracking import AP, Measured

QUANTILES = (5, 25, 50, 75, 95)
WIDE = (0.1, 0.7)  # the range of AP of one system in the book


def spread(measured: Measured) -> PageSection:
    """Return the section on the spread of AP."""
    rows = [
        _row(dataset, method, _aps(values.values[AP]))
        for dataset, methods in measured.items()
        for method, values in methods.items()
    ]
    shares = [
        _shares(dataset, np.array([values.values[AP] for values in methods.values()]))
        for dataset, methods in measured.items()
    ]
    table = _table(rows)
    title = "AP of the queries, from the lowest to the highest"
    return PageSection(
        "spread",
        "The spread of AP over queries",
        [
            f"The claim: within one system AP varies widely over queries, say from {WIDE[0]:g} to {WIDE[1]:g}, and "
            "systems agree more on one query than one system does with itself over queries. So a mean over few "
            "queries says little, and only the same queries tell two methods apart. Queries without a relevant "
            "document are left out.",
            *map(_verdict, shares),
        ],
        [
            Figure("spread_figure", title, *_draw(measured), table),
            table,
            Table("shares", "Standard deviation of AP", SHARES, shares),
        ],
    )


def _aps(values: np.ndarray) -> np.ndarray:
    """Return the AP of the queries that have a relevant document. These are the queries with an AP above 0."""
    return values[values > 0]


def _row(dataset: str, method: str, aps: np.ndarray) -> Row:
    """Return the row of one method.

    It has quantiles and the standard deviation of AP over queries, and the share of queries with an AP in WIDE.
    """
    quantiles = dict(zip(map(str, QUANTILES), map(float, np.percentile(aps, QUANTILES)), strict=True))
    share_inside = float(np.mean((aps >= WIDE[0]) & (aps <= WIDE[1])))
    cells = {"dataset": dataset, "method": method, "queries": len(aps)}
    return cells | quantiles | {"sd": float(aps.std(ddof=1)), "inside": share_inside}


def _table(rows: list[Row]) -> Table:
    """Return the table of the quantiles of AP."""
    heads = [Column("dataset", "data set"), Column("method"), Column("queries", "queries", "d")]
    quantiles = [Column(str(percent), f"{percent}%", ".3f") for percent in QUANTILES]
    others = [Column("sd", "standard deviation", ".3f"), Column("inside", f"{WIDE[0]:g} to {WIDE[1]:g}", ".0%")]
    return Table("spread", "Quantiles of AP over queries", [*heads, *quantiles, *others], rows)


SHARES = (
    Column("dataset", "data set"),
    Column("methods", "methods", "d"),
    Column("over_queries", "over queries, one method", ".3f"),
    Column("over_methods", "over methods, one query", ".3f"),
)


def _shares(dataset: str, aps: np.ndarray) -> Row:
    """Return a row with two standard deviations of AP.

    `over_queries` is the standard deviation over the queries of one method. `over_methods` is the standard deviation
    over the methods on one query. Each value is the square root of a mean variance.

    aps: (methods, queries) values. Queries with an AP of 0 for any method are left out.
    """
    aps = aps[:, (aps > 0).all(axis=0)]
    return {
        "dataset": dataset,
        "methods": len(aps),
        "over_queries": float(np.sqrt(aps.var(axis=1, ddof=1).mean())),
        "over_methods": float(np.sqrt(aps.var(axis=0, ddof=1).mean())),
    }


def _verdict(row: Row) -> str:
    """Return a sentence that says whether the claim holds on a data set."""
    over_queries, over_methods = row["over_queries"], row["over_methods"]
    holds = "holds" if over_queries > over_methods else "does not hold"
    return (
        f"{row['dataset']}: AP's standard deviation is {over_queries:.3f} over the queries of a method and "
        f"{over_methods:.3f} over {row['methods']} methods of a query: the claim {holds}."
    )


def _draw(measured: Measured) -> tuple[str, str]:
    """Return a chart and a description of the chart in words.

    The chart shows the sorted AP values of the first method on each data set.
    """
    series, parts = [], []
    for dataset, methods in measured.items():
        method, values = next(iter(methods.items()))
        aps = np.sort(_aps(values.values[AP]))
        series.append(Series(f"{dataset}, {method}", np.linspace(0, 100, len(aps)).tolist(), aps.tolist()))
        parts.append(f"{dataset}, {method}: from {aps[0]:.2f} over {np.median(aps):.2f} in the middle to {aps[-1]:.2f}")
    alt = "; ".join(parts)
    return line_chart(series, "% of the queries", "AP", alt), alt
