"""The page of the study: the recipes, their differences, their values per fold, and the members."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.numbers import number
from gradrank.bench.report.tables.numbers import P
from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.study import Inputs, PageSection
from gradrank.measures.metrics import metric_label
from studies.best_ranking.fusions import BEST, METRICS, RECIPES, TRAINED_ON, UNIT, WEIGHTS, Rankings, rank
from studies.contest.comparisons import Estimates

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
