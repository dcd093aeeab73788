"""Checks of the section `evaluation`: all names exist, and `conventions` contains every primary convention."""

from collections.abc import Mapping
from typing import Any

from gradrank.base.errors import GradrankError, unknown
from gradrank.measures.conventions import CONVENTIONS
from gradrank.measures.metrics import find


def check_evaluation(evaluation: Any, datasets: Mapping[str, Any]) -> list[str]:
    """Return the faults of the section `evaluation` and of the data sets' `convention`, each with its path in the file.

    evaluation: an `EvaluationParams`. datasets: the settings per data set.
    """
    faults = []
    for name in evaluation.metrics:
        try:
            find(name)
        except GradrankError as error:
            faults.append(f"evaluation.metrics: {error}")
    faults += [
        f"evaluation.conventions: {unknown('convention', name, CONVENTIONS)}"
        for name in evaluation.conventions
        if name not in CONVENTIONS
    ]
    primary = evaluation.convention
    if primary not in CONVENTIONS and primary not in evaluation.conventions:
        faults.append(f"evaluation.convention: {unknown('convention', primary, CONVENTIONS)}")
    elif primary not in evaluation.conventions:
        faults.append(f"evaluation.conventions: must contain the primary convention, {primary!r}")
    return faults + [
        f"datasets.{name}.convention: {dataset.convention!r} is not among evaluation.conventions "
        f"({', '.join(evaluation.conventions)})"
        for name, dataset in datasets.items()
        if dataset.convention not in (None, *evaluation.conventions)
    ]
