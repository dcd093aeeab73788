"""NDCG_beta by rank, RankSVM and RankBoost with pairs weighted by NDCG_beta, and more forms of RankSVM.

The additional forms have the hinge loss in the primal and the L1 penalty.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.study import Figure, Inputs
from gradrank.bench.studies.tables import pair_tests
from gradrank.measures.metrics import compute
from studies.term_report.experiments import CONVENTION, METRICS

DOCUMENTS = 11  # number of documents of the query; one of them is relevant
PAIRS = (  # (weighted, plain) models: the four forms of RankSVM, then RankBoost
    ("ranksvm_ndcg", "ranksvm"),
    ("ranksvm_ndcg_l2_dual", "ranksvm_l2_dual"),
    ("ranksvm_ndcg_l1_dual", "ranksvm_l1_dual"),
    ("ranksvm_ndcg_sparse", "ranksvm_sparse"),
    ("rankboost_ndcg", "rankboost"),
)
WEIGHTED = (  # (weighted, plain) forms
    ("ranksvm_ndcg_l1_primal", "ranksvm_l1_primal"),
    ("ranksvm_ndcg_l1_sparse", "ranksvm_l1_sparse"),
)
NEAREST = (  # (form of a job, nearest of the four forms)
    ("ranksvm_l1_primal", "ranksvm_l1_dual"),
    ("ranksvm_ndcg_l1_primal", "ranksvm_ndcg_l1_dual"),
    ("ranksvm_l1_sparse", "ranksvm_sparse"),
    ("ranksvm_ndcg_l1_sparse", "ranksvm_ndcg_sparse"),
)
CURVES = (
    Column("ndcg", "NDCG, 1/log2(1 + rank)", ".4f"),
    Column("ndcg_letor", "NDCG, LETOR's discount", ".4f"),
    Column("ndcg_beta", "NDCG_beta", ".4f"),
)

# Values per query by data set and method.
Measured = dict[tuple[str, str], QueryValues]


def positions() -> Figure:
    """Return the figure of NDCG and NDCG_beta as functions of the rank of the only relevant document."""
    labels = np.eye(DOCUMENTS, dtype=np.int64).ravel()  # query p has the relevant document at rank p
    scores = np.tile(-np.arange(DOCUMENTS, dtype=np.float64), DOCUMENTS)
    offsets = np.arange(DOCUMENTS + 1) * DOCUMENTS
    ranks = list(range(1, DOCUMENTS + 1))
    measured = compute(["ndcg", "ndcg_beta"], scores, labels, offsets, "standard")
    measured["ndcg_letor"] = compute(["ndcg"], scores, labels, offsets, "letor4")["ndcg"]
    curves = {column: measured[column.key].tolist() for column in CURVES}
    title = "NDCG and NDCG_beta by the position of one relevant document among ten others"
    rows = [{"rank": rank} | {column.key: values[rank - 1] for column, values in curves.items()} for rank in ranks]
    alt = (
        "All three are 1 where the relevant document is first. NDCG falls steeply and then levels off at "
        f"{measured['ndcg'][-1]:.2f} in the last place; NDCG_beta falls in a straight line to 0"
    )
    series = [Series(column.title, ranks, values, points=True) for column, values in curves.items()]
    drawing = line_chart(series, "rank of the relevant document", "value", alt)
    table = Table("positions", title, [Column("rank", "rank", "d"), *CURVES], rows)
    return Figure(table.id, title, drawing, alt, table)


def compare_weights(inputs: Inputs) -> dict[str, Any]:
    """Return the facts of the section on RankSVM and RankBoost with and without weights."""
    measured = {
        (dataset, model): inputs.measure(dataset, model, METRICS, CONVENTION)
        for dataset in inputs.datasets
        for pair in PAIRS
        for model in reversed(pair)
    }
    return {"weights": mean_rows(measured), "weights_tests": pair_tests(measured, PAIRS, METRICS)}


def compare_more_forms(inputs: Inputs) -> dict[str, Any]:
    """Return the facts of the section on the two further forms of RankSVM."""
    measured: Measured = {}
    for job in inputs.jobs():
        measured |= {(job["dataset"], form): values_of_folds(folds) for form, folds in job["forms"].items()}
        for _, model in NEAREST:
            measured[job["dataset"], model] = inputs.measure(job["dataset"], model, METRICS, CONVENTION)
    tests = pair_tests(measured, (*WEIGHTED, *NEAREST), METRICS)
    return {"more_forms": mean_rows(measured), "more_forms_tests": tests}


def mean_rows(measured: Measured) -> list[dict[str, Any]]:
    """Return one row per data set and method, for a table with the columns of `mean_columns`."""
    return [{"dataset": dataset, "method": method, "values": values} for (dataset, method), values in measured.items()]


def values_of_folds(folds: Sequence[Mapping[str, Any]]) -> QueryValues:
    """Return the values of the test queries of a form. folds: the results of a job, one per fold."""
    numbers = np.repeat(np.arange(1, len(folds) + 1), [len(fold["qids"]) for fold in folds])
    qids = np.concatenate([fold["qids"] for fold in folds])
    values = {
        metric: np.concatenate([np.array(fold["values"][metric], dtype=float) for fold in folds]) for metric in METRICS
    }
    return QueryValues(numbers, qids, values)
