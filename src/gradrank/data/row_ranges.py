"""Row numbers in several ranges, for example the rows or the pairs of some queries."""

import numpy as np


def row_ranges(starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the concatenated numbers of the ranges starts[i]..stops[i]-1, and the offsets of the ranges.

    starts, stops: (k,) int. The numbers are (n,) int64, and the offsets are (k+1,) int64. The numbers of range i are at
    offsets[i]:offsets[i+1].
    """
    sizes = stops - starts
    offsets = np.r_[0, np.cumsum(sizes)]
    return np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes), offsets


def rows_of(queries: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the row numbers of the documents of `queries`, and the (q+1,) offsets of the queries within these rows."""
    return row_ranges(offsets[:-1][queries], offsets[1:][queries])
