"""The widest difference of each published row, and what the page shows about its cause."""

from collections.abc import Mapping

from gradrank.base.numbers import number
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.literature.published import lookup
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.comparison import verdict_columns
from gradrank.bench.studies.study import PageSection
from gradrank.measures.metrics import metric_label
from studies.arsm.experiments import METRICS
from studies.arsm.tables import LABELS, MODIFIED, PAPER, Measured, compare_with_published

SHOWN = 3  # number of rows in the text
EXPERIMENTS = {  # what the page measures about a row, by data set and model
    ("ohsumed", "ranksvm"): "*RankSVM on OHSUMED: C, and a stop before the optimum*",
    ("mq2007", "arsm_paper"): "*The modified training, the paper's update and the paper's recipe*",
    ("ohsumed", "arsm_paper"): "*The modified training, the paper's update and the paper's recipe*",
}


def unexplained(measured: Measured) -> PageSection:
    """Return the section on differences from the paper's rows. measured: the values of the paper's methods."""
    rows = sorted(
        (
            max(_rows(dataset, model, models), key=_relative)
            for dataset, models in measured.items()
            for model in models
            if model != MODIFIED
        ),
        key=_relative,
        reverse=True,
    )
    widest = "; ".join(
        f"{row['method']} on {row['dataset']}, {row['metric']} ({number(row['difference'], '+.4f')})"
        for row in rows[:SHOWN]
    )
    return PageSection(
        "unexplained",
        "Differences without an explanation",
        [
            "Our values differ from the paper's, and the table has the metric of each row with the widest difference, "
            f"as a share of half its 95% interval. The widest: {widest}.",
            "Where a section of this page has an experiment about a row, the table names it. None of these experiments "
            "shows what was done in the paper. All differences of the table are unexplained. The modified training is "
            "not the paper's, so it is left out.",
        ],
        [
            Table(
                "unexplained",
                "The widest difference of each row",
                [
                    Column("dataset", "data set"),
                    Column("method", "method"),
                    Column("metric"),
                    *verdict_columns(),
                    Column("experiment", "experiment"),
                    Column("cause"),
                ],
                rows,
            )
        ],
    )


def _rows(dataset: str, model: str, models: Mapping[str, QueryValues]) -> list[Row]:
    """Return the comparison with the paper's number for each metric that it prints for a method."""
    return [
        {
            "dataset": dataset,
            "method": LABELS.get(model, published.method),
            "metric": metric_label(metric),
            "experiment": EXPERIMENTS.get((dataset, model), ""),
            "cause": "unexplained",
        }
        | compare_with_published(published, model, models, metric)
        for metric in METRICS
        for published in lookup(dataset, model, metric)
        if published.source.startswith(PAPER)
    ]


def _relative(row: Row) -> float:
    """Return the absolute difference, divided by half the width of its 95% interval."""
    return abs(row["difference"]) / row["half_width"]
