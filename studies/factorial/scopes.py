"""The tested contrasts in every scope, with one correction for the whole page.

A scope is what a statement is about: one collection, the mean over the collections of the study, or other collections
like these. With a single collection, this collection is the only scope. In each scope, the p values of all contrasts
are corrected by Holm 1979, and then multiplied by the number of scopes (Bonferroni). The probability that the page
makes any false claim is therefore at most 5%.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradrank.comparison.significance.power import detectable_difference
from gradrank.comparison.statistics import LEVEL, holm
from studies.factorial.contrasts import Contrast, contrasts, deviations, matrix
from studies.factorial.effects import DRAWS, Cells, Terms, draw, estimate, intervals
from studies.factorial.pooling import mean_of, random_effects

MEAN, BEYOND = "mean", "beyond"  # the scopes of several collections
NO_EVIDENCE = "no evidence"

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Analysis:
    """The results of the analysis.

    scopes: for each scope, one row per tested contrast. effects: for each collection, one row per scorer and loss with
    its deviation from the mean of all cells. cells: for each collection, one row per cell with its mean. shares: for
    each collection, one row per question with the standard deviation of the effects.
    """

    scopes: dict[str, Rows]
    effects: dict[str, Rows]
    cells: dict[str, Rows]
    shares: dict[str, Rows]


def analyse(collections: Mapping[str, Cells], scorers: list[str], losses: list[str], draws: int = DRAWS) -> Analysis:
    """Return the analysis of the cells of each collection. draws: number of draws of the bootstrap."""
    tested, described = contrasts(scorers, losses), deviations(scorers, losses)
    combinations = [Contrast("cell", scorer, loss, np.empty(0)) for scorer in scorers for loss in losses]
    weights = np.vstack([matrix(tested), matrix(described), np.eye(len(combinations))])
    terms = {name: estimate(cells, weights) for name, cells in collections.items()}
    drawn = {name: draw(cells, weights, seed, draws) for seed, (name, cells) in enumerate(collections.items())}
    count, ends = len(tested), {name: intervals(own) for name, own in drawn.items()}
    parts = {"effects": slice(count, count + len(described)), "cells": slice(count + len(described), None)}
    described_rows = {
        part: {
            name: _described([*tested, *described, *combinations][place], own, ends[name], place)
            for name, own in terms.items()
        }
        for part, place in parts.items()
    }
    scopes = {name: _scope(tested, _first(own, count), ends[name][:, :count]) for name, own in terms.items()}
    if len(collections) > 1:
        own = [_first(each, count) for each in terms.values()]
        average = np.mean([each[:, :count] for each in drawn.values()], axis=0)
        scopes[MEAN] = _scope(tested, mean_of(own), intervals(average))
        scopes[BEYOND] = _beyond(tested, own)
    for rows in scopes.values():
        _decide(rows, len(scopes))
    shares = {name: _shares(described_rows["effects"][name], scopes[name], own, count) for name, own in terms.items()}
    return Analysis(scopes, described_rows["effects"], described_rows["cells"], shares)


def _first(terms: Terms, count: int) -> Terms:
    return Terms(terms.estimates[:count], terms.variances[:count], terms.freedoms)


def _described(found: list[Contrast], terms: Terms, ends: np.ndarray, place: slice) -> Rows:
    """Return one row per effect or cell, without a test."""
    columns = terms.estimates[place], ends[0, place], ends[1, place]
    return [
        {"question": contrast.question, "first": contrast.first, "second": contrast.second}
        | {"value": float(value), "low": float(low), "high": float(high)}
        for contrast, value, low, high in zip(found, *columns, strict=True)
    ]


def _scope(tested: list[Contrast], terms: Terms, ends: np.ndarray) -> Rows:
    columns = terms.estimates, ends[0], ends[1], terms.errors, terms.freedom, terms.p
    return [
        {"question": contrast.question, "first": contrast.first, "second": contrast.second}
        | {"difference": float(value), "low": float(low), "high": float(high)}
        | {"error": float(error), "freedom": float(freedom), "p": float(p)}
        for contrast, value, low, high, error, freedom, p in zip(tested, *columns, strict=True)
    ]


def _beyond(tested: list[Contrast], collections: list[Terms]) -> Rows:
    """Return one row per contrast with the random-effects mean."""
    found = random_effects(collections)
    names = ("difference", "error", "p", "tau", "low", "high", "new_low", "new_high")
    freedom = float(len(collections) - 1)
    return [
        {"question": contrast.question, "first": contrast.first, "second": contrast.second, "freedom": freedom}
        | {name: float(value) for name, value in zip(names, values, strict=True)}
        for contrast, *values in zip(tested, *found, strict=True)
    ]


def _decide(rows: Rows, scopes: int) -> None:
    """Add the corrected p value, the verdict and the detectable difference to every row of a scope."""
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["corrected"] = min(1.0, float(p) * scopes)
        direction = "better" if row["difference"] > 0 else "worse"
        row["verdict"] = direction if row["corrected"] < LEVEL else NO_EVIDENCE
        row["detectable"] = detectable_difference(row["error"], row["freedom"] + 1, len(rows) * scopes)


def _shares(effects: Rows, tested: Rows, terms: Terms, count: int) -> Rows:
    """Return the standard deviation of the effects of scorers, of losses and of interactions, without that of noise.

    The sum of the squares of the estimated effects exceeds that of the true effects by the sum of their variances,
    which is subtracted. The result is divided by the number of effects that are free: R - 1, C - 1, (R - 1)(C - 1).
    """
    interactions = [place for place, row in enumerate(tested) if row["question"] == "interaction"]
    places = {"interaction": interactions}
    for question in ("scorer", "loss"):
        places[question] = [count + place for place, row in enumerate(effects) if row["question"] == question]
    free = {name: len(places[name]) - 1 for name in ("scorer", "loss")}
    free["interaction"] = free["scorer"] * free["loss"]
    variances = terms.errors**2
    rows = []
    for question in ("scorer", "loss", "interaction"):
        own, values = places[question], terms.estimates[places[question]]
        true = max(0.0, float(np.sum(values**2) - np.sum(variances[own]))) / free[question]
        spread = float(np.ptp(values))
        rows.append({"question": question, "deviation": float(np.sqrt(true)), "range": spread})
    return rows
