"""Weights of models whose scores are added: a linear ranker learned on documents that no model was trained on.

Stacking (Wolpert 1992). In one fold that is the validation part: of the training part models know the grades, and
scores of it would favour whoever remembers them best.
"""

from collections.abc import Sequence

import numpy as np

from gradrank.data.collection import Collection
from gradrank.training.losses.softmax import softmax
from gradrank.training.model import Callback
from gradrank.training.selection import measure
from gradrank.training.solvers.linear import l2_path
from gradrank.training.solvers.matrix_vector import times


def learned_weights(held_out: Collection, grid: Sequence[float], parts: int, callback: Callback) -> np.ndarray:
    """(m,) weights that minimise the softmax cross-entropy of the (n, m) features, with the best l2 of `grid`.

    held_out: two or more queries that the models were not trained on, each with documents of two grades. The l2 is that
    of the least cross-entropy where the queries are divided into `parts`, each scored by what the others gave: of a
    ranking measure's few hundred values the best would be the luckiest. A step of the callback is one l2, strongest
    first, with the measures of those scores.
    """
    strengths = sorted(grid, reverse=True)
    scores = scored_by_others(held_out, strengths, min(parts, held_out.queries))
    costs = [softmax(each, held_out.labels, held_out.offsets)[0] for each in scores]
    for step, told in enumerate(zip(strengths, costs, scores, strict=True), start=1):
        _report(callback, step, held_out, *told)
    return _path(held_out, strengths[: np.argmin(costs) + 1])[-1]


def scored_by_others(held_out: Collection, strengths: Sequence[float], parts: int) -> np.ndarray:
    """(l, n) scores at each l2, those of a query by weights from the parts that it is not in."""
    scores = np.empty((len(strengths), held_out.rows))
    for part in range(parts):
        inside = np.arange(held_out.queries) % parts == part
        rows = inside[held_out.query_of_row]
        features = held_out.features[rows]
        weights = _path(held_out.select_queries(~inside), strengths)
        scores[:, rows] = [times(features, each) for each in weights]
    return scores


def _path(learned_on: Collection, strengths: Sequence[float]) -> list[np.ndarray]:
    """The (m,) weights at each l2."""
    found = l2_path(learned_on.features, learned_on.labels, learned_on.offsets, softmax, strengths)
    return [weights for weights, _ in found]


def _report(callback: Callback, step: int, held_out: Collection, l2: float, cost: float, scores: np.ndarray) -> None:
    told = {name: measure(name, scores, held_out.labels, held_out.offsets) for name in ("map", "ndcg@10")}
    callback(step, l2=l2, vali_loss=cost, **{f"vali_{name}": value for name, value in told.items()})
