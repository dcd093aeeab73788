"""Ranges of rows laid one after the other: some whole queries of many, or their pairs."""

import numpy as np


def row_ranges(starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers starts[0]..stops[0]-1, starts[1]..stops[1]-1, .., and (k+1,) offsets of the k ranges within them."""
    sizes = stops - starts
    own = np.r_[0, np.cumsum(sizes)]
    return np.arange(own[-1]) + np.repeat(starts - own[:-1], sizes), own
