"""How stable the order of the methods is under each measure, if the queries are divided in two halves."""

from collections.abc import Mapping, Sequence

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import PageSection
from gradrank.measures.metrics import metric_label
from studies.average_precision.relevant import Sizes
from studies.average_precision.tracking import AP, METRICS, Measured

PRECISIONS = ("p@5", "p@10")
MEASURES = (*METRICS, "p@5")
DIVISIONS = 1000  # random divisions of the queries in two halves, the same for every measure
SEED = 2005
COLUMNS = (
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
            *(_verdict(dataset, [row for row in rows if row["dataset"] == dataset]) for dataset in measured),
        ],
        [Table("stability", "Stability of the measures", COLUMNS, rows)],
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
                "relevant": _correlation(values, sizes.relevant),
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


def _correlation(values: np.ndarray, relevant: np.ndarray) -> float:
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


def _verdict(dataset: str, rows: Sequence[Row]) -> str:
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
