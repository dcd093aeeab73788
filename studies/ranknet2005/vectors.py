"""The artificial data of the first RankNet paper (Burges et al. 2005, section 5): files of 50 vectors with grades.

The data of one random target are 1000 files: 800 files for training, 100 for validation and 100 for testing.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gradrank.data.order import order
from gradrank.data.sources.synthetic import Target, draw, draw_features, draw_weights, grades, polynomial_terms
from gradrank.measures.query_loops import pair_counts

FILES, FILE = 1000, 50
PARTS = {"train": slice(0, 40_000), "vali": slice(40_000, 45_000), "test": slice(45_000, 50_000)}
TOP_GRADE = 5

# How the three terms of the polynomial are scaled: each divided by its standard deviation, each divided by its
# variance, or such that the linear term has the given share of the variance and the others have half the rest each.
Terms = Literal["deviation", "variance"] | float


@dataclass(frozen=True)
class Vectors:
    """Consecutive files of 50 vectors each. x: (n, 50) float64 features. grades: (n,) int32 relevance grades."""

    x: np.ndarray
    grades: np.ndarray

    @property
    def offsets(self) -> np.ndarray:
        """The index of the first row of each file, followed by the total number of rows."""
        return np.arange(0, len(self.grades) + 1, FILE)

    def __getitem__(self, rows: slice) -> "Vectors":
        return Vectors(self.x[rows], self.grades[rows])

    def correct(self, scores: np.ndarray) -> float:
        """Return the percentage of correctly ordered pairs, among the pairs of unequal grades within a file.

        scores: (n,) float64. A pair of equal scores counts as half correct.
        """
        ranked = order(scores, self.offsets)
        right, tied, pairs = pair_counts(scores[ranked], self.grades[ranked], self.offsets, TOP_GRADE)
        return float(100 * (right.sum() + tied.sum() / 2) / pairs.sum())


def draw_vectors(target: Target, seed: int, terms: Terms = "deviation") -> Vectors:
    """Draw the vectors and grades of a target function. `terms` has no effect on a random net."""
    if isinstance(terms, str):
        features, values = draw(target, FILES, FILE, seed, terms)
        return Vectors(features.astype(np.float64), values)
    features = draw_features(FILES * FILE, seed)
    scales = np.sqrt([terms, (1 - terms) / 2, (1 - terms) / 2])
    values = scales @ polynomial_terms(draw_weights("poly", seed), features)
    return Vectors(features.astype(np.float32).astype(np.float64), grades(values))
