"""Learning from clicks: click logs, simulated users, propensities, and the evaluation of rankings from a log."""

from gradrank.clicks.debias import ClickLabels, debias
from gradrank.clicks.evaluation import ClickValue, evaluate
from gradrank.clicks.log import ClickLog
from gradrank.clicks.propensities import Propensities, estimate_propensities
from gradrank.clicks.simulation import Simulation, relevance_probabilities, simulate

__all__ = [
    "ClickLabels",
    "ClickLog",
    "ClickValue",
    "Propensities",
    "Simulation",
    "debias",
    "estimate_propensities",
    "evaluate",
    "relevance_probabilities",
    "simulate",
]
