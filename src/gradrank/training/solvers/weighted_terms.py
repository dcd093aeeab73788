"""Additive rankers f(x) = sum_t w_t h_t(x), such as RankBoost, AdaRank and coordinate ascent, and their stumps.

Each h_t depends on one feature f. h_t is the value x_f of the feature, or a stump 1[x_f > threshold]. The models differ
only in how they learn the terms w_t h_t. Scoring, files, and the selection of the number of rounds are shared.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from pydantic import Field

from gradrank.base.files import write_json
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, Model, P
from gradrank.training.model_files import Content, ContentList, check_feature, read_content
from gradrank.training.scoring_form import Combined, LinearForm, ScoringForm, Tree, TreesForm

PERFECT = 1.0 - 1e-6  # upper limit of |r|, because a stump that orders all pairs correctly would get weight infinity


def stump_thresholds(column: np.ndarray, count: int) -> np.ndarray:
    """Return at most `count` values of the (n,) `column` in ascending order, without its largest value.

    If the column has more distinct values, the returned values have equal distances in rank.
    """
    ordered = np.sort(column)
    values = np.unique(ordered)
    if len(values) > count + 1:
        values = np.unique(ordered[np.arange(1, count + 1) * len(ordered) // (count + 1)])
    return values[values < ordered[-1]]


class Term(NamedTuple):
    """The function weight * x_f or, if `threshold` is not None, weight * 1[x_f > threshold]. feature: f, from 0."""

    feature: int
    weight: float
    threshold: float | None = None

    def __call__(self, columns: np.ndarray) -> np.ndarray:
        """Return the (n,) float64 values of the term. columns: (d, n) float32, one row per feature."""
        column = columns[self.feature]
        value = column if self.threshold is None else column > self.threshold
        return self.weight * value.astype(np.float64)

    def tree(self) -> Tree:
        """Return a stump as a tree with three nodes. A missing value does not exceed the threshold."""
        assert self.threshold is not None
        return Tree(
            feature=np.array([self.feature, -1, -1]),
            threshold=np.array([np.float32(self.threshold), 0.0, 0.0], np.float64),  # features are float32
            left=np.array([1, -1, -1]),
            right=np.array([2, -1, -1]),
            missing_left=np.array([True, False, False]),
            value=np.array([0.0, 0.0, self.weight]),
        )


class TermContent(Content):
    feature: int = Field(ge=0)
    weight: float
    threshold: float | None


class TermsContent(ContentList[TermContent]):
    """The content of terms.json."""


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

    def scoring_form(self, features: int) -> ScoringForm:
        weights = np.zeros(features)
        for term in self.terms:
            if term.threshold is None:
                weights[term.feature] += term.weight
        linear = LinearForm(weights)
        stumps = TreesForm(tuple(term.tree() for term in self.terms if term.threshold is not None))
        if not stumps.trees:
            return linear
        return Combined((linear, stumps), np.ones(2)) if len(stumps.trees) < len(self.terms) else stumps

    def save(self, folder: Path) -> None:
        # If no feature was useful, the file has a term without effect, because an empty file is a damaged one.
        write_json(folder / "terms.json", [term._asdict() for term in self.terms or [Term(0, 0.0)]])

    @classmethod
    def load(cls, folder: Path) -> Self:
        terms = read_content(folder / "terms.json", TermsContent).root
        return cls([Term(term.feature, term.weight, term.threshold) for term in terms])

    def check_width(self, features: int) -> None:
        for number, term in enumerate(self.terms):
            check_feature(f"terms.json, term {number}", term.feature, features)


def best_rounds(
    rounds: Iterable[tuple[Term, float]], vali: Collection, select_by: str, callback: Callback
) -> list[Term]:
    """Return the terms up to the first round with the highest `select_by` on `vali`.

    rounds: pairs of a term and the training loss, one per round. callback: called once per round with the training loss
    and the measures on validation.
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
