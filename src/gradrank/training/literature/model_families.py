"""Family and year of a model, from its base class and the publications in its summary."""

import re
from collections.abc import Iterable

from gradrank.training.literature.references import CITED
from gradrank.training.model import Model

OTHERS = "others"  # name of the group of models without a family


def year(model: type[Model]) -> str:
    """Return the year of the earliest publication that the model's summary cites; empty if it cites none."""
    return min((match[2] for match in CITED.finditer(model.summary)), default="")


def family(model: type[Model]) -> str:
    """Return the name of the model's most general base class below Model.

    The name is split into words, such as `boosted trees`. If the base class is itself a registered model, its class
    name is unchanged, such as `RankSVM`.
    """
    base = [cls for cls in model.__mro__ if issubclass(cls, Model)][-2]
    if "name" in vars(base):  # registered
        return base.__name__
    return " ".join(re.findall(r"[A-Z][a-z]+", base.__name__)).lower()


def by_family(models: Iterable[type[Model]]) -> dict[str, list[tuple[type[Model], str]]]:
    """Return a dict of the models of each family. The keys are names of families.

    The values are lists of (model, year), sorted by year and name. A family has at least two models. The other models
    are listed last, under the key OTHERS.
    """
    groups: dict[str, list[tuple[type[Model], str]]] = {}
    for model in models:
        groups.setdefault(family(model), []).append((model, year(model)))
    singles = [members for members in groups.values() if len(members) == 1]
    families = {name: groups[name] for name in sorted(groups, key=str.lower) if len(groups[name]) > 1}
    grouped = families | ({OTHERS: [member for members in singles for member in members]} if singles else {})
    return {name: sorted(members, key=lambda member: (member[1], member[0].name)) for name, members in grouped.items()}
