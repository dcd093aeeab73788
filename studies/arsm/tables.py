"""Tables 1 to 3 of the ARSM-L2R paper, the official LETOR results, and the differences between the two sources.

Methods that are trained with several seeds have values per query, and tests that also cover the seeds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.bench.folds.per_query import QueryValues, mean_over_seeds
from gradrank.bench.literature import Published, by_fold, judge_values, lookup
from gradrank.bench.report.tables.table import Column, Row, Table, count_verdicts
from gradrank.bench.studies.study import Inputs, PageSection
from gradrank.bench.studies.tables import (
    COLUMNS,
    NOTE,
    Question,
    describe_significant,
    difference_columns,
    difference_row,
    paired_tests,
    verdict_columns,
    verdict_row,
)
from gradrank.bench.studies.training import values_of
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import Convention
from gradrank.measures.judgements import read_judgements
from gradrank.measures.metrics import metric_label
from studies.arsm.experiments import METRICS

SEEDED = (*COLUMNS, Column("seeds", "seeds above 0"))
SEEDED_NOTE = (
    f"{NOTE} With several seeds, values are means over seeds. If both methods have several seeds, the interval is "
    "Student's and covers queries and seeds."
)


@dataclass(frozen=True)
class SeededInputs(Inputs):
    """The inputs of the study, in which a repeated method has the values of all seeds."""

    @cached_property
    def _found(self) -> list[dict[str, Any]]:
        return super().jobs()

    def jobs(self) -> list[dict[str, Any]]:
        """Return the results of the study's own jobs. The files are read once."""
        return self._found

    def measure(
        self, dataset: str, model: str, metrics: Sequence[str], convention: str | Convention, split: str = "test"
    ) -> QueryValues:
        """Return per-query values, as `Inputs.measure`. With several seeds, they are means over seeds.

        Raises GradrankError if a job has other test queries than the method of the workflow.
        """
        values = super().measure(dataset, model, metrics, convention, split)
        jobs = [
            job
            for job in self.jobs()
            if job["kind"] == "repeat" and (job["dataset"], job["method"], split) == (dataset, model, "test")
        ]
        return with_seeds(values, values_of(jobs), metrics) if jobs else values


def with_seeds(values: QueryValues, further: QueryValues, metrics: Sequence[str]) -> QueryValues:
    """Return the values of all seeds of two objects, which have the same queries.

    Raises GradrankError if the queries differ.
    """
    if not values.same_queries(further):
        raise GradrankError("the study arsm: a job has other test queries. Fix: run `snakemake --cores 2 arsm`")
    runs = [
        {metric: own.by_seed[metric][seed] if own.by_seed else own.values[metric] for metric in metrics}
        for own in (values, further)
        for seed in range(own.seeds)
    ]
    return mean_over_seeds(values.folds, values.qids, runs)


def seeded_tests(questions: Sequence[Question]) -> list[Row]:
    """Return the rows of `paired_tests`, with intervals that cover queries and seeds, and the key `seeds`.

    `seeds` is the number of seeds for which the difference is above 0. If one of the methods has a single seed, the
    interval covers queries alone, and `seeds` is empty.
    """
    rows = paired_tests(questions)
    for row, (_, metric, first, second) in zip(rows, questions, strict=True):
        row["seeds"] = ""
        if first.has_several_seeds(metric) and first.seeds == second.seeds:
            gaps = first.by_seed[metric] - second.by_seed[metric]
            between = mean_over_seeds(first.folds, first.qids, [{metric: gap} for gap in gaps])
            half, above = between.half_width(metric), np.count_nonzero(np.array(between.seed_means(metric)) > 0)
            row["low"], row["high"] = row["difference"] - half, row["difference"] + half
            row["seeds"] = f"{above} of {first.seeds}"
    return rows


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


# Name of the corpus, its documents and the number of queries, as the makers of LETOR give them (arXiv:1306.2597; Qin et
# al. 2010). "about" marks rounded numbers.
CORPORA = {"mq2007": ("Gov2", "about 25,000,000", "about 1,700"), "ohsumed": ("OHSUMED", "348,566", "106")}


def corpora(inputs: Inputs) -> PageSection:
    """Return the section on the collections: each corpus, and the counted sizes of its LETOR files."""
    rows = [_row(inputs, dataset) for dataset in inputs.datasets]
    shares = ", ".join(f"{row['documents'] / row['queries']:.0f} documents on {row['dataset']}" for row in rows)
    empty = ", ".join(f"{row['empty']:,} of {row['queries']:,} queries on {row['dataset']}" for row in rows)
    return PageSection(
        "collections",
        "Table 1: the collections",
        [
            "The paper's Table 1 describes the collections. Its numbers were not available here, so the table below "
            "has the sizes that the makers of LETOR give. The size of a corpus and the size of the files that are "
            "trained on differ: a corpus is searched for each query, and only the documents that were judged for a "
            f"query are in the files of LETOR. On average, these are {shares} per query. A document that was judged "
            "for two queries counts twice.",
            f"{empty} have no relevant document. They are evaluated, and the training of ARSM leaves them out.",
        ],
        [
            Table(
                "collections",
                "The corpora, and the files that are trained on",
                [
                    Column("dataset", "data set"),
                    Column("corpus"),
                    Column("corpus_documents", "documents of the corpus"),
                    Column("corpus_queries", "its queries"),
                    Column("queries", "queries, counted", ",d"),
                    Column("documents", "judged documents, counted", ",d"),
                    Column("features", "features", "d"),
                    Column("grades", "documents by grade"),
                    Column("empty", "queries without a relevant document", ",d"),
                ],
                rows,
                "The sizes of the corpora are those that the makers of LETOR give. All other numbers are counted in "
                "the stored collections, which include the training, validation and test parts.",
            )
        ],
    )


def _row(inputs: Inputs, dataset: str) -> Row:
    stored = StoredCollection.open(inputs.data / dataset)
    judged = read_judgements(stored, sorted({part for fold in stored.folds for part in fold["test"]}))
    corpus, documents, queries = CORPORA.get(dataset, ("", "", ""))
    counts: Sequence[int] = np.bincount(judged.labels).tolist()
    return {
        "dataset": dataset,
        "corpus": corpus,
        "corpus_documents": documents,
        "corpus_queries": queries,
        "queries": len(judged.qids),
        "documents": len(judged.labels),
        "features": stored.features,
        "grades": " / ".join(f"{count:,}" for count in counts),
        "empty": int(np.count_nonzero(np.maximum.reduceat(judged.labels, judged.offsets[:-1]) == 0)),
    }
