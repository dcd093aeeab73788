"""Additive rankers f(x) = sum_t w_t h_t(x), such as RankBoost, AdaRank and coordinate ascent.

Each h_t depends on one feature: it is its value or a stump 1[x_f > threshold]. The models differ in the choice of the
terms and share their scoring, their files and the selection of the number of rounds.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from gradrank.base.files import read_json, write_json
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, Model, P


class Term(NamedTuple):
    """The function weight * x_f, or weight * 1[x_f > threshold] if there is a threshold. feature: f, from 0."""

    feature: int
    weight: float
    threshold: float | None = None

    def __call__(self, columns: np.ndarray) -> np.ndarray:
        """Return the (n,) float64 values of the term for (d, n) float32 columns of features."""
        column = columns[self.feature]
        value = column if self.threshold is None else column > self.threshold
        return self.weight * value.astype(np.float64)


class TermRanker(Model[P]):
    """The base class of models that are sums of terms, added in the order in which they were learned."""

    def __init__(self, terms: list[Term]) -> None:
        self.terms = terms

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        columns = np.ascontiguousarray(features.T)
        scores = np.zeros(len(features))
        for term in self.terms:
            scores += term(columns)
        return scores

    def save(self, folder: Path) -> None:
        write_json(folder / "terms.json", [term._asdict() for term in self.terms])

    @classmethod
    def load(cls, folder: Path) -> Self:
        return cls([Term(**term) for term in read_json(folder / "terms.json")])


def best_rounds(
    rounds: Iterable[tuple[Term, float]], vali: Collection, select_by: str, callback: Callback
) -> list[Term]:
    """Return the terms up to the first round with the highest `select_by` on `vali`.

    rounds: one (term, training loss) per round. `callback` receives the loss and the validation measures of each round.
    """
    columns = np.ascontiguousarray(vali.features.T)
    terms: list[Term] = []

    def candidates() -> Iterator[Candidate]:
        scores = np.zeros(vali.rows)
        for term, loss in rounds:
            terms.append(term)
            scores += term(columns)
            yield Candidate(len(terms), loss, scores)

    best = best_of(candidates(), vali, select_by, callback)
    return terms[: best.kept or 0]
