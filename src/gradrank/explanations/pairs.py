"""Explanations of the order of two documents: contributions of the features to the difference of their scores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.base.text_tables import number
from gradrank.comparison.rankings.result import Result, Section, section
from gradrank.data.order import order
from gradrank.explanations.shapley import Pair, exact_shapley, normalised, sampled_shapley
from gradrank.plots.charts import bar_chart
from gradrank.training.scoring_form import NoScoringForm
from gradrank.training.trained_fold import TrainedFold

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 12  # number of features that are printed
TOLERANCE = 1e-5  # largest difference between a scoring form and the scores that counts as rounding, also relative


@dataclass(frozen=True, repr=False, eq=False)
class PairExplanation(Result):
    """The contributions of the features to the difference of the scores of two documents, as `explain_pair` returns it.

    Printing a PairExplanation shows the largest contributions. In a notebook, they are shown as an HTML table.

    features: the d names of the features. values: (2, d) features of the documents, before normalisation.
    contributions: (d,) contributions, whose sum is the difference of the scores. errors: (d,) standard errors; 0 if the
    method is exact. scores: the scores of the two documents. model: name of the model. method: name of the method.
    documents: names of the two documents. naming: description of these names, such as "document ids". query: id of the
    query; may be empty.
    """

    features: list[str]
    values: np.ndarray
    contributions: np.ndarray
    errors: np.ndarray
    scores: tuple[float, float]
    model: str
    method: str
    documents: tuple[str, str]
    naming: str
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

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the largest contributions as bars, and return the matplotlib axes. The last bar sums up the others.

        ax: the axes to draw into; None for those of a new figure. Raises GradrankError if matplotlib is not installed
        (extra `plots`).
        """
        table, (a, b) = self.frame(), self.documents
        names = [
            f"{row['feature']} ({number(row['a'], '.3g')}, {number(row['b'], '.3g')})"
            for row in table.head(SHOWN).to_dicts()
        ]
        values = table["contribution"].to_numpy()
        if len(values) > SHOWN:
            names.append(f"{len(values) - SHOWN} others")
            values = np.append(values[:SHOWN], values[SHOWN:].sum())
        ax = bar_chart(names, values, f"contribution to the score of {a} minus that of {b}", "plot", ax)
        ax.set_title(f"{self.model}: feature ({a}, {b}), difference {number(self.difference, '+.4f')}")
        return ax

    def sections(self) -> list[Section]:
        """Return the table of the largest contributions."""
        (a, b), (of_a, of_b) = self.documents, self.scores
        where = f"{self.model}, query {self.query}" if self.query else self.model
        caption = (
            f"{where}: the score of {a} is {number(of_a)}, that of {b} is {number(of_b)}. Contributions of features "
            f"to the difference {number(self.difference, '+.4f')}: {self.method}"
        )
        table, has_errors = self.frame(), bool(self.errors.any())
        lines = [
            [row["feature"], number(row["a"], ".4g"), number(row["b"], ".4g"), number(row["contribution"], "+.4f")]
            + [number(row["error"])] * has_errors
            for row in table.head(SHOWN).to_dicts()
        ]
        rest = table["contribution"].to_numpy()[SHOWN:]
        if len(rest):
            lines.append([f"{len(rest)} others", "", "", number(float(rest.sum()), "+.4f")] + [""] * has_errors)
        lines.append(["sum", "", "", number(float(self.contributions.sum()), "+.4f")] + [""] * has_errors)
        head = ["feature", a, b, "contribution"] + ["standard error"] * has_errors
        tie = " Their scores are equal, so the model does not order them." if of_a == of_b else ""
        note = f"{a} and {b} are {self.naming}.{tie}"
        return [section(caption, head, 1, lines, "explanation", note)]


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
        (str(first), str(second)),
        "row numbers of the query, from 0",
    )


def explain_documents(
    fold: TrainedFold,
    features: np.ndarray,
    names: Sequence[str],
    naming: str,
    query: str,
    pair: tuple[int, int] | None = None,
    seed: int = 0,
) -> PairExplanation:
    """Return the result of `explain_pair` with the names of the documents and the query.

    names: the n names of the documents. naming, query: see PairExplanation. pair: row numbers of the two documents in
    `features`; None for the first two documents of the ranking. Raises the errors of `explain_pair` and `best_two`.
    """
    first, second = best_two(fold, features) if pair is None else pair
    found = explain_pair(fold, features, first, second, seed=seed)
    return replace(found, documents=(names[first], names[second]), naming=naming, query=query)


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
        sources = fold.schema.sources
        if not np.array_equal(sources, np.arange(pair.features.shape[1])):  # a feature became several columns
            return None
        form = fold.model.scoring_form(len(sources))
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
