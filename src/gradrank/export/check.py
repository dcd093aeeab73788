"""Comparison of an exported model with gradrank: both score the same documents."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.reader import Batch
from gradrank.export.format import Reader
from gradrank.export.lookup import find_format
from gradrank.training.trained_fold import TrainedFold


@dataclass(frozen=True)
class Agreement:
    """The result of a comparison in which no difference exceeds the tolerance.

    rows: the number of documents. difference: the largest difference of a score. allowed: the largest allowed
    difference: the tolerance of the format, times the larger of 1 and the largest absolute score.
    """

    rows: int
    difference: float
    allowed: float

    def __str__(self) -> str:
        return (
            f"{self.rows:,} documents have the scores and the order of gradrank; largest difference of a score: "
            f"{self.difference:.3g} (allowed: {self.allowed:.3g})"
        )


def check(fold: TrainedFold, to: str, path: Path, rows: Iterable[Batch], names: Sequence[str]) -> Agreement:
    """Compare the scores of an exported file with those of the trained fold.

    Parameters
    ----------
    fold
        The trained fold.
    to
        The name of the format.
    path
        The first file that the export wrote.
    rows
        The documents, in batches of whole queries.
    names
        The d names of the features in the file.

    Raises
    ------
    GradrankError
        If a score differs by more than the tolerance of the format, if two documents of a query are in another order
        although their scores differ by more than the tolerance, or if the file is malformed. The message names the
        first such document.
    """
    model_format = find_format(to)
    reader = model_format.read(path)
    columns = _columns(reader, names, path)
    ours, theirs, offsets, documents = [np.empty(0)], [np.empty(0)], [np.zeros(1, np.int64)], []
    for batch in rows:
        ours.append(fold.score(batch.features, batch.offsets))
        theirs.append(reader.scores(np.ascontiguousarray(batch.features[:, columns]), batch.offsets))
        offsets.append(offsets[-1][-1] + batch.offsets[1:])
        documents.extend(_documents(batch))
    expected, found = np.concatenate(ours), np.concatenate(theirs)
    tolerance = model_format.tolerance_of(fold.model.scoring_form(fold.schema.width))
    allowed = tolerance * max(1.0, float(np.abs(expected).max(initial=0.0)))
    differs = ~(np.abs(expected - found) <= allowed)  # also true for a score that is not a number
    fault = f"a difference above {allowed:.3g} is not allowed"
    if not differs.any():
        differs = in_other_order(expected, found, np.concatenate(offsets), allowed)
        fault = "a document with a clearly lower score in gradrank has no lower score in the file"
    if differs.any():
        row = int(differs.argmax())
        raise GradrankError(
            f"{path}: {documents[row]} has the score {found[row]:.9g}, and in gradrank {expected[row]:.9g}; {fault}. "
            "Fix: do not use the file; export the model in another format"
        )
    return Agreement(len(expected), float(np.abs(expected - found).max(initial=0.0)), allowed)


def in_other_order(expected: np.ndarray, found: np.ndarray, offsets: np.ndarray, allowed: float) -> np.ndarray:
    """Return (n,) bool, whether a document of the same query is clearly below in `expected`, but not below in `found`.

    expected, found: (n,) scores. offsets: (q+1,); query i has the rows offsets[i]:offsets[i+1]. allowed: scores that
    differ by more than this are clearly different.
    """
    out = np.zeros(len(expected), bool)
    for start, stop in pairwise(offsets):
        one, two = expected[start:stop], found[start:stop]
        order = np.argsort(one, kind="stable")
        highest = np.r_[-np.inf, np.maximum.accumulate(two[order])]  # the highest `found` of the k lowest `expected`
        below = np.searchsorted(one[order], one - allowed, side="left")
        out[start:stop] = two <= highest[below]
    return out


def _documents(batch: Batch) -> list[str]:
    """Return the query and the id of each document for a message; the row within the query if there is no id."""
    sizes = np.diff(batch.offsets)
    rows = np.arange(len(batch.features)) - np.repeat(batch.offsets[:-1], sizes) + 1
    return [
        f"query {qid}, document {row if docid is None else docid}"
        for qid, row, docid in zip(np.repeat(batch.qids, sizes), rows, batch.docids, strict=True)
    ]


def _columns(reader: Reader, names: Sequence[str], path: Path) -> list[int]:
    """Return the positions of the features of a file in `names`."""
    if reader.names is None:
        return list(range(len(names)))
    positions = {name: number for number, name in enumerate(names)}
    if unknown := [name for name in reader.names if name not in positions]:
        raise GradrankError(f"{path}: the feature {unknown[0]!r} is not in the data. Fix: export the model again")
    return [positions[name] for name in reader.names]
