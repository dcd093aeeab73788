"""The names of the families of methods that a reader sees."""

from gradrank.training.literature import OTHERS

# By the names of the base classes, as `gradrank.training.literature.family` returns them. Other families keep theirs.
NAMES = {
    "net ranker": "neural nets",
    "term ranker": "boosting and coordinate ascent",
    "Regression": "linear regression",
    "YetiRank": "CatBoost",
    OTHERS: "further methods",
}


def family_name(family: str) -> str:
    """Return the name of a family in the terms of the field."""
    return NAMES.get(family, family)
