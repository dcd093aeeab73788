"""Names of all registered metrics, so that a test of every metric includes a new one without an edit."""

from itertools import product
from string import Formatter

from gradrank.measures.metrics import METRICS

# By parameter in a metric's name. Some k are smaller and some are larger than the number of documents in the tests.
PARAMETERS = {
    "k": ("1", "2", "3", "7"),
    "beta": ("0.5", "1", "2"),
    "recall": ("0.0", "0.3", "1.0"),
    "persistence": ("0.5", "0.95"),
}


def metric_names(registry=METRICS) -> list[str]:
    """Return the names of every registered metric with the values of PARAMETERS."""
    names = []
    for pattern in registry:
        fields = [field for _, field, _, _ in Formatter().parse(pattern) if field is not None]
        choices = product(*(PARAMETERS[field] for field in fields))
        names += [pattern.format(**dict(zip(fields, values, strict=True))) for values in choices]
    return names
