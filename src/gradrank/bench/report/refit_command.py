"""The command that trains the best method of a data set on all queries, for the report and the end of a run."""

from collections.abc import Iterable

from gradrank.bench.results import DatasetFolder
from gradrank.training.registry import models


def best_refittable(names: Iterable[str]) -> str | None:
    """Return the first method that `gradrank refit` can train: no combination of others and no imported scores.

    names: methods, best first. The name of a variant of a parameter sweep begins with that of its model.
    """
    known = models()
    for name in names:
        cls = known.get(name) or known.get(name.partition("-")[0])
        if cls is not None and not cls.members(cls.Params()):
            return name
    return None


def refit_arguments(dataset: DatasetFolder, method: str) -> str:
    """Return the arguments of `gradrank` that train a method on all queries of its data set."""
    return f"refit {dataset.folder}/{method} --out model"
