"""The page of the learning curves: the means by number of training queries, and the family that wins at each number.

The repetitions of a method are its draws of training queries, each with a seed of its own. The difference of two
methods is computed draw by draw, because both were trained on the same queries. Its variance is the sum of that of the
test queries and that of the draws. The p values of all pairs at all sizes of a collection are corrected by Holm.
"""

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from gradrank.base.text_tables import number
from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, P, Table
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from gradrank.comparison.significance import decide
from gradrank.comparison.statistics import effect_size, holm
from gradrank.comparison.variance import Runs, freedom, half_width, standard_error
from gradrank.measures.metrics import metric_label
from studies.contest.comparisons import Estimate
from studies.learning_curves.experiments import METRIC, UNIT

Curves = dict[int, dict[str, Runs]]  # runs by number of training queries and method


def curves_of(jobs: Iterable[Mapping[str, Any]], dataset: str) -> Curves:
    """Return the runs of all methods on one data set, by number of training queries, ascending.

    All training queries of a fold count with their mean number over folds.
    """
    found: Curves = {}
    for job in jobs:
        if job["dataset"] == dataset and job["folds"]:
            size = job["queries"] or round(float(np.mean(job["training_queries"])))
            found.setdefault(size, {})[job["method"]] = runs_of(job["folds"])
    return dict(sorted(found.items()))


def runs_of(folds: list[Mapping[str, Any]]) -> Runs:
    """Return the (draws, 1, q) values of a job. Queries without a value are left out."""
    values = np.concatenate([np.array(fold["values"], np.float64) for fold in folds], axis=1) / UNIT
    numbers = np.repeat(np.arange(1, len(folds) + 1), [len(fold["qids"]) for fold in folds])
    valued = ~np.isnan(values).any(axis=0)
    return Runs(values[:, None, valued], numbers[valued])


def difference(a: Runs, b: Runs) -> Estimate:
    """Return the estimated difference a - b. A method that was trained once has the same value in every draw."""
    draws = max(a.tuners, b.tuners)
    first, second = (np.broadcast_to(runs.values, (draws, *runs.values.shape[1:])) for runs in (a, b))
    gap = Runs(first - second, a.folds)
    terms = gap.variances.of_mean
    effect = effect_size(a.per_query, b.per_query)
    return Estimate(gap.mean, standard_error(terms), freedom(terms), half_width(terms), effect)


def comparisons(curves: Curves) -> list[dict[str, Any]]:
    """Return one row per size and pair of methods. `first` is the method with the higher mean."""
    rows = []
    for size, runs in curves.items():
        for pair in combinations(runs, 2):
            first, second = sorted(pair, key=lambda name: -runs[name].mean)
            found = difference(runs[first], runs[second])
            low, high = found.difference - found.half_width, found.difference + found.half_width
            row: dict[str, Any] = {"size": size, "first": first, "second": second, "difference": found.difference}
            rows.append(row | {"low": low, "high": high, "p": found.p})
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["corrected"] = float(p)
        row["verdict"] = decide(row["corrected"], row["low"], row["high"])
    return rows


