"""Explanations of the order of two documents: contributions of the features to the difference of their scores."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.base.numbers import NONE, number
from gradrank.data.order import order
from gradrank.evaluation.explanations.exact_shapley import exact_shapley
from gradrank.evaluation.explanations.exchanged_scores import Pair, normalised
from gradrank.evaluation.explanations.sampled_shapley import sampled_shapley
from gradrank.evaluation.rankings.result import Result, Section, section
from gradrank.training.scoring_form import NoScoringForm
from gradrank.training.trained_fold import TrainedFold

SHOWN = 12  # number of features that are printed
TOLERANCE = 1e-5  # largest difference between a scoring form and the scores that counts as rounding, also relative


@dataclass(frozen=True, repr=False, eq=False)
class PairExplanation(Result):
    """The contributions of the features to the difference of the scores of two documents, as `explain_pair` returns it.

    Printing a PairExplanation shows the largest contributions. In a notebook, they are shown as an HTML table.

    features: the d names of the features. values: (2, d) features of the documents, before normalisation.
    contributions: (d,) contributions, whose sum is the difference of the scores. errors: (d,) standard errors; 0 if the
    method is exact. scores: the scores of the two documents. model: name of the model. method: name of the method.
    documents: names of the two documents, such as their ids. query: name of the query; may be empty.
    """

    features: list[str]
    values: np.ndarray
    contributions: np.ndarray
    errors: np.ndarray
    scores: tuple[float, float]
    model: str
    method: str
    documents: tuple[str, str]
    query: str = ""

    @property
    def difference(self) -> float:
        """The score of the first document minus the score of the second."""
        return self.scores[0] - self.scores[1]

    def frame(self) -> pl.DataFrame:
        """Return a frame with the columns `feature`, `a`, `b`, `contribution` and `error`.

        `a` and `b` are the values of the feature in the two documents, null if missing. The rows are sorted by the
        absolute contribution, the largest first.
        """
        columns = {
            "feature": self.features,
            "a": self.values[0],
            "b": self.values[1],
            "contribution": self.contributions,
            "error": self.errors,
        }
        return (
            pl.DataFrame(columns)
            .fill_nan(None)
            .sort(pl.col("contribution").abs(), descending=True, maintain_order=True)
        )

    def sections(self) -> list[Section]:
        """Return the table of the largest contributions."""
        a, b = self.documents
        of_query = f" of query {self.query}" if self.query else ""
        caption = (
            f"{self.model}, difference of the scores of documents {a} and {b}{of_query}: {number(self.scores[0])} - "
            f"{number(self.scores[1])} = {number(self.difference, '+.4f')}. Contributions of the "
            f"features: {self.method}"
        )
        table = self.frame()
        lines = [
            [row["feature"], *(NONE if row[key] is None else f"{row[key]:.4g}" for key in "ab"), *_shown(row)]
            for row in table.head(SHOWN).to_dicts()
        ]
        rest = table.tail(-SHOWN)
        if len(rest):
            lines.append(
                [f"{len(rest)} others", "", "", number(float(rest["contribution"].to_numpy().sum()), "+.4f"), ""]
            )
        lines.append(["sum", "", "", number(float(self.contributions.sum()), "+.4f"), ""])
        return [section(caption, ["feature", a, b, "contribution", "error"], 1, lines, "explanation")]


def _shown(row: dict[str, float]) -> list[str]:
    return [number(row["contribution"], "+.4f"), number(row["error"]) if row["error"] else ""]


def explain_pair(fold: TrainedFold, features: np.ndarray, first: int, second: int, *, seed: int = 0) -> PairExplanation:
    """Return the contributions of the features to the difference of the scores of two documents of a query.

    The contributions are Shapley values, and their sum is the difference of the scores. A coalition of features has the
    value s(a) - s(b) after all other features of both documents are replaced by those of a background document, as mean
    over the background documents. The background documents are the other documents of the query, or the two documents
    themselves if there are no others. The normalisation of the query is not changed by the replacement, so a
    contribution belongs to the feature before normalisation.

    fold: the trained model. features: (n, d) features of all documents of the query, before normalisation. first,
    second: row numbers of the documents a and b, from 0. seed: seed of the sampling.

    Raises GradrankError if the features are invalid for the model, or if the rows are not two rows of the query.
    """
    features = np.ascontiguousarray(features, dtype=np.float32)
    check_pair(len(features), first, second)
    scores = fold.score(features, np.array([0, len(features)]))
    a, b = float(scores[first]), float(scores[second])
    pair = Pair(fold, features, first, second)
    contributions, errors, method = _contributions(pair, a - b, seed)
    return PairExplanation(
        fold.schema.feature_names,
        features[[first, second]],
        contributions,
        errors,
        (a, b),
        fold.model.name,
        method,
        (f"row {first}", f"row {second}"),
    )


def _contributions(pair: Pair, difference: float, seed: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the (d,) contributions, their (d,) standard errors, and the name of the method."""
    exact = _exact(pair, difference)
    if exact is not None:
        contributions, kind = exact
        return contributions, np.zeros(len(contributions)), f"exact Shapley values ({kind})"
    contributions, errors, permutations = sampled_shapley(pair, difference, seed)
    return contributions, errors, f"Shapley values, sampled with {permutations:,} permutations"


def _exact(pair: Pair, difference: float) -> tuple[np.ndarray, str] | None:
    """Return the exact contributions and the kind of the model's scoring form; None if they are unknown.

    Raises GradrankError if the form does not give the scores of the model.
    """
    fold = pair.fold
    if fold.members:  # the scoring form would be a function of the scores of the members
        return None
    try:
        form = fold.model.scoring_form(pair.features.shape[1])
    except NoScoringForm:
        return None
    documents = normalised(fold, pair.features)
    found = exact_shapley(form, documents[pair.rows], documents[pair.background])
    if found is not None and not np.isclose(found[0].sum(), difference, rtol=TOLERANCE, atol=TOLERANCE):
        raise GradrankError(
            f"{fold.model.name}: `scoring_form` gives the difference {found[0].sum():g}, but `score` gives "
            f"{difference:g}. Fix: correct scoring_form in the class {type(fold.model).__name__}"
        )
    return found


def check_pair(rows: int, first: int, second: int) -> None:
    """Raise GradrankError unless `first` and `second` are different row numbers of a query with `rows` documents."""
    for name, row in (("first", first), ("second", second)):
        if not 0 <= row < rows:
            raise GradrankError(f"{name}: row {row} is not in the query. Fix: give a number from 0 to {rows - 1}")
    if first == second:
        raise GradrankError(f"first, second: both are row {first}. Fix: give two different documents")


def best_two(fold: TrainedFold, features: np.ndarray) -> tuple[int, int]:
    """Return the row numbers of the first two documents of the ranking of a query.

    features: (n, d) features of the documents. Equal scores are ranked in the order of the rows. Raises GradrankError
    for fewer than two documents.
    """
    if len(features) < 2:
        raise GradrankError("the query has one document, so there is no pair. Fix: choose another query")
    offsets = np.array([0, len(features)])
    first, second = order(fold.score(features, offsets), offsets)[:2]
    return int(first), int(second)
