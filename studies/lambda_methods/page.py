"""The page of the study: pair errors and NDCG, accuracy, queries that lose, and hidden nodes."""

from gradrank.bench.studies.study import Inputs, PageSection
from studies.lambda_methods.accuracy import accuracy
from studies.lambda_methods.boosting_rounds import boosting_rounds
from studies.lambda_methods.hidden_nodes import hidden_nodes
from studies.lambda_methods.pair_errors import pair_errors


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page."""
    return [pair_errors(inputs), accuracy(inputs), boosting_rounds(inputs.jobs()), hidden_nodes(inputs)]
