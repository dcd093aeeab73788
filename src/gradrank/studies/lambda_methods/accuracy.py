"""The accuracy on pairs and NDCG@10 of RankNet, LambdaRank and LambdaMART."""

from itertools import combinations

from gradrank.report.tables.table import Column, Table
from gradrank.studies.common.means import mean_columns
from gradrank.studies.common.paired_tests import COLUMNS, NOTE, Question, describe_significant, paired_tests
from gradrank.studies.common.study import Inputs, PageSection
from gradrank.studies.lambda_methods.pair_errors import CONVENTION

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
    tests = paired_tests(
        [
            Question(
                {"dataset": dataset, "methods": f"{first} − {second}"},
                metric,
                measured[dataset, first],
                measured[dataset, second],
            )
            for dataset in inputs.datasets
            for first, second in combinations(METHODS, 2)
            for metric in METRICS
        ]
    )
    heads = [Column("dataset", "data set"), Column("method")]
    pairs = [Column("dataset", "data set"), Column("methods"), Column("metric")]
    return PageSection(
        "accuracy",
        "Accuracy on pairs",
        [
            "The accuracy of a method is the share of the pairs of documents of one query with different grades that "
            "are in the right order. RankNet's cost is a smooth form of the errors on pairs, while LambdaRank and "
            "LambdaMART weigh a pair by the change of NDCG.",
            f"Query by query, {describe_significant(tests, 'dataset', 'methods')}",
        ],
        [
            Table("accuracy", "Means over folds", [*heads, *mean_columns(METRICS)], rows),
            Table("accuracy_tests", "Every two methods", [*pairs, *COLUMNS], tests, NOTE),
        ],
    )
