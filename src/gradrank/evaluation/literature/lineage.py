"""Where a model belongs and when it came up, from what it is and says of itself: family and year."""

import re
from collections.abc import Iterable

from gradrank.evaluation.literature.references import CITED
from gradrank.training.model import Model

ALONE = "others"


def year(model: type[Model]) -> str:
    """Of the earliest publication that the model names as its method; empty for nobody's invention."""
    return min((match[2] for match in CITED.finditer(model.summary)), default="")


def family(model: type[Model]) -> str:
    """The class that models of a kind share: in words, `boosted trees`; where it is a model itself, `RankSVM`."""
    kind = [each for each in model.__mro__ if issubclass(each, Model)][-2]
    if "name" in vars(kind):  # registered
        return kind.__name__
    return " ".join(re.findall(r"[A-Z][a-z]+", kind.__name__)).lower()


def by_family(models: Iterable[type[Model]]) -> dict[str, list[tuple[type[Model], str]]]:
    """Each family's models with their years, the earliest first; models of no family come last, together."""
    found: dict[str, list[tuple[type[Model], str]]] = {}
    for model in models:
        found.setdefault(family(model), []).append((model, year(model)))
    alone = [members for members in found.values() if len(members) == 1]
    families = {name: found[name] for name in sorted(found, key=str.lower) if len(found[name]) > 1}
    grouped = families | ({ALONE: [member for members in alone for member in members]} if alone else {})
    return {name: sorted(members, key=lambda each: (each[1], each[0].name)) for name, members in grouped.items()}
