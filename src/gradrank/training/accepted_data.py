"""The registry of the data that each model accepts: missing values, categories, sparse features, weights and gains.

A model declares these properties as class attributes (gradrank.training.model). All checks, error messages and tables
read them here.
"""

from collections.abc import Sequence

from gradrank.base.errors import GradrankError, unknown
from gradrank.training.model import Model
from gradrank.training.registry import models

# key: property of data; value: its meaning
PROPERTIES = {
    "missing": "features that are NaN",
    "categorical": "categorical features, without an encoding",
    "sparse": "features as a SciPy CSR matrix, which is not made dense",
    "weights": "weights of documents, or only weights that are equal within each query",
    "gains": "fractional labels, grades above 31, and any gain per grade",
}


def accepted_data(cls: type[Model]) -> list[str]:
    """Return the properties of data that a model accepts, in the order of PROPERTIES."""
    accepts = {
        "missing": cls.takes_missing,
        "categorical": cls.takes_categories,
        "sparse": cls.takes_sparse,
        "weights": cls.uses_weights is not None,
        "gains": cls.label_reading(cls.Params()) in ("order", "numbers", "gains"),
    }
    return [name for name in PROPERTIES if accepts[name]]


def models_that_accept(properties: Sequence[str]) -> list[str]:
    """Return the names of the models that accept data with all of these properties.

    Raises GradrankError for an unknown property.
    """
    for name in properties:
        if name not in PROPERTIES:
            raise GradrankError(unknown("property of data", name, PROPERTIES))
    return [name for name, cls in models().items() if {*properties} <= {*accepted_data(cls)}]
