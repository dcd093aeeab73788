"""The page of the study: R-precision and MAP, the spread of AP over queries, and the worked example."""

from gradrank.studies.average_precision.spread import spread
from gradrank.studies.average_precision.tracking import METRICS, tracking
from gradrank.studies.average_precision.worked import worked
from gradrank.studies.common.study import Inputs, PageSection

CONVENTION = "letor4_expected"  # averages over all orders of tied documents, so no measure benefits from the file order


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page."""
    measured = {
        dataset: {model: inputs.measure(dataset, model, METRICS, CONVENTION) for model in inputs.models}
        for dataset in inputs.datasets
    }
    return [tracking(measured), spread(measured), worked()]
