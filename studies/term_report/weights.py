"""NDCG_beta by rank, and RankSVM and RankBoost with pairs weighted by NDCG_beta."""

import numpy as np

from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.means import mean_columns
from gradrank.bench.studies.paired_tests import NOTE, PAIR_COLUMNS, describe_significant, pair_tests
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from gradrank.measures.metrics import compute

DOCUMENTS = 11  # number of documents of the query; one of them is relevant
PAIRS = (  # (weighted, plain) models: the four forms of RankSVM, then RankBoost
    ("ranksvm_ndcg", "ranksvm"),
    ("ranksvm_ndcg_l2_dual", "ranksvm_l2_dual"),
    ("ranksvm_ndcg_l1_dual", "ranksvm_l1_dual"),
    ("ranksvm_ndcg_sparse", "ranksvm_sparse"),
    ("rankboost_ndcg", "rankboost"),
)
METRICS = ("ndcg@10", "ndcg@15", "map", "ndcg_beta")


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
        (dataset, model): inputs.measure(dataset, model, METRICS, "letor4")
        for dataset in inputs.datasets
        for pair in PAIRS
        for model in reversed(pair)
    }
    columns = [Column("dataset", "data set"), Column("method"), *mean_columns(METRICS)]
    rows = [{"dataset": dataset, "method": model, "values": values} for (dataset, model), values in measured.items()]
    tests = pair_tests(measured, PAIRS, METRICS)
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
