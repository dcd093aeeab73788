"""The page of the study: pair weights, the two values of NDCG, targets, and nets."""

from gradrank.bench.studies.study import Inputs, PageSection
from studies.term_report.claims import DATASET, claims
from studies.term_report.more_forms import more_forms
from studies.term_report.nets import scoring, variation
from studies.term_report.targets import targets
from studies.term_report.weights import positions, weights


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page."""
    claimed = [claims(inputs)] if DATASET in inputs.datasets else []
    weighted = [positions(), weights(inputs), more_forms(inputs)]
    return [*weighted, *claimed, targets(inputs), scoring(inputs), variation(inputs)]
