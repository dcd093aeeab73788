"""NDCG_beta by rank, RankSVM and RankBoost with pairs weighted by NDCG_beta, and more forms of RankSVM.

The additional forms have the hinge loss in the primal and the L1 penalty.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from gradrank.bench.studies.tables import NOTE, PAIR_COLUMNS, describe_significant, mean_columns, pair_tests
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
SHOWN = ("ndcg@10", "ndcg@15", "map", "ndcg_beta")


def positions() -> PageSection:
    """Return the section on NDCG and NDCG_beta as functions of the rank of the only relevant document."""
    labels = np.eye(DOCUMENTS, dtype=np.int64).ravel()  # query p has the relevant document at rank p
    scores = np.tile(-np.arange(DOCUMENTS, dtype=np.float64), DOCUMENTS)
    offsets = np.arange(DOCUMENTS + 1) * DOCUMENTS
    ranks = np.arange(1, DOCUMENTS + 1)
    measured = compute(["ndcg", "ndcg_beta"], scores, labels, offsets, "standard")
    letor = compute(["ndcg"], scores, labels, offsets, "letor4")["ndcg"]
    columns = {
        "ndcg": ("NDCG, 1/log2(1 + rank)", measured["ndcg"]),
        "ndcg_letor": ("NDCG, LETOR's discount", letor),
        "ndcg_beta": ("NDCG_beta", measured["ndcg_beta"]),
    }
    table = Table(
        "positions",
        "NDCG and NDCG_beta by the position of one relevant document among ten others",
        [Column("rank", "rank", "d"), *(Column(key, title, ".4f") for key, (title, _) in columns.items())],
        [
            {"rank": int(rank)} | {key: float(values[i]) for key, (_, values) in columns.items()}
            for i, rank in enumerate(ranks)
        ],
    )
    alt = (
        "All three are 1 where the relevant document is first. NDCG falls steeply and then levels off at "
        f"{measured['ndcg'][-1]:.2f} in the last place; NDCG_beta falls in a straight line to 0"
    )
    series = [Series(title, ranks.tolist(), values.tolist(), points=True) for title, values in columns.values()]
    drawing = line_chart(series, "rank of the relevant document", "value", alt)
    return PageSection(
        "positions",
        "The discount of NDCG_beta",
        [
            "NDCG_beta replaces the logarithmic discount by one that falls by the same amount at each rank, "
            "`DCG_beta = sum of grade (n - rank)`. So 1 - NDCG_beta is a sum over inverted pairs, and pairs can be "
            "weighed by their share in it. The price: an exchange at the foot of the list costs what one at its "
            "head does, and NDCG@10 sees only the head."
        ],
        [Figure("positions", table.title, drawing, alt, table)],
    )


def weights(inputs: Inputs) -> PageSection:
    """Return the section that compares RankSVM_ndcg and RankBoost_ndcg with RankSVM and RankBoost."""
    measured = {
        (dataset, model): inputs.measure(dataset, model, SHOWN, "letor4")
        for dataset in inputs.datasets
        for pair in PAIRS
        for model in reversed(pair)
    }
    columns = [Column("dataset", "data set"), Column("method"), *mean_columns(SHOWN)]
    rows = [{"dataset": dataset, "method": model, "values": values} for (dataset, model), values in measured.items()]
    tests = pair_tests(measured, PAIRS, SHOWN)
    return PageSection(
        "weights",
        "Do the weights help?",
        [
            "RankSVM in its four forms (`gradrank models`) and RankBoost with every pair alike and with pairs weighted "
            "by NDCG_beta, under `letor4`; everything else, the search on the validation part included, is the same.",
            f"Query by query, {describe_significant(tests, 'dataset', 'pair')}",
        ],
        [
            Table("weights", "Means over folds", columns, rows),
            Table("weights_tests", "Weighted against plain", PAIR_COLUMNS, tests, NOTE),
        ],
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


def more_forms(inputs: Inputs) -> PageSection:
    """Return the section on the two further forms of RankSVM."""
    measured: dict[tuple[str, str], QueryValues] = {}
    for job in inputs.jobs():
        measured |= {(job["dataset"], form): values_of_folds(folds) for form, folds in job["forms"].items()}
        for _, model in NEAREST:
            measured[job["dataset"], model] = inputs.measure(job["dataset"], model, METRICS, CONVENTION)
    rows = [{"dataset": dataset, "method": model, "values": values} for (dataset, model), values in measured.items()]
    tests = pair_tests(measured, (*WEIGHTED, *NEAREST), METRICS)
    heads = [Column("dataset", "data set"), Column("method")]
    return PageSection(
        "more_forms",
        "Two more forms of RankSVM",
        [
            "The forms above have the squared hinge loss (L2 loss) or are solved in the dual. `ranksvm_l1_primal` has "
            "the hinge loss (L1 loss) and the L2 penalty, in the primal. It has the minimum of `ranksvm_l1_dual`, so "
            "its difference to that form shows the precision of both solvers. `ranksvm_l1_sparse` has the hinge loss "
            "and the L1 penalty, a linear programme. Both are solved with a hinge loss whose kink is smoothed. C is "
            "selected as for the other forms.",
            f"Query by query, {describe_significant(tests, 'dataset', 'pair')}",
        ],
        [
            Table("more_forms", "Means over folds of the further forms", [*heads, *mean_columns(METRICS)], rows),
            Table("more_forms_tests", "Further forms, weighted or next to the nearest form", PAIR_COLUMNS, tests, NOTE),
        ],
    )


def values_of_folds(folds: Sequence[Mapping[str, Any]]) -> QueryValues:
    """Return the values of the test queries of a form. folds: the results of a job, one per fold."""
    numbers = np.repeat(np.arange(1, len(folds) + 1), [len(fold["qids"]) for fold in folds])
    qids = np.concatenate([fold["qids"] for fold in folds])
    values = {
        metric: np.concatenate([np.array(fold["values"][metric], dtype=float) for fold in folds]) for metric in METRICS
    }
    return QueryValues(numbers, qids, values)
