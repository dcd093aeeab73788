"""Checks of the weights of a collection when it is parsed."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from gradrank.data.tables.table import DataTable
from gradrank.data.text.text_file import TextFile


def check_training_weights(
    parts: Mapping[int, tuple[TextFile | DataTable, np.ndarray]], folds: Sequence[Mapping[str, Sequence[int]]]
) -> None:
    """Raise GradrankError if all weights of the training part of a fold are 0.

    parts: for each part number, the file that contains the part, and the positions of its queries in that file. folds:
    the part numbers of each split, one dict per fold.
    """
    has_weight = {number: _has_weight(*part) for number, part in parts.items()}
    for fold in folds:
        if not any(has_weight[number] for number in fold["train"]):
            source, queries = parts[fold["train"][0]]
            raise source.error_at(
                queries[0],
                "all weights of the training part that begins here are 0. Fix: give a positive weight to the documents "
                "from which models are to learn",
            )


def uneven_query(sources: Iterable[TextFile | DataTable]) -> str | None:
    """Return the id of the first query whose documents have different weights. None if there is no such query."""
    for source in sources:
        if isinstance(source, DataTable) and source.roles.weight:
            weights = source.frame["weight"].to_numpy()
            uneven = np.maximum.reduceat(weights, source.starts) > np.minimum.reduceat(weights, source.starts)
            if uneven.any():
                return str(source.ids[uneven.argmax()])
    return None


def _has_weight(source: TextFile | DataTable, queries: np.ndarray) -> bool:
    """Return whether a document of some queries has a positive weight. Without weights, return True."""
    if isinstance(source, DataTable) and source.roles.weight:
        return bool(np.maximum.reduceat(source.frame["weight"].to_numpy(), source.starts)[queries].max() > 0.0)
    return True
