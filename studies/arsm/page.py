"""The page of the ARSM study: tables, RankSVM on OHSUMED, recipes, claims, ablations, losses, and gradient variance.

The page ends with the widest difference of each published row, and what the page shows about its cause.
"""

from collections.abc import Mapping, Sequence

from gradrank.base.text_tables import number
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.literature import lookup
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from gradrank.bench.studies.tables import VARIED, Ablation, describe_significant, means_table, verdict_columns
from gradrank.measures.metrics import metric_label
from studies.arsm.claims import claims, graded_precision
from studies.arsm.experiments import METRICS, convention_of
from studies.arsm.gradient import update_sign, variance
from studies.arsm.tables import (
    ARSM,
    LABELS,
    MODIFIED,
    PAPER,
    SEEDED,
    SEEDED_NOTE,
    Measured,
    SeededInputs,
    compare_with_published,
    corpora,
    disagreements,
    official,
    paper,
    seeded_tests,
)
from studies.arsm.trainings import pointwise, ranksvm, recipes

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


MODELS = ("ranksvm", "listnet", "adarank_map", "adarank_ndcg", ARSM, MODIFIED)  # the rows of the paper's tables


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page."""
    seeded = SeededInputs(inputs.results, inputs.data, inputs.folder, inputs.settings)
    measured = {
        dataset: {model: seeded.measure(dataset, model, METRICS, convention_of(dataset)) for model in MODELS}
        for dataset in inputs.datasets
    }
    sweeps = [job for job in seeded.jobs() if job["kind"] == "ranksvm"]
    return [
        corpora(inputs),
        paper(measured),
        official(measured),
        disagreements(measured),
        *(ranksvm(job, models["ranksvm"]) for models in _of(measured, "ohsumed") for job in sweeps),
        recipes(inputs),
        unexplained(measured),
        claims(seeded, measured),
        _ablation(
            seeded,
            "levels",
            "levels C",
            ("ndcg@10", "map"),
            "How many levels",
            "The paper's tables are of C = 20 levels. Here C varies and nothing else does. The training is the "
            "modified one, with several seeds.",
        ),
        _ablation(
            seeded,
            "combination",
            "combination of p_c",
            ("ndcg@10", "map"),
            "How levels become a score",
            "The paper scores a document by its expected level, sum c p_c. Here also by sum c^2 p_c, by the "
            "probability of the upper half of the levels, and by the likeliest level, which ties most documents. The "
            "training is the modified one, with several seeds.",
        ),
        _ablation(
            inputs,
            "loss",
            "measure raised",
            ("ndcg@10", "map", "p@10"),
            "Which loss",
            "The estimator needs no derivative of the measure it raises: the paper's point. Here training raises "
            "NDCG@10, average precision or P@10; the epoch is chosen by validation NDCG@10 in all three. The training "
            "is the modified one, with one seed.",
        ),
        pointwise(seeded, measured),
        graded_precision(inputs, MODELS),
        update_sign(),
        variance(),
    ]


def _of(measured: Measured, dataset: str) -> list[Mapping[str, QueryValues]]:
    """Return the per-query values of each model on a data set, as a list with one element.

    The list is empty if the study does not include the data set.
    """
    return [measured[dataset]] if dataset in measured else []


def _ablation(
    inputs: Inputs, parameter: str, called: str, metrics: Sequence[str], title: str, opening: str
) -> PageSection:
    """Return the section on an ablation of one parameter of ARSM on every data set.

    called: label of the parameter.
    """
    paragraphs, content = [opening], []
    for dataset in inputs.datasets:
        ablation = Ablation(inputs, dataset, MODIFIED, parameter, called, metrics, convention_of(dataset))
        id, heading = f"{parameter}_{dataset}", f"{dataset}: {called}"
        means = means_table(id, heading, [ablation])
        tests = _tests_table(f"{id}_tests", f"{heading}, each against the paper's", ablation)
        figure = Figure(f"{id}_figure", f"{heading}, drawn", ablation.chart(), ablation.summary(), means)
        content += [figure, means, tests]
        paragraphs.append(f"{dataset}: {describe_significant(tests.rows, 'value')}")
    return PageSection(parameter, title, paragraphs, content)


def _tests_table(id: str, title: str, ablation: Ablation) -> Table:
    """Return the table of paired tests against the base model, with intervals that cover the seeds."""
    columns = [*VARIED, Column("metric"), *SEEDED]
    return Table(id, title, columns, seeded_tests(ablation.questions()), SEEDED_NOTE)
