"""Row numbers of several ranges, such as the rows or the pairs of some queries."""

import numpy as np


def row_ranges(starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the concatenated numbers of the ranges starts[i]..stops[i]-1, and their offsets.

    starts, stops: (k,) int. Returns (n,) int64 numbers and (k+1,) int64 offsets: range i is offsets[i]:offsets[i+1].
    """
    sizes = stops - starts
    offsets = np.r_[0, np.cumsum(sizes)]
    return np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes), offsets
