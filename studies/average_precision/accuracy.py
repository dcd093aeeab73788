"""The accuracy of returning the first k documents, compared with the accuracy of returning nothing."""

from collections.abc import Mapping, Sequence

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.paired_tests import COLUMNS as TESTS
from gradrank.bench.studies.paired_tests import NOTE, Question, paired_tests
from gradrank.bench.studies.study import PageSection
from gradrank.comparison.significance.decision import decide_row
from gradrank.measures.metrics import metric_label
from studies.average_precision.relevant import Sizes
from studies.average_precision.tracking import AP, R_PRECISION, Measured

CUTOFF = 10
PRECISION = f"p@{CUTOFF}"
ACCURACY = "accuracy"
MEANS = (
    Column("dataset", "data set"),
    Column("method"),
    Column("first", f"accuracy, first {CUTOFF} documents", ".4f"),
    Column("relevant", "accuracy, as many as are relevant", ".4f"),
    Column("map", metric_label(AP), ".4f"),
)


def accuracy(measured: Measured, sizes: Mapping[str, Sizes]) -> PageSection:
    """Return the section on accuracy. sizes: numbers of documents by data set."""
    rows, questions = [], []
    for dataset, methods in measured.items():
        nothing = accuracy_of(sizes[dataset], np.zeros(len(sizes[dataset].relevant)), np.array(0))
        rows.append(_row(dataset, "nothing returned", next(iter(methods.values())), nothing, nothing, np.nan))
        for method, values in methods.items():
            first = _first_documents(values, sizes[dataset])
            as_many = _as_many_as_relevant(values, sizes[dataset])
            rows.append(_row(dataset, method, values, first, as_many, values.mean(AP)))
            questions.append(_question(dataset, method, values, first, nothing))
    tests = paired_tests(questions)
    heads = [Column("dataset", "data set"), Column("method"), Column("metric")]
    return PageSection(
        "accuracy",
        "Accuracy",
        [
            "The claim: accuracy, the share of documents that are rightly returned or rightly left out, does not suit "
            "retrieval. Most documents are not relevant, so a system that returns nothing has a high accuracy. Here a "
            f"method returns the first {CUTOFF} documents of a query, or as many documents as are relevant.",
            *(_verdict(dataset, sizes[dataset], rows, tests) for dataset in measured),
        ],
        [
            Table("accuracy", "Mean accuracy over folds", MEANS, rows),
            Table(
                "accuracy_tests", "Accuracy of the first documents minus that of nothing", [*heads, *TESTS], tests, NOTE
            ),
        ],
    )


def accuracy_of(sizes: Sizes, hits: np.ndarray, returned: np.ndarray) -> np.ndarray:
    """Return the (q,) accuracies. hits: (q,) relevant documents among the `returned` documents of each query."""
    return (sizes.documents - sizes.relevant - returned + 2 * hits) / sizes.documents


def _first_documents(values: QueryValues, sizes: Sizes) -> np.ndarray:
    """Return the (q,) accuracies of returning the first CUTOFF documents.

    P@k of a query with fewer documents counts the missing ones as irrelevant.
    """
    return accuracy_of(sizes, CUTOFF * values.values[PRECISION], np.minimum(CUTOFF, sizes.documents))


def _as_many_as_relevant(values: QueryValues, sizes: Sizes) -> np.ndarray:
    """Return the (q,) accuracies of returning as many documents as are relevant."""
    return accuracy_of(sizes, sizes.relevant * values.values[R_PRECISION], sizes.relevant)


def _row(dataset: str, method: str, values: QueryValues, first: np.ndarray, as_many: np.ndarray, ap: float) -> Row:
    """Return the row of a method. first, as_many: (q,) accuracies."""
    made = _with(values, {"first": first, "relevant": as_many})
    return {"dataset": dataset, "method": method, "map": ap} | {key: made.mean(key) for key in ("first", "relevant")}


def _question(dataset: str, method: str, values: QueryValues, first: np.ndarray, nothing: np.ndarray) -> Question:
    """Return the comparison of a method with returning nothing."""
    ours, theirs = (_with(values, {ACCURACY: of_queries}) for of_queries in (first, nothing))
    return Question({"dataset": dataset, "method": method}, ACCURACY, ours, theirs)


def _with(values: QueryValues, measures: dict[str, np.ndarray]) -> QueryValues:
    """Return other values for the queries of `values`."""
    return QueryValues(values.folds, values.qids, measures)


def _verdict(dataset: str, sizes: Sizes, rows: Sequence[Row], tests: Sequence[Row]) -> str:
    """Return the sentences that say whether returning nothing is as accurate as the methods."""
    own = [row for row in rows if row["dataset"] == dataset]
    nothing, *methods = own
    tested = [decide_row(row) for row in tests if row["dataset"] == dataset]
    worse = tested.count("worse")
    best = max(methods, key=lambda row: row["first"])
    at_relevant = sum(row["relevant"] < nothing["relevant"] for row in methods)
    verdict = "holds" if worse == len(tested) else "holds in part" if worse else "does not hold"
    share = sizes.relevant.sum() / sizes.documents.sum()
    return (
        f"{dataset}: {share:.1%} of the documents are relevant. Returning nothing has an accuracy of "
        f"{nothing['first']:.4f}. Of {len(tested)} methods that return the first {CUTOFF} documents, {worse} are "
        f"significantly less accurate, and the most accurate one is {best['method']} ({best['first']:.4f}). With as "
        f"many documents as are relevant, {at_relevant} of {len(methods)} methods are less accurate than nothing. That "
        f"returning nothing is more accurate {verdict}."
    )
