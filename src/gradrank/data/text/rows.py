"""Rows of LETOR and SVMlight text as arrays."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.compressed import lines
from gradrank.data.grades import HIGHEST_GRADE
from gradrank.data.ids import WHOLE
from gradrank.data.text import scan, tokens
from gradrank.data.text.fixed_width import fixed_width_form
from gradrank.data.text.text_file import BYTE_ORDER_MARK, TextFile, mark_length, thread_buffer

# The replacement of missing values: the lowest value of the feature in the query (`least`), the mean of the feature
# in the query (`mean`), 0 (`zero`), or NaN (`keep`).
Missing = Literal["least", "mean", "zero", "keep"]


@dataclass(frozen=True)
class Rows:
    """Parsed rows: n documents with d features.

    Parameters
    ----------
    features
        (d, n) float32.
    labels
        (n,) int16.
    qids
        (n,) int64.
    docids, ends
        The concatenated bytes of the document ids (uint8), and their (n+1,) int32 offsets. The id of row i is
        docids[ends[i]:ends[i+1]], which is empty if the row has no id.
    inc, prob
        (n,) float64, NaN if unknown.
    """

    features: np.ndarray
    labels: np.ndarray
    qids: np.ndarray
    docids: np.ndarray
    ends: np.ndarray
    inc: np.ndarray
    prob: np.ndarray


class FirstRow(NamedTuple):
    """The properties of a file that follow from its first row.

    `features` is the number of features, `sparse` is True if rows may leave features out, and `text_ids` is True if
    query ids are text.
    """

    features: int
    sparse: bool
    text_ids: bool


def first_row(path: Path) -> FirstRow:
    """Read the first row of a file, and return the properties of the file that follow from it.

    Rows are sparse if the first row leaves feature numbers out or has no features. A malformed row counts as dense. The
    error for it is raised later, when the rows are read. Raises GradrankError if features are numbered from 0.
    """
    rows = (line.removeprefix(BYTE_ORDER_MARK).split(b"#")[0].split() for line in lines(path))
    number, tokens = next((row for row in enumerate(rows, start=1) if len(row[1]) > 1), (0, []))
    if not tokens:
        return FirstRow(1, False, False)
    features = [token.partition(b":")[0] for token in tokens[2:]]
    values = [int(feature[:18]) if feature.isdigit() else -1 for feature in features]
    if values[:1] == [0]:
        raise GradrankError(
            f"{path}: line {number}: features are numbered from 0, found {tokens[2].decode(errors='replace')!r}; "
            "expected numbers from 1. Fix: add 1 to each number"
        )
    qid = tokens[1].removeprefix(b"qid:")
    text_ids = bool(qid) and qid != tokens[1] and not re.match(WHOLE, qid.decode(errors="replace"))
    increasing = all(a < b for a, b in zip([0, *values], values, strict=False))
    if increasing and values != list(range(1, len(values) + 1)):
        return FirstRow(values[-1], True, text_ids)
    return FirstRow(max(len(values), 1), not values, text_ids)


def read_rows(
    source: TextFile,
    queries: np.ndarray,
    width: int,
    sparse: bool,
    missing: Missing = "least",
    edges: Sequence[float] = (),
) -> Rows:
    """Read the rows of some queries. `NULL` is replaced according to `missing`.

    queries: the ascending positions of the queries in `source`. edges: the edges of grades (see `Columns`).

    Raises GradrankError for the first malformed line.
    """
    text = source.read(queries)
    counts = source.rows[queries]
    n = counts.sum()
    features = np.zeros((width, n), np.float32) if sparse else np.empty((width, n), np.float32)
    labels, estimates = np.empty(n, np.int16), np.empty((2, n))
    docids, ends = thread_buffer("docids", len(text)), np.zeros(n + 1, np.int32)
    start = mark_length(text) if source.starts[queries[0]] == 0 else 0
    form = fixed_width_form(0 if sparse else width)
    thresholds, capacity = np.array(edges, np.float64), 3 * n + width
    while True:
        late = np.empty((capacity, 4), np.int64)
        code, position, number, nulls, late_count = scan.rows(
            text, start, sparse, *form, thresholds, HIGHEST_GRADE, features, labels, docids, ends, estimates, late
        )
        if code != scan.LATE_IS_FULL:
            break
        capacity *= 8
    if code != scan.OK:
        expected = _expected(code, number, width, sparse, bool(edges))
        if code == scan.BAD_NUMBER and not _is_ascending(bytes(text), position):
            expected = f"feature {number + 1}{' or a later one' if sparse else ''} (sort the features of"
            expected += " each row by number, and delete repeated ones)"
        raise source.error(queries, position, expected)
    for column, row, first, end in late[:late_count]:
        value = float(bytes(text[first:end]))
        if column < width:
            features[column, row] = np.clip(value, -tokens.LARGEST, tokens.LARGEST)
        elif column < width + 2:
            estimates[column - width, row] = value
        else:
            labels[row] = np.searchsorted(thresholds, value, side="right")
    if nulls:
        fill(features, counts, missing)
    qids = np.repeat(source.qids[queries], counts)
    return Rows(features, labels, qids, docids[: ends[-1]].copy(), ends, *estimates)


def fill(features: np.ndarray, counts: np.ndarray, missing: Missing) -> None:
    """Replace NaN in (d, n) features, in place. counts: the (q,) numbers of documents per query."""
    if missing == "zero":
        np.nan_to_num(features, copy=False, nan=0.0)
    elif missing != "keep":
        scan.fill_missing(features, np.r_[0, np.cumsum(counts)], missing == "mean")


def _is_ascending(text: bytes, position: int) -> bool:
    """Return True if the feature numbers of the row at a position are strictly ascending."""
    start, end = text.rfind(b"\n", 0, position) + 1, text.find(b"\n", position)
    words = text[start:end].partition(b"#")[0].split()[2:]
    numbers = [int(word[:9]) for word in (word.partition(b":")[0] for word in words) if word.isdigit()]
    return all(a < b for a, b in pairwise(numbers))


def _expected(code: int, number: int, width: int, sparse: bool, has_edges: bool) -> str:
    """Return, as text for an error message, what was expected at the position where `scan.rows` stopped.

    code: the error code of `scan.rows`. number: the last feature number before that position. has_edges: True if the
    edges of grades are declared.
    """
    if code == scan.BAD_GRADE:
        return "a finite number as label" if has_edges else f"a grade, a whole number from 0 to {HIGHEST_GRADE}"
    if code == scan.BAD_VALUE:
        return f"a finite decimal number or NULL as feature {number}"
    if number == width:
        return f"the end of the row after feature {width}"
    if sparse:
        return f"<feature>:<value>, the feature from {number + 1} to {width}"
    return f"feature {number + 1} (the first row has 1 to {width}; declare `features` if rows are sparse)"
