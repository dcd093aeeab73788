"""The contrasts of a factorial study: weighted sums of the means of its cells.

A cell is one combination of a scorer and a loss. The mean of a cell is y_ij for scorer i and loss j. Three questions
are asked, each with its contrasts:

- scorer: y_a. - y_b. for every two scorers, where y_i. is the mean over losses;
- loss: y_.a - y_.b for every two losses, where y_.j is the mean over scorers;
- interaction: y_ij - y_i. - y_.j + y_.. for every cell. It is 0 if the effects of scorer and loss add up.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

QUESTIONS = ("scorer", "loss", "interaction")


class Contrast(NamedTuple):
    """A contrast. first, second: the two compared scorers or losses, or the scorer and the loss of an interaction.

    weights: (scorers, losses) weights of the cells, which sum to 0.
    """

    question: str
    first: str
    second: str
    weights: np.ndarray


def contrasts(scorers: Sequence[str], losses: Sequence[str]) -> list[Contrast]:
    """Return all contrasts of the three questions."""
    rows, columns = np.eye(len(scorers)), np.eye(len(losses))
    over_losses, over_scorers = np.full(len(losses), 1 / len(losses)), np.full(len(scorers), 1 / len(scorers))
    found = [
        Contrast("scorer", scorers[a], scorers[b], np.outer(rows[a] - rows[b], over_losses))
        for a, b in combinations(range(len(scorers)), 2)
    ]
    found += [
        Contrast("loss", losses[a], losses[b], np.outer(over_scorers, columns[a] - columns[b]))
        for a, b in combinations(range(len(losses)), 2)
    ]
    return found + [
        Contrast("interaction", scorer, loss, np.outer(rows[i] - over_scorers, columns[j] - over_losses))
        for i, scorer in enumerate(scorers)
        for j, loss in enumerate(losses)
    ]


def deviations(scorers: Sequence[str], losses: Sequence[str]) -> list[Contrast]:
    """Return the effect of each scorer, y_i. - y_.., and of each loss, y_.j - y_.. (question: `scorer` or `loss`)."""
    rows, columns = np.eye(len(scorers)), np.eye(len(losses))
    over_losses, over_scorers = np.full(len(losses), 1 / len(losses)), np.full(len(scorers), 1 / len(scorers))
    return [
        Contrast("scorer", scorer, "", np.outer(rows[i] - over_scorers, over_losses))
        for i, scorer in enumerate(scorers)
    ] + [Contrast("loss", loss, "", np.outer(over_scorers, columns[j] - over_losses)) for j, loss in enumerate(losses)]


def matrix(found: Sequence[Contrast]) -> np.ndarray:
    """Return the (K, cells) weights of K contrasts. The cells are in the order of scorers, then losses."""
    return np.stack([contrast.weights.ravel() for contrast in found])
