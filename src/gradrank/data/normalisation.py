"""Normalisation of features, within each query or over the training part of a fold.

`query` is the query-level normalisation of LETOR (QueryLevelNorm): x' = (x - min) / (max - min), where min and max are
the lowest and the highest value of the feature in the query. `global` is x' = (x - mean) / deviation, where mean and
standard deviation are those of the feature over all rows of the training part.

In both forms, a missing value stays missing and does not count in the statistics, and a feature that is constant (in
the query, or in the training part) becomes 0. Values are computed as float64 and rounded to float32 once.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

Normalise = Literal["query", "global", "none"]
LARGEST = float(np.finfo(np.float32).max)
BLOCK_ROWS = 1 << 14  # rows that are converted to float64 at once


@dataclass(frozen=True)
class Normaliser:
    """A normalisation with its statistics.

    Parameters
    ----------
    method
        `query` or `global`.
    mean, deviation
        (d,) float64 means and standard deviations of the training part, for `global`. The deviation is 0 if the feature
        is constant or always missing.
    """

    method: Literal["query", "global"]
    mean: np.ndarray | None = None
    deviation: np.ndarray | None = None

    @staticmethod
    def of_training_part(features: np.ndarray) -> "Normaliser":
        """Return the normalisation `global` for the (n, d) features of a training part."""
        mean, deviation = np.zeros((2, features.shape[1]))
        for number, column in enumerate(features.T):
            values = column[~np.isnan(column)].astype(np.float64)
            if len(values) and values.min() < values.max():  # computed deviations of constants may exceed 0
                mean[number] = values.mean()
                deviation[number] = np.sqrt(np.square(values - mean[number]).mean())
        return Normaliser("global", mean, deviation)

    def __call__(self, features: np.ndarray, offsets: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the (n, d) float32 features after normalisation.

        features: (n, d) float32. offsets: (q+1,); query i has the rows offsets[i]:offsets[i+1]. out: the array to write
        to, which may be `features`; None for a new array.
        """
        out = np.empty(features.shape, np.float32) if out is None else out
        normalise: Callable[[np.ndarray, np.ndarray], np.ndarray]
        normalise = self._by_training_part if self.method == "global" else _by_query
        for block in _blocks(offsets):
            rows = slice(int(block[0]), int(block[-1]))
            out[rows] = np.clip(normalise(features[rows], block - block[0]), -LARGEST, LARGEST)
        return out

    def entry(self) -> dict[str, Any]:
        """Return the normalisation as an entry of spec.json, from which `of` builds it again with equal bits."""
        statistics = {"mean": self.mean, "deviation": self.deviation}
        return {"method": self.method} | {name: x.tolist() for name, x in statistics.items() if x is not None}

    @staticmethod
    def of(entry: Mapping[str, Any], width: int) -> "Normaliser":
        """Build from the result of `entry` for `width` features. Raises TypeError or ValueError if it is malformed."""
        values = dict(entry)
        method = values.pop("method", None)
        statistics = {name: np.asarray(value, np.float64) for name, value in values.items()}
        names = {"mean", "deviation"} if method == "global" else set()
        is_complete = statistics.keys() == names and all(value.shape == (width,) for value in statistics.values())
        if method not in get_args(Normalise)[:2] or not is_complete:
            raise ValueError(f"normalise: {method!r} with {sorted(statistics)}")
        return Normaliser(method, **statistics)

    def _by_training_part(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        assert self.mean is not None and self.deviation is not None
        return _ratio(features - self.mean, np.broadcast_to(self.deviation, features.shape))


def _by_query(features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    if not len(features):
        return features
    starts, sizes = offsets[:-1][np.diff(offsets) > 0], np.diff(offsets)
    lowest, highest = (extreme.reduceat(features, starts, axis=0).astype(np.float64) for extreme in (np.fmin, np.fmax))
    span = np.repeat(highest - lowest, sizes[sizes > 0], axis=0)
    return _ratio(features - np.repeat(lowest, sizes[sizes > 0], axis=0), span)


def _ratio(above: np.ndarray, span: np.ndarray) -> np.ndarray:
    """Return above / span. Where `span` is 0, return 0, or NaN for a missing value."""
    return np.divide(above, span, out=np.where(np.isnan(above), np.nan, 0.0), where=span > 0.0)


def _blocks(offsets: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the offsets of consecutive queries that have about BLOCK_ROWS rows together."""
    first = 0
    while first < len(offsets) - 1:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + BLOCK_ROWS, side="right")) - 1)
        yield offsets[first : last + 1]
        first = last
