"""Scores of two documents of a query whose features are partly replaced by those of a background document."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gradrank.training.members import member_features
from gradrank.training.trained_fold import TrainedFold

BATCH_VALUES = 1 << 20  # feature values that are scored at once, unless one query has more: 4 MiB
# (m, d) booleans and (m,) rows -> (m, n) scores of the n documents of the query, for m replacements.
Scorer = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Pair:
    """Two documents of a query, and the background documents.

    fold: the trained model. features: (n, d) float32 features of the documents of the query, before normalisation.
    first, second: row numbers of the two documents.
    """

    fold: TrainedFold
    features: np.ndarray
    first: int
    second: int

    @property
    def rows(self) -> np.ndarray:
        """The (2,) row numbers of the two documents."""
        return np.array([self.first, self.second])

    @property
    def background(self) -> np.ndarray:
        """The row numbers of the other documents of the query, or of the two documents if there are no others."""
        others = np.setdiff1d(np.arange(len(self.features)), self.rows)
        return others if len(others) else self.rows

    @property
    def varying(self) -> np.ndarray:
        """The column numbers of the features that are not equal in all documents of the query."""
        first = self.features[0]
        is_equal = (self.features == first) | (np.isnan(self.features) & np.isnan(first))
        return np.flatnonzero(~is_equal.all(axis=0))

    def scorer(self) -> Scorer:
        """Return a function that scores the query after replacements.

        The function takes (m, d) booleans and (m,) row numbers of background documents. In replacement i, the two
        documents keep the features whose boolean is True, and have the other features of background document i. All
        other documents are unchanged, and so is the normalisation of the query.
        """
        scorer = _scorer(self.fold, self)
        step = max(1, BATCH_VALUES // (self.scored_rows() * self.features.shape[1]))

        def in_batches(kept: np.ndarray, others: np.ndarray) -> np.ndarray:
            starts = range(0, len(kept), step)
            return np.concatenate([scorer(kept[i : i + step], others[i : i + step]) for i in starts])

        return in_batches

    def scored_rows(self) -> int:
        """Return the number of documents that the models score per replacement."""
        return _scored_rows(self.fold, len(self.features))


def normalised(fold: TrainedFold, features: np.ndarray) -> np.ndarray:
    """Return the (n, d) features of the documents of a query in the form in which the model of the fold takes them."""
    normaliser = fold.schema.normaliser
    return features if normaliser is None else normaliser(features, np.array([0, len(features)]))


def _scorer(fold: TrainedFold, pair: Pair) -> Scorer:
    """Return the function that `Pair.scorer` describes, for the fold of the pair or one of its members."""
    count = len(pair.features)
    if fold.members:
        members = [_scorer(member, pair) for member in fold.members]

        def of_members(kept: np.ndarray, others: np.ndarray) -> np.ndarray:
            columns = member_features([scores(kept, others).ravel() for scores in members])
            return fold.model.score(columns, _offsets(len(kept), count)).reshape(len(kept), count)

        return of_members

    documents = normalised(fold, pair.features)
    unchanged = fold.model.score(documents, np.array([0, count]))

    def of_model(kept: np.ndarray, others: np.ndarray) -> np.ndarray:
        exchanged = np.where(kept[:, None], documents[pair.rows], documents[others][:, None])
        if fold.model.scores_whole_queries:
            queries = np.tile(documents, (len(kept), 1, 1))
            queries[:, pair.rows] = exchanged
            flat = queries.reshape(-1, documents.shape[1])
            return fold.model.score(flat, _offsets(len(kept), count)).reshape(len(kept), count)
        scores = np.tile(unchanged, (len(kept), 1))
        flat = exchanged.reshape(-1, documents.shape[1])
        scores[:, pair.rows] = fold.model.score(flat, _offsets(len(kept), 2)).reshape(len(kept), 2)
        return scores

    return of_model


def _scored_rows(fold: TrainedFold, count: int) -> int:
    if fold.members:
        return sum(_scored_rows(member, count) for member in fold.members)
    return count if fold.model.scores_whole_queries else 2


def _offsets(queries: int, size: int) -> np.ndarray:
    """Return the offsets of queries with `size` documents each."""
    return np.arange(queries + 1) * size
