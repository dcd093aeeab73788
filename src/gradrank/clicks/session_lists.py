"""The lists that sessions have shown, as training data of methods that learn the position bias themselves."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.clicks.log import ClickLog


@dataclass(frozen=True, eq=False)
class SessionLists:
    """Lists of documents with clicks, in the order of their positions. Lists without clicks are left out.

    rows: (m,) numbers of the documents in X. clicks: (m,) 0 or 1. places: (m,) positions, from 0. lists: (m,) numbers
    of the lists, from 0. weights: (m,) numbers of the sessions that are equal to the list.
    """

    rows: np.ndarray
    clicks: np.ndarray
    places: np.ndarray
    lists: np.ndarray
    weights: np.ndarray


def session_lists(log: ClickLog, table: pl.DataFrame) -> SessionLists:
    """Return the lists of a log. Sessions with the same documents, positions and clicks are one list with a weight.

    table: see `document_table`. Raises GradrankError if the log has no sessions, or no session has a click.
    """
    if not log.has_sessions:
        raise GradrankError(
            "clicks: the log has counts and no sessions, but this correction compares clicks within one session. Fix: "
            "give a log with one row per session and document, or use the correction 'ips'"
        )
    found = log.rows.join(table, on=["qid", "docid"], how="left", maintain_order="left")
    number = found.select(pl.struct("session", "qid").rank("dense") - 1).to_series().to_numpy().astype(np.int64)
    # Column k has the document at position k and its click as one number, and -1 without a document.
    codes = np.full((int(number.max()) + 1, log.depth), -1, dtype=np.int64)
    codes[number, found["position"].to_numpy() - 1] = 2 * found["row"].to_numpy() + found["clicks"].to_numpy()
    codes = codes[((codes >= 0) & (codes % 2 == 1)).any(axis=1)]
    if not len(codes):
        raise GradrankError("clicks: no session has a click. Fix: give a longer log")
    codes, counts = np.unique(codes, axis=0, return_counts=True)
    lists, places = np.nonzero(codes >= 0)
    shown = codes[lists, places]
    return SessionLists(shown // 2, shown % 2, places, lists, counts[lists].astype(np.float64))
