"""The page of the study: R-precision and MAP, the spread of AP, the stability of P@k, accuracy, the worked example."""

from gradrank.bench.studies.study import Inputs, PageSection
from studies.average_precision.accuracy import accuracy
from studies.average_precision.relevant import query_sizes
from studies.average_precision.spread import spread
from studies.average_precision.stability import MEASURES, stability
from studies.average_precision.tracking import tracking
from studies.average_precision.worked import worked

CONVENTION = "letor4_expected"  # averages over all orders of tied documents, so no measure benefits from the file order


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page."""
    measured = {
        dataset: {model: inputs.measure(dataset, model, MEASURES, CONVENTION) for model in inputs.models}
        for dataset in inputs.datasets
    }
    sizes = {dataset: query_sizes(inputs, dataset) for dataset in inputs.datasets}
    return [tracking(measured), spread(measured), stability(measured, sizes), accuracy(measured, sizes), worked()]
