"""How measures relate to average precision (AP): R-precision and MAP, spread, stability and accuracy.

One section shows how closely R-precision and other measures follow MAP, one the spread of AP over queries and methods,
one how stable the order of the methods is if the queries are divided in two halves, and one the accuracy of returning
the first k documents, compared with returning nothing.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from gradrank.bench.studies.tables import COLUMNS as TESTS
from gradrank.bench.studies.tables import NOTE, Question, mean_columns, paired_tests
from gradrank.comparison.significance import decide_row
from gradrank.data.stored import StoredCollection
from gradrank.measures.judgements import read_judgements
from gradrank.measures.metrics import metric_label


class Sizes(NamedTuple):
    """Numbers of documents per test query, in the order of `Inputs.measure`.

    documents: (q,) documents. relevant: (q,) documents of grade 1 or more.
    """

    documents: np.ndarray
    relevant: np.ndarray


def query_sizes(inputs: Inputs, dataset: str) -> Sizes:
    """Return the sizes of the test queries of all folds."""
    stored = StoredCollection.open(inputs.data / dataset)
    parts = [read_judgements(stored, own["test"]) for own in stored.folds]
    documents = [np.diff(part.offsets) for part in parts]
    relevant = [np.add.reduceat(part.labels > 0, part.offsets[:-1], dtype=np.int64) for part in parts]
    return Sizes(np.concatenate(documents), np.concatenate(relevant))


Measured = Mapping[str, Mapping[str, QueryValues]]  # keys: data set, then method

R_PRECISION, AP = "r_precision", "map"
RIVALS = ("p@10", "ndcg@10", "mrr")
METRICS = (AP, R_PRECISION, *RIVALS)
OVER = ("methods", "queries")


def tracking(measured: Measured) -> PageSection:
    """Return the section on R-precision and MAP."""
    rows = [_tracking_row(dataset, metric, methods) for dataset, methods in measured.items() for metric in METRICS[1:]]
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
            *(_tracking_verdict(dataset, [row for row in rows if row["dataset"] == dataset]) for dataset in measured),
        ],
        [
            Table("tracking", "How near other measures come to AP", TRACKING, rows),
            Table("means", "The measures' means over folds", [*heads, *mean_columns(METRICS)], means),
        ],
    )


TRACKING = (
    Column("dataset", "data set"),
    Column("measure"),
    Column("tau", "Kendall's tau over methods", ".3f"),
    Column("methods", "correlation over methods", ".3f"),
    Column("queries", "over queries", ".3f"),
    Column("distance", "mean distance from AP", ".3f"),
)


def _tracking_row(dataset: str, metric: str, methods: Mapping[str, QueryValues]) -> Row:
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


def _tracking_verdict(dataset: str, rows: list[Row]) -> str:
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


QUANTILES = (5, 25, 50, 75, 95)
WIDE = (0.1, 0.7)  # the range of AP of one system in the book


def spread(measured: Measured) -> PageSection:
    """Return the section on the spread of AP."""
    rows = [
        _spread_row(dataset, method, _aps(values.values[AP]))
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
            *map(_spread_verdict, shares),
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


def _spread_row(dataset: str, method: str, aps: np.ndarray) -> Row:
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


def _spread_verdict(row: Row) -> str:
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


PRECISIONS = ("p@5", "p@10")
MEASURES = (*METRICS, "p@5")
DIVISIONS = 1000  # random divisions of the queries in two halves, the same for every measure
SEED = 2005
STABILITY = (
    Column("dataset", "data set"),
    Column("measure"),
    Column("swaps", "pairs of methods in another order", ".2%"),
    Column("relevant", "rank correlation with the number of relevant documents", ".3f"),
)


def stability(measured: Measured, sizes: Mapping[str, Sizes]) -> PageSection:
    """Return the section on the stability of the measures. sizes: numbers of documents by data set."""
    rows = [row for dataset, methods in measured.items() for row in _rows(dataset, methods, sizes[dataset])]
    return PageSection(
        "stability",
        "The stability of P@k",
        [
            "The claim: P@k is the least stable of the common measures, and it does not average well, because the "
            "number of relevant documents of a query has a strong influence on it. Here the test queries are divided "
            f"at random in two halves, {DIVISIONS:,} times. The first column is the share of the pairs of methods "
            "whose means have one order in one half and the other order in the other half. Equal means count half. "
            "The second column is Spearman's correlation, over the queries with a relevant document, of the value and "
            "the number of relevant documents, a mean over methods.",
            *(_stability_verdict(dataset, [row for row in rows if row["dataset"] == dataset]) for dataset in measured),
        ],
        [Table("stability", "Stability of the measures", STABILITY, rows)],
    )


def _rows(dataset: str, methods: Mapping[str, QueryValues], sizes: Sizes) -> list[Row]:
    """Return one row per measure."""
    rows: list[Row] = []
    for metric in MEASURES:
        values = np.array([of_method.values[metric] for of_method in methods.values()])
        rows.append(
            {
                "dataset": dataset,
                "measure": metric_label(metric),
                "swaps": swap_rate(values),
                "relevant": _rank_correlation(values, sizes.relevant),
            }
        )
    return rows


def swap_rate(values: np.ndarray) -> float:
    """Return the share of the pairs of methods whose order differs between two halves of the queries.

    values: (methods, queries). The share is a mean over DIVISIONS random divisions. A pair with equal means in a half
    counts half.
    """
    queries = values.shape[1]
    order = np.random.default_rng(SEED).permuted(np.tile(np.arange(queries), (DIVISIONS, 1)), axis=1)
    in_first = (order < queries // 2).astype(np.float64)
    in_second = 1.0 - in_first
    first, second = ((half @ values.T) / half.sum(axis=1, keepdims=True) for half in (in_first, in_second))
    a, b = np.triu_indices(len(values), 1)
    signs = np.sign(np.round(first[:, a] - first[:, b], 12)) * np.sign(np.round(second[:, a] - second[:, b], 12))
    return float(np.mean((1.0 - signs) / 2.0)) if len(a) else np.nan


def _rank_correlation(values: np.ndarray, relevant: np.ndarray) -> float:
    """Return Spearman's correlation of the values and the number of relevant documents, a mean over methods.

    A method whose values are all equal has no correlation and is left out.
    """
    from scipy.stats import rankdata

    kept = relevant > 0
    ranks = rankdata(relevant[kept])
    varying = [of_method[kept] for of_method in values if np.ptp(of_method[kept]) > 0]
    if not varying or np.ptp(ranks) == 0:
        return np.nan
    return float(np.mean([np.corrcoef(rankdata(of_method), ranks)[0, 1] for of_method in varying]))


def _stability_verdict(dataset: str, rows: Sequence[Row]) -> str:
    """Return the sentences that say whether both parts of the claim hold on a data set."""
    labels = {metric_label(metric) for metric in PRECISIONS}
    rates = sorted(rows, key=lambda row: -row["swaps"])
    influenced = max(rows, key=lambda row: np.nan_to_num(abs(row["relevant"])))
    least = [row["measure"] for row in rates if row["swaps"] == rates[0]["swaps"]]
    named = ", ".join(f"{row['measure']} {row['swaps']:.2%}" for row in rates)
    is_least = set(least) <= labels
    is_influenced = influenced["measure"] in labels
    return (
        f"{dataset}: the rates from the highest are {named}. That P@k is the least stable "
        f"{'holds' if is_least else 'does not hold'}. The strongest influence of the number of relevant documents is "
        f"on {influenced['measure']} ({influenced['relevant']:.3f}; {metric_label(AP)} "
        f"{next(row['relevant'] for row in rows if row['measure'] == metric_label(AP)):.3f}). That it is strongest on "
        f"P@k {'holds' if is_influenced else 'does not hold'}."
    )


CUTOFF = 10
PRECISION = f"p@{CUTOFF}"
ACCURACY = "accuracy"
MEANS = (
    Column("dataset", "data set"),
    Column("method"),
    Column("first", f"accuracy, first {CUTOFF} documents", ".4f"),
    Column("relevant", "accuracy, as many as are relevant", ".4f"),
    Column("map", metric_label(AP), ".4f"),
)


def accuracy(measured: Measured, sizes: Mapping[str, Sizes]) -> PageSection:
    """Return the section on accuracy. sizes: numbers of documents by data set."""
    rows, questions = [], []
    for dataset, methods in measured.items():
        nothing = accuracy_of(sizes[dataset], np.zeros(len(sizes[dataset].relevant)), np.array(0))
        rows.append(_accuracy_row(dataset, "nothing returned", next(iter(methods.values())), nothing, nothing, np.nan))
        for method, values in methods.items():
            first = _first_documents(values, sizes[dataset])
            as_many = _as_many_as_relevant(values, sizes[dataset])
            rows.append(_accuracy_row(dataset, method, values, first, as_many, values.mean(AP)))
            questions.append(_question(dataset, method, values, first, nothing))
    tests = paired_tests(questions)
    heads = [Column("dataset", "data set"), Column("method"), Column("metric")]
    return PageSection(
        "accuracy",
        "Accuracy",
        [
            "The claim: accuracy, the share of documents that are rightly returned or rightly left out, does not suit "
            "retrieval. Most documents are not relevant, so a system that returns nothing has a high accuracy. Here a "
            f"method returns the first {CUTOFF} documents of a query, or as many documents as are relevant.",
            *(_accuracy_verdict(dataset, sizes[dataset], rows, tests) for dataset in measured),
        ],
        [
            Table("accuracy", "Mean accuracy over folds", MEANS, rows),
            Table(
                "accuracy_tests", "Accuracy of the first documents minus that of nothing", [*heads, *TESTS], tests, NOTE
            ),
        ],
    )


def accuracy_of(sizes: Sizes, hits: np.ndarray, returned: np.ndarray) -> np.ndarray:
    """Return the (q,) accuracies. hits: (q,) relevant documents among the `returned` documents of each query."""
    return (sizes.documents - sizes.relevant - returned + 2 * hits) / sizes.documents


def _first_documents(values: QueryValues, sizes: Sizes) -> np.ndarray:
    """Return the (q,) accuracies of returning the first CUTOFF documents.

    P@k of a query with fewer documents counts the missing ones as irrelevant.
    """
    return accuracy_of(sizes, CUTOFF * values.values[PRECISION], np.minimum(CUTOFF, sizes.documents))


def _as_many_as_relevant(values: QueryValues, sizes: Sizes) -> np.ndarray:
    """Return the (q,) accuracies of returning as many documents as are relevant."""
    return accuracy_of(sizes, sizes.relevant * values.values[R_PRECISION], sizes.relevant)


def _accuracy_row(
    dataset: str, method: str, values: QueryValues, first: np.ndarray, as_many: np.ndarray, ap: float
) -> Row:
    """Return the row of a method. first, as_many: (q,) accuracies."""
    made = _with(values, {"first": first, "relevant": as_many})
    return {"dataset": dataset, "method": method, "map": ap} | {key: made.mean(key) for key in ("first", "relevant")}


def _question(dataset: str, method: str, values: QueryValues, first: np.ndarray, nothing: np.ndarray) -> Question:
    """Return the comparison of a method with returning nothing."""
    ours, theirs = (_with(values, {ACCURACY: of_queries}) for of_queries in (first, nothing))
    return Question({"dataset": dataset, "method": method}, ACCURACY, ours, theirs)


def _with(values: QueryValues, measures: dict[str, np.ndarray]) -> QueryValues:
    """Return other values for the queries of `values`."""
    return QueryValues(values.folds, values.qids, measures)


def _accuracy_verdict(dataset: str, sizes: Sizes, rows: Sequence[Row], tests: Sequence[Row]) -> str:
    """Return the sentences that say whether returning nothing is as accurate as the methods."""
    own = [row for row in rows if row["dataset"] == dataset]
    nothing, *methods = own
    tested = [decide_row(row) for row in tests if row["dataset"] == dataset]
    worse = tested.count("worse")
    best = max(methods, key=lambda row: row["first"])
    at_relevant = sum(row["relevant"] < nothing["relevant"] for row in methods)
    verdict = "holds" if worse == len(tested) else "holds in part" if worse else "does not hold"
    share = sizes.relevant.sum() / sizes.documents.sum()
    return (
        f"{dataset}: {share:.1%} of the documents are relevant. Returning nothing has an accuracy of "
        f"{nothing['first']:.4f}. Of {len(tested)} methods that return the first {CUTOFF} documents, {worse} are "
        f"significantly less accurate, and the most accurate one is {best['method']} ({best['first']:.4f}). With as "
        f"many documents as are relevant, {at_relevant} of {len(methods)} methods are less accurate than nothing. That "
        f"returning nothing is more accurate {verdict}."
    )
