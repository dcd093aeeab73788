"""Tables 2 and 3 of the ARSM-L2R paper, the official LETOR results, and the differences between the two sources."""

from collections.abc import Mapping

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.literature.published import Published, by_fold, lookup
from gradrank.bench.literature.verdict import judge_values
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.report.tables.verdicts import count_verdicts
from gradrank.bench.studies.comparison import difference_columns, difference_row, verdict_columns, verdict_row
from gradrank.bench.studies.paired_tests import Question, describe_significant
from gradrank.bench.studies.study import PageSection
from gradrank.measures.metrics import metric_label
from studies.arsm.experiments import METRICS
from studies.arsm.seeds import SEEDED, SEEDED_NOTE, seeded_tests

Measured = Mapping[str, Mapping[str, QueryValues]]  # keys: data set, then model

ARSM, MODIFIED = "arsm_paper", "arsm"  # the recipe of the paper, and the training of this project
LABELS = {ARSM: "ARSM-L2R", MODIFIED: "ARSM-L2R, modified training"}  # as in methods.csv
PAPER, OFFICIAL = "ARSM-L2R paper", "LETOR"  # first words of the source of a published number
TABLES = {"mq2007": "Table 2", "ohsumed": "Table 3"}


def paper(measured: Measured) -> PageSection:
    """Return the section on the paper's two tables and on the tests of ARSM-L2R against the other methods.

    measured: the values of every method, those of the paper's recipe and of the modified training among them.
    """
    tables = [
        _means_table(
            f"paper_{dataset}", f"{TABLES.get(dataset, 'Not in the paper')}: {dataset}", dataset, models, PAPER
        )
        for dataset, models in measured.items()
    ]
    tests = {model: _against(model, measured) for model in LABELS}
    return PageSection(
        "paper",
        "Tables 2 and 3",
        [
            "Every number of the paper's two tables beside ours: five-fold means on the test parts, under the "
            "conventions of the collections' own evaluation programs (`letor4` for MQ2007, `letor3` for OHSUMED). The "
            f"row {LABELS[ARSM]} has the paper's recipe in full (`{ARSM}`, one seed). The row {LABELS[MODIFIED]} has "
            f"this project's training (`{MODIFIED}`, "
            f"{max(models[MODIFIED].seeds for models in measured.values())} seeds).",
            count_verdicts([row for table in tables for row in table.rows]),
            *(
                f"Is {LABELS[model]} better than the others? Query by query, ours against ours, "
                + describe_significant(table.rows, "dataset", "other")
                for model, table in tests.items()
            ),
        ],
        [*tables, *tests.values()],
    )


def _against(model: str, measured: Measured) -> Table:
    """Return the table of tests of one training of ARSM-L2R against every other method."""
    questions = [
        Question({"dataset": dataset, "other": LABELS.get(other, other)}, metric, models[model], values)
        for dataset, models in measured.items()
        for other, values in models.items()
        for metric in ("ndcg@10", "map")
        if other != model
    ]
    return Table(
        f"against_{model}",
        f"{LABELS[model]} against the others, ours against ours",
        [Column("dataset", "data set"), Column("other", "other"), Column("metric", "metric"), *SEEDED],
        seeded_tests(questions),
        SEEDED_NOTE,
    )


def official(measured: Measured) -> PageSection:
    """Return the section on the official LETOR results: the means, and the values of each fold where published."""
    content, means = [], []
    for dataset, models in measured.items():
        content += [
            Table(
                f"folds_{dataset}_{metric.replace('@', '')}",
                f"{dataset}, {metric_label(metric)}: official LETOR results, fold by fold",
                [Column("method", "method"), Column("fold", "fold"), *difference_columns()],
                rows,
            )
            for metric in ("ndcg@10", "map")
            if (rows := _fold_rows(dataset, models, metric))
        ]
        means.append(
            _means_table(
                f"official_{dataset}", f"{dataset}: official LETOR results, means over folds", dataset, models, OFFICIAL
            )
        )
    return PageSection(
        "official",
        "The official LETOR results",
        [
            "The numbers that Microsoft Research published with the collections: MQ2007's fold by fold, OHSUMED's "
            "(LETOR 3.0) as means. MQ2007's means are judged by the five differences of folds.",
            count_verdicts([row for table in means for row in table.rows]),
        ],
        [*means, *content],
    )


