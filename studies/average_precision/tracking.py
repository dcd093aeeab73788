"""How closely R-precision and other measures follow MAP, over methods and over queries."""

from collections.abc import Mapping

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.means import mean_columns
from gradrank.bench.studies.study import PageSection
from gradrank.measures.metrics import metric_label

Measured = Mapping[str, Mapping[str, QueryValues]]  # keys: data set, then method

R_PRECISION, AP = "r_precision", "map"
RIVALS = ("p@10", "ndcg@10", "mrr")
METRICS = (AP, R_PRECISION, *RIVALS)
OVER = ("methods", "queries")


def tracking(measured: Measured) -> PageSection:
    """Return the section on R-precision and MAP."""
    rows = [_row(dataset, metric, methods) for dataset, methods in measured.items() for metric in METRICS[1:]]
    means = [
        {"dataset": dataset, "method": method, "values": values}
        for dataset, methods in measured.items()
        for method, values in methods.items()
    ]
    heads = [Column("dataset", "data set"), Column("method")]
    return PageSection(
        "tracking",
        "R-precision and MAP",
        [
            "The claim: R-precision, the precision at as many ranks as there are relevant documents, reads one point "
            "of the precision-recall curve, where AP is the area under it, and yet the two agree closely. Here by "
            "methods: Kendall's tau of the order of their means, and the correlation of the means. And by queries: "
            "the correlation of a method's values, a mean over methods, and how far they lie from AP. Beside it stand "
            "three other measures, or any correlation would look high.",
            *(_verdict(dataset, [row for row in rows if row["dataset"] == dataset]) for dataset in measured),
        ],
        [
            Table("tracking", "How near other measures come to AP", COLUMNS, rows),
            Table("means", "The measures' means over folds", [*heads, *mean_columns(METRICS)], means),
        ],
    )


COLUMNS = (
    Column("dataset", "data set"),
    Column("measure"),
    Column("tau", "Kendall's tau over methods", ".3f"),
    Column("methods", "correlation over methods", ".3f"),
    Column("queries", "over queries", ".3f"),
    Column("distance", "mean distance from AP", ".3f"),
)


def _row(dataset: str, metric: str, methods: Mapping[str, QueryValues]) -> Row:
    """Return the row of one measure: its correlations with AP over methods and over queries.

    The correlation over queries uses only queries with a relevant document, because both measures are 0 for all others.
    """
    from scipy.stats import kendalltau

    means, aps = (np.array([method.mean(name) for method in methods.values()]) for name in (metric, AP))
    pairs = [_with_relevant(values, metric) for values in methods.values()]
    correlations = np.array([_correlation(values, ap) for values, ap in pairs])
    defined = correlations[np.isfinite(correlations)]
    return {
        "dataset": dataset,
        "measure": metric_label(metric),
        "tau": float(kendalltau(means, aps).statistic),  # pyright: ignore[reportAttributeAccessIssue] (not in scipy's stub)
        "methods": _correlation(means, aps),
        "queries": float(defined.mean()) if len(defined) else np.nan,
        "distance": float(np.mean([np.abs(values - ap).mean() for values, ap in pairs])),
    }


def _with_relevant(values: QueryValues, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a measure, and the AP, for the queries that have a relevant document.

    AP is 0 for all other queries.
    """
    relevant = values.values[AP] > 0
    return values.values[metric][relevant], values.values[AP][relevant]


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return the correlation of two arrays, or nan if one of them is constant."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan
    return float(np.corrcoef(a, b)[0, 1])


def _verdict(dataset: str, rows: list[Row]) -> str:
    """Return a sentence that says whether R-precision follows AP more closely than every other measure does."""
    r_precision, rivals = rows[0], rows[1:]
    if not all(np.isfinite(r_precision[over]) for over in OVER):
        return f"{dataset}: too few methods, or queries, that differ."
    nearer = {over: [row["measure"] for row in rivals if row[over] > r_precision[over]] for over in OVER}
    parts = "; ".join(
        f"over {over} {r_precision[over]:.3f}, " + (f"less than {', '.join(names)}" if names else "more than any other")
        for over, names in nearer.items()
    )
    verdict = "holds" if not any(nearer.values()) else "holds in part" if not all(nearer.values()) else "does not hold"
    return f"{dataset}: R-precision's correlation with AP is {parts}. That it tracks MAP best {verdict}."
