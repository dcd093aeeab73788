"""Additive rankers, f(x) = sum_t w_t h_t(x): what RankBoost, AdaRank and coordinate ascent learn.

Each h_t looks at one feature: its value, or a stump 1[x_f > threshold]. The models differ in how they choose
the terms; scoring, files and the number of rounds kept are here.
"""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gradrank.data.collection import Collection
from gradrank.files import read_json, write_json
from gradrank.learning.model import Callback, Model
from gradrank.learning.protocol import report


class Term(NamedTuple):
    """weight * x_f, or weight * 1[x_f > threshold]; `feature` counts from 0."""

    feature: int
    weight: float
    threshold: float | None = None

    def __call__(self, columns: np.ndarray) -> np.ndarray:
        """(n,) float64 share in the scores of (d, n) float32 columns."""
        column = columns[self.feature]
        value = column if self.threshold is None else column > self.threshold
        return self.weight * value.astype(np.float64)


class AdditiveRanker(Model):
    """Base of the models that are a list of terms, added in the order in which they were learnt."""

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
    def load(cls, folder: Path) -> "AdditiveRanker":
        return cls([Term(**term) for term in read_json(folder / "terms.json")])


def shuffled_within_queries(train: Collection, seed: int) -> Collection:
    """`train` with the documents of each query in random order.

    Measures break ties by file order. Where a file lists relevant documents first (OHSUMED does: a constant
    score has MAP .43), a feature of few values would look as good as that order.
    """
    rows = np.lexsort((np.random.default_rng(seed).random(train.rows), train.query_of_row))
    documents = {"features": train.features[rows], "labels": train.labels[rows]}
    return dataclasses.replace(train, **documents, stored_pairs=None)


def best_rounds(
    rounds: Iterable[tuple[Term, float]], vali: Collection, select_by: str, callback: Callback
) -> list[Term]:
    """The terms up to the round with the best `select_by` on `vali`, the earliest of equals.

    rounds: (term, training loss) a round; each is reported to `callback` with the validation measures.
    """
    columns = np.ascontiguousarray(vali.features.T)
    scores = np.zeros(vali.rows)
    terms: list[Term] = []
    best, kept = -1.0, 0
    for term, loss in rounds:
        terms.append(term)
        scores += term(columns)
        reached = report(callback, len(terms), loss, scores, vali, select_by)
        if reached > best:
            best, kept = reached, len(terms)
    return terms[:kept]
