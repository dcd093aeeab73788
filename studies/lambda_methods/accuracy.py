"""The accuracy on pairs and NDCG@10 of RankNet, LambdaRank and LambdaMART."""

from itertools import combinations

from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.means import mean_columns
from gradrank.bench.studies.paired_tests import NOTE, PAIR_COLUMNS, describe_significant, pair_tests
from gradrank.bench.studies.study import Inputs, PageSection
from studies.lambda_methods.pair_errors import CONVENTION

METRICS = ("pairwise_accuracy", "ndcg@10")
METHODS = ("lambdamart", "lambdarank", "ranknet_two_layer")  # the newest first


def accuracy(inputs: Inputs) -> PageSection:
    """Return the section on the accuracy on pairs."""
    measured = {
        (dataset, model): inputs.measure(dataset, model, METRICS, CONVENTION)
        for dataset in inputs.datasets
        for model in METHODS
    }
    rows = [{"dataset": dataset, "method": model, "values": values} for (dataset, model), values in measured.items()]
    tests = pair_tests(measured, combinations(METHODS, 2), METRICS)
    heads = [Column("dataset", "data set"), Column("method")]
    return PageSection(
        "accuracy",
        "Accuracy on pairs",
        [
            "The accuracy of a method is the share of the pairs of documents of one query with different grades that "
            "are in the right order. RankNet's cost is a smooth form of the errors on pairs, while LambdaRank and "
            "LambdaMART weigh a pair by the change of NDCG.",
            f"Query by query, {describe_significant(tests, 'dataset', 'pair')}",
        ],
        [
            Table("accuracy", "Means over folds", [*heads, *mean_columns(METRICS)], rows),
            Table("accuracy_tests", "Every two methods", PAIR_COLUMNS, tests, NOTE),
        ],
    )
