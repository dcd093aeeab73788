"""The page: weights, the two numbers, nets."""

from gradrank.studies.kit.study import Inputs, Section
from gradrank.studies.term_report.claims import claims
from gradrank.studies.term_report.nets import scoring, variation
from gradrank.studies.term_report.weights import positions, weights


def build(inputs: Inputs) -> list[Section]:
    return [positions(), weights(inputs), claims(inputs), scoring(inputs), variation(inputs)]
