"""The page of the study: the fusions of the members, their differences, their values per fold, and the members.

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
from gradrank.base.errors import GradrankError
from gradrank.base.text_tables import number
from gradrank.bench.report.tables.table import Column, P, Table
from gradrank.bench.studies.study import Inputs, PageSection
from gradrank.comparison.variance import Runs
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import resolve
from gradrank.measures.judgements import read_judgements
from gradrank.measures.metrics import compute, metric_label
from gradrank.models.fusion import Fusion
from gradrank.training.best_of import History
from gradrank.training.registry import get_model
from gradrank.training.trained_fold import member_features
from studies.contest.comparisons import Estimates

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


MEASURE = metric_label(METRICS[0])
MEANS = [Column(metric, metric_label(metric), ".4f") for metric in METRICS]
VALUES = "the values per query, in ten-thousandths, are in numbers.json"


def build(inputs: Inputs) -> list[PageSection]:
    """Return one section per data set. Raises GradrankError if a member has no results."""
    return [_section(dataset, inputs) for dataset in inputs.datasets]


def _section(dataset: str, inputs: Inputs) -> PageSection:
    by_name = {job["method"]: job for job in inputs.jobs() if job["dataset"] == dataset}
    if missing := [name for name in inputs.models if name not in by_name]:
        raise GradrankError(f"{inputs.folder}: no results of {', '.join(missing)}. Fix: run `snakemake best_ranking`")
    jobs = [by_name[name] for name in inputs.models]
    found = rank(jobs, inputs.data / dataset)
    best = {metric: found.recipes[BEST.name, metric].mean for metric in METRICS}
    paragraphs = [
        f"The recipe is a fusion with {BEST.name}: {len(jobs)} members, whose weights are learned on the validation "
        "part, and whose models were then trained again on the training and validation parts. Its "
        + ", ".join(f"{metric_label(metric)} is {number(value)}" for metric, value in best.items())
        + ". The other recipes show what each part of it contributes."
    ]
    content = [_recipes(dataset, found), _comparisons(dataset, found), _folds(dataset, found)]
    return PageSection(f"best_{dataset}", dataset, paragraphs, [*content, _members(dataset, found, jobs)])


def _recipes(dataset: str, found: Rankings) -> Table:
    rows = [
        {"recipe": recipe.name, "vali": found.vali[recipe.model] if recipe.scores == "test" else None}
        | {metric: found.recipes[recipe.name, metric].mean for metric in METRICS}
        for recipe in RECIPES
    ]
    columns = [Column("recipe"), Column("vali", f"{MEASURE}, validation", ".4f"), *MEANS]
    note = (
        "A recipe: the weights of the members, and the labelled parts on which the members were trained. The value on "
        "the validation part is cross-validated for learned weights. Members that were trained on both parts have none."
    )
    return Table(f"recipes_{dataset}", "Recipes", columns, rows, note)


def _comparisons(dataset: str, found: Rankings) -> Table:
    """Return the differences of the other recipes and of the best member from the best recipe."""
    members = {name: runs for (name, _), runs in found.members[BEST.scores].items()}
    top = max(members, key=lambda name: members[name].mean)
    compared = {recipe.name: found.recipes[recipe.name, METRICS[0]] for recipe in RECIPES}
    rows = Estimates(compared | {f"{top}, both parts": members[top]}).against(BEST.name)
    columns = [Column("method", "other"), Column("difference", form="+.4f"), Column("low", "95% interval from", "+.4f")]
    columns += [Column("high", "to", "+.4f"), Column("p", form=P), Column("corrected", "p (Holm)", P)]
    note = (
        f"Another recipe, or the member with the highest {MEASURE}, minus the recipe of the study. This member is "
        "picked by its test values, which favours it. The interval covers test queries only."
    )
    return Table(f"differences_{dataset}", f"Differences in {MEASURE}", [*columns, Column("verdict")], rows, note)


def _folds(dataset: str, found: Rankings) -> Table:
    rows = []
    for recipe in RECIPES:
        for fold in np.unique(found.folds):
            row: dict[str, Any] = {"recipe": recipe.name, "fold": int(fold)}
            for metric in METRICS:
                values = found.recipes[recipe.name, metric].values[0, 0, found.folds == fold]
                row |= {metric: float(values.mean()), f"{metric} per query": _text(values)}
            rows.append(row)
    columns = [Column("recipe"), Column("fold", form="d"), *MEANS]
    return Table(f"folds_{dataset}", "Values per fold", columns, _frame(rows), f"Means over queries; {VALUES}.")


def _members(dataset: str, found: Rankings, jobs: Sequence[Mapping[str, Any]]) -> Table:
    rows = []
    for job, weight in zip(jobs, found.weights, strict=True):
        row = {"member": job["method"], "tuners": job["tuners"], "trainings": job["trainings"], "weight": float(weight)}
        for scores in TRAINED_ON:
            runs = found.members[scores][job["method"], METRICS[0]]
            row |= {scores: runs.mean, f"{scores} per query": _text(runs.values[0, 0])}
        rows.append(row)
    columns = [Column("member"), Column("tuners", form="d"), Column("trainings", form="d")]
    columns += [Column(scores, f"{MEASURE}, {trained}", ".4f") for scores, trained in TRAINED_ON.items()]
    note = (
        "Tuners: number of tuners of the contest whose choices were used; 0 if the member has the parameters of "
        "params.yaml. Trainings: number of trainings per fold, whose z-scores are averaged. Weight: mean of the "
        f"{WEIGHTS[BEST.model]} weights over folds; {VALUES}."
    )
    return Table(f"members_{dataset}", "Members", [*columns, Column("weight", form="+.2f")], _frame(rows), note)


def _text(values: np.ndarray) -> str:
    return " ".join(map(str, np.round(values * UNIT).astype(int)))


def _frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return a frame of the rows. Its additional columns, with the values per query, are only in numbers.json."""
    import polars as pl

    return pl.DataFrame(rows)
