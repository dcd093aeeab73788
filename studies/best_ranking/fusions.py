"""The fusions of the members, and their values per query.

A recipe is a fusion with learned or with equal weights, of members that were trained on the training part or on both
labelled parts. The weights are always learned on the validation part, from the members that were trained on the
training part only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradrank.base.conventions import Convention
from gradrank.comparison.variance import Runs
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import resolve
from gradrank.measures.judgements import read_judgements
from gradrank.measures.metrics import compute
from gradrank.models.fusion import Fusion
from gradrank.training.history import History
from gradrank.training.members import member_features
from gradrank.training.registry import get_model

METRICS = ("ndcg@10", "map", "mean_ndcg")
UNIT = 10_000  # values per query are rounded to 1 / UNIT, so that they are short in numbers.json
TRAINED_ON = {"test": "training part", "whole": "both parts"}  # key: the scores in the file of a job
WEIGHTS = {"fusion": "learned", "combsum": "equal"}  # key: the model that adds the scores

Values = dict[tuple[str, str], np.ndarray]  # (q,) values by name and metric


class Recipe(NamedTuple):
    """A recipe: the model that adds the members' scores, and the key of the members' scores of the test part."""

    model: str
    scores: str

    @property
    def name(self) -> str:
        return f"{WEIGHTS[self.model]} weights, {TRAINED_ON[self.scores]}"


RECIPES = [Recipe(model, scores) for model in WEIGHTS for scores in TRAINED_ON]
BEST = Recipe("fusion", "whole")  # the recipe of the study, whatever the values are


@dataclass(frozen=True)
class FoldRankings:
    """The results on one fold.

    recipes: values of the recipes. members: values of the members, by the key of TRAINED_ON. weights: (m,) learned
    weights. vali: dict from model to its NDCG@10 on the validation part; for learned weights, it is cross-validated.
    """

    recipes: Values
    members: Mapping[str, Values]
    weights: np.ndarray
    vali: Mapping[str, float]


class Rankings:
    """The results of all recipes and members on one data set. Queries without a value of NDCG@10 are left out."""

    def __init__(self, folds: Sequence[FoldRankings]) -> None:
        numbers = np.repeat(np.arange(1, len(folds) + 1), [len(own.recipes[BEST.name, METRICS[0]]) for own in folds])
        kept = ~np.isnan(np.concatenate([own.recipes[BEST.name, METRICS[0]] for own in folds]))
        self.folds = numbers[kept]
        self.recipes = self._joined([own.recipes for own in folds], kept)
        self.members = {key: self._joined([own.members[key] for own in folds], kept) for key in TRAINED_ON}
        self.weights = np.mean([own.weights for own in folds], axis=0)
        self.vali = {model: float(np.mean([own.vali[model] for own in folds])) for model in WEIGHTS}

    def _joined(self, parts: Sequence[Values], kept: np.ndarray) -> dict[tuple[str, str], Runs]:
        return {
            key: Runs(np.concatenate([part[key] for part in parts])[None, None, kept], self.folds) for key in parts[0]
        }


def rank(jobs: Sequence[Mapping[str, Any]], data: Path) -> Rankings:
    """Return the results of every recipe. jobs: the results of the jobs of all members. data: the stored collection."""
    stored, convention = StoredCollection.open(data), resolve(jobs[0]["convention"])
    return Rankings([_fold(jobs, stored, number, convention) for number in range(1, len(stored.folds) + 1)])


def _fold(
    jobs: Sequence[Mapping[str, Any]], stored: StoredCollection, number: int, convention: Convention
) -> FoldRankings:
    names, splits = [job["method"] for job in jobs], stored.fold(number)
    scores = {
        key: member_features([np.array(job["folds"][number - 1][key]) for job in jobs]) for key in ("vali", *TRAINED_ON)
    }
    test = read_judgements(stored, splits["test"])

    def values(name: str, scores: np.ndarray, metrics: Sequence[str]) -> Values:
        found = compute(metrics, scores, test.labels, test.offsets, convention, ids=test.docids)
        return {(name, metric): np.round(own * UNIT) / UNIT for metric, own in found.items()}

    held_out = replace(stored.read(splits["vali"]), features=scores["vali"], convention=convention)
    fusions, vali = {}, {}
    for model in WEIGHTS:
        cls, history = get_model(model), History(f"{stored.name}/{model}")
        fusions[model] = cls.fit(held_out, held_out, cls.Params(**{"models": names}), 0, history)
        vali[model] = _value(history)
    learned = fusions[BEST.model]
    assert isinstance(learned, Fusion)
    recipes: Values = {}
    for recipe in RECIPES:
        added = fusions[recipe.model].score(scores[recipe.scores], test.offsets)
        recipes |= values(recipe.name, added, METRICS)
    members: dict[str, Values] = {key: {} for key in TRAINED_ON}
    for key, own in members.items():
        for name, column in zip(names, scores[key].T, strict=True):
            own |= values(name, column.astype(np.float64), METRICS[:1])
    return FoldRankings(recipes, members, learned.weights, vali)


def _value(history: History) -> float:
    """Return NDCG@10 on the validation part of the step that a fusion selected."""
    best = min(history.rows, key=lambda row: row.get("vali_loss", 0.0))
    return best[f"vali_{METRICS[0]}"]
