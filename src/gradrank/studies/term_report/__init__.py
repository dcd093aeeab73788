"""A term report on RankNet and on pair weights after NDCG_beta: its weights, its nets, its two numbers."""

from gradrank.studies.kit.study import Inputs, Section
from gradrank.studies.term_report.claims import claims
from gradrank.studies.term_report.nets import scoring, variation
from gradrank.studies.term_report.weights import positions, weights

TITLE = "NDCG_beta and a RankNet"
PUBLICATION = (
    "A term report that weighs pairs by NDCG_beta in RankSVM and RankBoost (after Jin et al. 2018) and trains a "
    "RankNet of 64 and 32 ReLU units with and without L2."
)


def build(inputs: Inputs) -> list[Section]:
    return [positions(), weights(inputs), claims(inputs), scoring(inputs), variation(inputs)]
