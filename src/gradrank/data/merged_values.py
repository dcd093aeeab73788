"""Detection of distinct values that are equal in float32, the type of features.

This type has 24 binary digits. Larger whole numbers, such as times in seconds, may become equal.
"""

import numpy as np

EXACT = 2.0**24  # whole numbers up to this one are exact in float32
MERGED_SHARE = 0.01  # of the neighbouring values of a query; random float64 numbers merge far less often
ROUNDING = 2.0**-48  # relative difference of values that are equal but for rounding in float64
MOST_ROWS = 1 << 14  # rows of whole queries in which fractions are compared


def merges(values: np.ndarray, query: np.ndarray) -> bool:
    """Return True if distinct values of a feature become equal in float32.

    Whole numbers count if any become equal, and other numbers if a hundredth of the neighbouring values in the first
    queries become equal. values: (n,) numbers in their own type. query: (n,) numbers of the queries, from 0, in the
    order of their first rows.
    """
    if values.dtype.kind not in "iuf" or values.dtype.itemsize < 4 or values.dtype == np.float32 or not len(values):
        return False
    with np.errstate(invalid="ignore"):
        peak = max(abs(float(np.fmin.reduce(values))), abs(float(np.fmax.reduce(values))))
        is_whole = peak > EXACT and bool(((values == np.floor(values)) | np.isnan(values)).all())
    if is_whole or values.dtype.kind != "f":
        return peak > EXACT and len(np.unique(values)) > len(np.unique(_narrowed(values)))
    chosen = query <= np.searchsorted(np.cumsum(np.bincount(query)), MOST_ROWS)
    chosen &= np.isfinite(values)
    values, query = values[chosen], query[chosen] * (peak <= EXACT)  # large numbers count in the whole data
    order = np.lexsort((values, query))
    values, query = values[order], query[order]
    gaps = np.diff(values)
    differs = (np.diff(query) == 0) & (gaps > ROUNDING * np.abs(values[1:]))
    narrowed = _narrowed(values)
    merged = differs & (narrowed[1:] == narrowed[:-1])
    return bool(merged.any()) and merged.sum() >= MERGED_SHARE * differs.sum()


def _narrowed(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return values.astype(np.float32)
