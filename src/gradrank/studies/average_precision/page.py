"""The page: R-precision beside MAP, the spread of AP, the worked example."""

from gradrank.studies.average_precision.spread import spread
from gradrank.studies.average_precision.tracking import METRICS, tracking
from gradrank.studies.average_precision.worked import worked
from gradrank.studies.common.study import Inputs, PageSection

CONVENTION = "letor4_expected"  # no measure is to gain by the file's order


def build(inputs: Inputs) -> list[PageSection]:
    measured = {
        dataset: {model: inputs.measure(dataset, model, METRICS, CONVENTION) for model in inputs.models}
        for dataset in inputs.datasets
    }
    return [tracking(measured), spread(measured), worked()]
