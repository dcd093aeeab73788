"""The page of the learning curves: the means by number of training queries, and the family that wins at each number."""

from collections.abc import Iterable, Mapping
from typing import Any

from gradrank.base.numbers import number
from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.numbers import P
from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from gradrank.measures.metrics import metric_label
from studies.learning_curves.curves import Curves, comparisons, curves_of, winners
from studies.learning_curves.experiments import METRIC

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