def winners(
    curves: Curves, families: Mapping[str, Iterable[str]], compared: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return one row per size and family: its best method, the mean, and how many other methods it is better than.

    wins: `yes` for the family with the highest mean. apart: `yes` if its best method is better than the best method of
    every other family, after the correction of `comparisons`.
    """
    rows = []
    better = {(row["size"], row["first"], row["second"]) for row in compared if row["verdict"] == "better"}
    for size, runs in curves.items():
        best = {
            family: max((name for name in names if name in runs), key=lambda name: runs[name].mean)
            for family, names in families.items()
        }
        winner = max(best, key=lambda family: runs[best[family]].mean)
        for family, name in best.items():
            others = [other for other in best.values() if other != name]
            is_apart = all((size, name, other) in better for other in others)
            row = {"size": size, "family": family, "method": name, "mean": runs[name].mean}
            row |= {"beaten": sum((size, name, other) in better for other in runs)}
            row |= {"wins": "yes" if family == winner else "", "apart": "yes" if is_apart else ""}
            rows.append(row)
    return rows


MEASURE = metric_label(METRIC)
SIZE = Column("size", "training queries", "d")


def build(inputs: Inputs) -> list[PageSection]:
    """Return one section per data set."""
    jobs, families = inputs.jobs(), inputs.settings["families"]
    return [_section(dataset, curves_of(jobs, dataset), families) for dataset in inputs.datasets]


def _section(dataset: str, curves: Curves, families: Mapping[str, Iterable[str]]) -> PageSection:
    family_of = {name: family for family, names in families.items() for name in names}
    rows = [
        {
            "size": size,
            "family": family_of[name],
            "method": name,
            "draws": runs.tuners,
            "mean": runs.mean,
            "half": runs.half_width,
        }
        for size, by_method in curves.items()
        for name, runs in by_method.items()
    ]
    columns = [SIZE, Column("family"), Column("method"), Column("draws", form="d"), Column("mean", MEASURE, ".4f")]
    columns += [Column("half", "half 95% interval", ".4f")]
    note = "The interval covers test queries, and draws of training queries with their seeds."
    table = Table(f"curves_{dataset}", f"{MEASURE} by number of training queries", columns, rows, note)
    compared = comparisons(curves)
    won = winners(curves, families, compared)
    content = [_figure(dataset, curves, table), table, _winners(dataset, won), _comparisons(dataset, compared)]
    return PageSection(f"curves_{dataset}_section", dataset, in_words(won), content)


def _figure(dataset: str, curves: Curves, table: Table) -> Figure:
    names = list(dict.fromkeys(name for by_method in curves.values() for name in by_method))
    series = []
    for name in names:
        sizes = [size for size, by_method in curves.items() if name in by_method]
        own = [curves[size][name] for size in sizes]
        series.append(Series(name, sizes, [runs.mean for runs in own], [runs.half_width for runs in own], points=True))
    alt = f"{dataset}: {MEASURE} by number of training queries. " + "; ".join(
        f"{line.name} {number(line.y[0])} to {number(line.y[-1])}" for line in series
    )
    drawing = line_chart(series, "training queries", MEASURE, alt, log_x=True)
    return Figure(f"curves_{dataset}_figure", table.title, drawing, alt, table)


def _winners(dataset: str, rows: list[dict[str, Any]]) -> Table:
    columns = [SIZE, Column("family"), Column("method", "its best method"), Column("mean", MEASURE, ".4f")]
    columns += [Column("beaten", "better than", "d"), Column("wins", "highest mean"), Column("apart", "shown")]
    note = (
        "Better than: number of other methods that the method is shown to be better than. Shown: the method is better "
        "than the best method of every other family, after the correction."
    )
    return Table(f"families_{dataset}", "Families by number of training queries", columns, rows, note)


def _comparisons(dataset: str, rows: list[dict[str, Any]]) -> Table:
    columns = [SIZE, Column("first"), Column("second"), Column("difference", form="+.4f")]
    columns += [Column("low", "95% interval from", "+.4f"), Column("high", "to", "+.4f"), Column("p", form=P)]
    columns += [Column("corrected", "p (Holm)", P), Column("verdict")]
    note = "Differences draw by draw. Corrected by Holm for all rows of the table."
    return Table(f"pairs_{dataset}", "Every two methods with equal training queries", columns, rows, note)


def in_words(won: list[dict[str, Any]]) -> list[str]:
    """Return the answer to the question from how many queries on which family wins, and what may be claimed."""
    leaders = [row for row in won if row["wins"]]
    parts = [
        f"with {row['size']} training queries {row['family']} (`{row['method']}`, {number(row['mean'])})"
        for row in leaders
    ]
    shown = [f"{row['family']} with {row['size']} training queries" for row in won if row["apart"]]
    claim = (
        f"Shown to be better than the best method of every other family: {'; '.join(shown)}."
        if shown
        else "No family is shown to be better than the best method of every other family."
    )
    return [
        f"The family with the highest mean: {'; '.join(parts)}. The best method of a family is picked by its value, so "
        "families with more methods have an advantage.",
        claim,
    ]
