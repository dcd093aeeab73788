"""The variance of differences between methods that is due to the training queries.

Every method is trained with one configuration on d other divisions of the queries, and its mean over all queries is
computed for each division. For two methods a and b, the variance over the divisions of the difference of these means
has two sources: the training queries and the seeds, because each division has a seed of its own. The variance that is
due to the seeds of a and b is known from the trainings of their choices with several seeds. It is subtracted:

    V_training(a - b) = max(0, V_divisions(a - b) - V_seed(a) - V_seed(b))

This term is added to the squared standard error of the difference, with d - 1 degrees of freedom. The degrees of
freedom of the sum are those of Satterthwaite (1946) over all terms. All divisions have the same queries, so their
training parts overlap and the term is a lower bound.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradrank.bench.studies.study import Inputs
from gradrank.bench.tuning.folders import Contest
from gradrank.comparison.variance import Runs, Term, freedom, half_width, standard_error
from studies.contest.comparisons import MARGINS, Estimate, Estimates, join_names
from studies.contest.results import ContestEntry, read_divisions

UNMEASURED = "†"  # marks a comparison without the variance that is due to the training queries


@dataclass(frozen=True)
class TrainingVariance:
    """The trainings of some methods on other divisions of the queries of one data set.

    means: (d,) means over all queries, one per division, by method. seeds: variance of the mean of one training that is
    due to its seed, by method.
    """

    means: Mapping[str, np.ndarray]
    seeds: Mapping[str, float]

    def of(self, method: str) -> Term | None:
        """Return the variance of one training of a method; None if the method was not trained on divisions."""
        return self._term(self.means[method], [method]) if method in self.means else None

    def of_difference(self, a: str, b: str) -> Term | None:
        """Return the variance of the difference of two methods; None if one was not trained on divisions."""
        if a not in self.means or b not in self.means:
            return None
        return self._term(self.means[a] - self.means[b], [a, b])

    def _term(self, means: np.ndarray, methods: Sequence[str]) -> Term:
        of_seeds = math.fsum(self.seeds[method] for method in methods)
        return Term(max(0.0, float(means.var(ddof=1)) - of_seeds), len(means) - 1)


def read_training_variance(inputs: Inputs, dataset: str, entries: Sequence[ContestEntry]) -> TrainingVariance:
    """Return the divisions of the methods whose trainings are finished. entries: all methods on the data set."""
    finished = {str(method) for _, method in Contest(inputs.folder).divisions.existing(dataset)}
    found = {name: read_divisions(inputs, dataset, name) for name in sorted(finished & {e.method for e in entries})}
    means = {name: values for name, values in found.items() if values is not None}
    return TrainingVariance(means, {entry.method: entry.runs().variances.seed.variance for entry in entries})


def with_term(own: Estimate, term: Term) -> Estimate:
    """Return an estimate whose variance has a further independent term.

    The degrees of freedom are those of all terms together, because Satterthwaite's sum is a sum over terms.
    """
    terms = [Term(own.error**2, own.freedom), term]
    return own._replace(error=standard_error(terms), freedom=freedom(terms), half_width=half_width(terms))


class EstimatesOverTrainings(Estimates):
    """The estimated differences of all pairs of methods, with the variance that is due to the training queries.

    The rows have two further keys: `training`, the share of the training queries in the variance of the difference, and
    `unmeasured`, a mark if this share was not measured. It is then not part of the standard error.
    """

    def __init__(self, runs: Mapping[str, Runs], training: TrainingVariance) -> None:
        super().__init__(runs)
        self.training = training
        self._pairs = {
            pair: own if (term := training.of_difference(*pair)) is None else with_term(own, term)
            for pair, own in self._pairs.items()
        }

    def against(self, baseline: str) -> list[dict[str, Any]]:
        return [row | self._cells(row["method"], baseline) for row in super().against(baseline)]

    def pairs(self) -> list[dict[str, Any]]:
        return [row | self._cells(row["first"], row["second"]) for row in super().pairs()]

    def not_worse(self) -> list[dict[str, Any]]:
        rows = super().not_worse()
        for row in rows:
            hardest = {row[f"closest_{margin}"] for margin in MARGINS} - {""}
            is_measured = all(self.training.of_difference(row["method"], other) is not None for other in hardest)
            row["unmeasured"] = None if is_measured else UNMEASURED
        return rows

    def _cells(self, a: str, b: str) -> dict[str, Any]:
        term, error = self.training.of_difference(a, b), self.of(a, b).error
        if term is None:
            return {"training": None, "unmeasured": UNMEASURED}
        return {"training": term.variance / error**2 if error else 0.0, "unmeasured": None}


def rule(training: TrainingVariance, methods: Sequence[str]) -> str:
    """Return the sentences that state how the training queries enter the tests. methods: all methods of the contest."""
    missing = [f"`{method}`" for method in sorted(methods) if method not in training.means]
    if not training.means:
        return "No test covers other training queries, because no method was trained on other divisions of the queries."
    count = len(next(iter(training.means.values())))
    text = (
        "The standard errors also cover other training queries. This variance of a difference is that of the "
        f"difference of the two means over {count} other divisions of the queries, minus the part that the contest's "
        f"seeds explain, and at least 0. It has {count - 1} degrees of freedom, and is a lower bound, because all "
        "divisions have the same queries."
    )
    if not missing:
        return text
    return (
        f"{text} {UNMEASURED}: not measured, so this comparison does not cover other training queries. These methods "
        f"were not trained on the divisions: {join_names(missing)}."
    )