def _fold_rows(dataset: str, models: Mapping[str, QueryValues], metric: str) -> list[Row]:
    """Return one row per published method and fold, with the published value and ours."""
    rows = []
    for model, values in models.items():
        for method in dict.fromkeys(published.method for published in lookup(dataset, model, metric)):
            for fold, value in by_fold(dataset, method, metric).items():
                row = {"method": method, "fold": str(fold)}
                rows.append(row | difference_row(value, values.of_fold(fold).mean(metric)))
    return rows


def disagreements(measured: Measured) -> PageSection:
    """Return the section on methods for which the paper and LETOR publish different numbers."""
    rows = []
    for dataset, models in measured.items():
        for model, values in models.items():
            for metric in METRICS:
                official = _published(dataset, model, metric, OFFICIAL)
                paper = _published(dataset, model, metric, PAPER)
                for official_number, paper_number in zip(official, paper, strict=False):
                    if official_number.value != paper_number.value:
                        ours = values.mean(metric)
                        nearer = min((official_number, paper_number), key=lambda published: abs(published.value - ours))
                        rows.append(
                            {
                                "dataset": dataset,
                                "method": f"{official_number.method} / {paper_number.method}",
                                "metric": metric_label(metric),
                                "official": official_number.value,
                                "paper": paper_number.value,
                                "difference": paper_number.value - official_number.value,
                                "ours": ours,
                                "nearer": "paper" if nearer is paper_number else "official",
                            }
                        )
    columns = [
        Column("dataset", "data set"),
        Column("method", "official / paper"),
        Column("metric", "metric"),
        Column("official", "official", ".4f"),
        Column("paper", "paper", ".4f"),
        Column("difference", "paper − official", "+.4f"),
        Column("ours", "ours", ".4f"),
        Column("nearer", "nearer to ours"),
    ]
    return PageSection(
        "disagreements",
        "Where the sources disagree",
        [
            "Of one method on one collection there should be one number. The paper's RankSVM row on MQ2007 is not "
            "the official RankSVM-Struct, and its baselines' MAP on OHSUMED is not LETOR 3.0's although their NDCG "
            "is, digit for digit. All other shared numbers agree.",
            f"Ours is nearer to the official number in {sum(row['nearer'] == 'official' for row in rows)} of these "
            f"{len(rows)} cases.",
        ],
        [Table("disagreements", "The same method, two published numbers", columns, rows)],
    )


def _means_table(id: str, title: str, dataset: str, models: Mapping[str, QueryValues], source: str) -> Table:
    """Return the table of one source, with one row per published method and metric, next to our values."""
    rows = [
        {"method": ", ".join(filter(None, (published.method, published.note))), "metric": metric_label(metric)}
        | compare_with_published(published, model, models, metric)
        for model in models
        for metric in METRICS
        for published in _published(dataset, model, metric, source)
    ]
    return Table(id, title, [Column("method", "method"), Column("metric", "metric"), *verdict_columns()], rows)


def _published(dataset: str, model: str, metric: str, source: str) -> list[Published]:
    """Return the published numbers of one source for a model and a metric."""
    return [published for published in lookup(dataset, model, metric) if published.source.startswith(source)]


def compare_with_published(published: Published, model: str, models: Mapping[str, QueryValues], metric: str) -> Row:
    """Return the comparison of a published number with one of our models.

    The row also says how many of our other models get the same verdict.
    """
    judged = {name: judge_values(published, values, metric) for name, values in models.items()}
    return verdict_row(published.value, judged.pop(model), judged.values())
