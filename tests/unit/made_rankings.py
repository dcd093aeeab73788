"""Small training data with features in memory."""

import numpy as np

from gradrank.data.collection import Collection


def silent(step: int, **values: float) -> None:
    """Ignore what training reports."""


def linear_grades(seed: int, queries: int, documents: int) -> Collection:
    """Draw four features; the grades are quantiles of a noisy linear form of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(queries * documents, 4)).astype(np.float32)
    value = x @ [3.0, -1.0, 0.5, 0.0] + rng.normal(size=len(x))
    labels = np.digitize(value, np.quantile(value, [0.6, 0.85])).astype(np.int32)
    return Collection(x, labels, np.arange(0, len(x) + 1, documents), np.arange(queries))


def noisy_copies(seed: int, queries: int, documents: int, features: int, noise: float) -> Collection:
    """Draw queries of 2 to `documents` documents with two different grades; each feature is the grade plus noise."""
    rng = np.random.default_rng(seed)
    offsets = np.r_[0, np.cumsum(rng.integers(2, documents + 1, queries))]
    labels = rng.integers(0, 3, offsets[-1]).astype(np.int32)
    labels[offsets[:-1]], labels[offsets[:-1] + 1] = 0, 1 + rng.integers(0, 2, queries)
    x = labels[:, None] + noise * rng.normal(size=(len(labels), features))
    return Collection(x.astype(np.float32), labels, offsets, np.arange(queries))
