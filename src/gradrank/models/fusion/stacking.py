"""Stacking (Wolpert 1992): the weights of a sum of scores are learned on documents that no member was trained on.

Within one fold, these are the documents of the validation part. The members were trained on the grades of the training
part, so weights learned on that part would favour the members that overfit most.
"""

from collections.abc import Sequence

import numpy as np

from gradrank.data.collection import Collection
from gradrank.training.losses.softmax import softmax
from gradrank.training.model import Callback
from gradrank.training.selection import measure
from gradrank.training.solvers.linear import l2_path
from gradrank.training.solvers.matrix_vector import times
from gradrank.training.training_queries import have_two_grades


def learned_weights(held_out: Collection, grid: Sequence[float], parts: int, callback: Callback) -> np.ndarray:
    """Return the (m,) weights of the features that minimise the softmax cross-entropy, with the best l2 of `grid`.

    The best l2 is the value with the smallest cross-entropy in a cross-validation over the queries. It is not selected
    by a ranking measure, because on a few hundred queries, differences in the measure are mostly due to chance. The
    callback is called once per value of l2, from the largest to the smallest, with the measures of the cross-validated
    scores over all queries.

    held_out: queries that no member was trained on, at least two of them with documents of different grades. The
    weights are learned from these, because there is nothing to order in the others. Its features are (n, m). grid: the
    values of l2. parts: number of parts of the cross-validation.
    """
    strengths, ordered = sorted(grid, reverse=True), have_two_grades(held_out)
    learned_on, scores = held_out.select_queries(ordered), np.zeros((len(grid), held_out.rows))
    found = cross_validated_scores(learned_on, strengths, min(parts, learned_on.queries))
    costs = [softmax(row, learned_on.labels, learned_on.offsets)[0] for row in found]
    scores[:, ordered[held_out.query_of_row]] = found  # no score changes the measures of the other queries
    for step, (l2, cost, row) in enumerate(zip(strengths, costs, scores, strict=True), start=1):
        _report(callback, step, held_out, l2, cost, row)
    return _path(learned_on, strengths[: np.argmin(costs) + 1])[-1]


def cross_validated_scores(held_out: Collection, strengths: Sequence[float], parts: int) -> np.ndarray:
    """Return the (l, n) cross-validated scores, one row per value of l2.

    The queries of each part are scored with the weights that were learned on the other parts.

    strengths: the values of l2 in descending order.
    """
    scores = np.empty((len(strengths), held_out.rows))
    for part in range(parts):
        inside = np.arange(held_out.queries) % parts == part
        rows = inside[held_out.query_of_row]
        features = held_out.features[rows]
        weights = _path(held_out.select_queries(~inside), strengths)
        scores[:, rows] = [times(features, solution) for solution in weights]
    return scores


def _path(learned_on: Collection, strengths: Sequence[float]) -> list[np.ndarray]:
    """Return the (m,) weights for each value of l2."""
    path = l2_path(learned_on.features, learned_on.labels, learned_on.offsets, softmax, strengths)
    return [weights for weights, _ in path]


def _report(callback: Callback, step: int, held_out: Collection, l2: float, cost: float, scores: np.ndarray) -> None:
    part = held_out.labels, held_out.offsets, held_out.convention
    values = {name: measure(name, scores, *part) for name in ("map", "ndcg@10")}
    callback(step, l2=l2, vali_loss=cost, **{f"vali_{name}": value for name, value in values.items()})
