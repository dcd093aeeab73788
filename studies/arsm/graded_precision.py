"""Average precision of graded labels, in three readings: binary, with grades as weights, and over thresholds."""

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.paired_tests import COLUMNS, NOTE, Question, describe_significant, paired_tests
from gradrank.bench.studies.study import Inputs, PageSection
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import resolve
from gradrank.measures.judgements import read_judgements
from gradrank.measures.ranking import Ranking
from gradrank.measures.score_files import read_scores
from studies.arsm.experiments import convention_of
from studies.arsm.tables import ARSM, LABELS

READINGS = {"binary": "grade of at least 1", "weights": "grades as weights", "thresholds": "mean over thresholds"}


def graded_precision(inputs: Inputs, models: tuple[str, ...]) -> PageSection:
    """Return the section on the readings of average precision. models: the methods of the paper's tables."""
    measured = {dataset: {model: measure(inputs, dataset, model) for model in models} for dataset in inputs.datasets}
    rows = [
        {"dataset": dataset, "model": LABELS.get(model, model)}
        | {name: values.mean(name) for name in READINGS}
        | {"highest": float(values.values["weights"].max())}
        for dataset, by_model in measured.items()
        for model, values in by_model.items()
    ]
    tests = _tests(measured)
    return PageSection(
        "graded_precision",
        "Equation 8: average precision with grades",
        [
            "The tables of MAP count a document as relevant if its grade is at least 1, as the evaluation programs of "
            "LETOR do. Equation 8 is read here as an average precision of graded labels. Two more readings are "
            "measured. With grades as weights, "
            "average precision is the sum over ranks k of y_k (y_1 + ... + y_k) / k, divided by the sum of all grades "
            "y. This value can exceed 1. The mean over thresholds is graded average precision with equally likely "
            "thresholds (Robertson, Kanoulas & Yilmaz 2010): each threshold t makes the grades of at least t "
            "relevant, and its average precision counts with its number of relevant documents.",
            _orders(measured),
            f"{LABELS[ARSM]} against the others, query by query: {describe_significant(tests, 'dataset', 'other')}",
            "Training here raises binary average precision (section *Which loss*). No training raises a graded one.",
        ],
        [
            Table(
                "graded_precision",
                "Three readings of average precision",
                [
                    Column("dataset", "data set"),
                    Column("model", "method"),
                    *(Column(name, called, ".4f") for name, called in READINGS.items()),
                    Column("highest", "largest of a query, grades as weights", ".4f"),
                ],
                rows,
                "Test means over folds, one seed per method. A query without a relevant document has 0.",
            ),
            Table(
                "graded_precision_tests",
                f"{LABELS[ARSM]} against the others, in three readings",
                [Column("dataset", "data set"), Column("other"), Column("metric", "reading"), *COLUMNS],
                tests,
                NOTE,
            ),
        ],
    )


def measure(inputs: Inputs, dataset: str, model: str) -> QueryValues:
    """Return the average precision of each test query in each reading, from the scores of the workflow's first seed."""
    stored, method = StoredCollection.open(inputs.data / dataset), inputs.method(dataset, model)
    folds, qids, values = [], [], []
    for number, parts in enumerate(stored.folds, start=1):
        judged = read_judgements(stored, parts["test"])
        scores = read_scores(method.fold(number).scores_path, judged, "test")
        values.append(readings(Ranking(scores, judged.labels, judged.offsets, resolve(convention_of(dataset)))))
        folds.append(np.full(len(judged.qids), number))
        qids.append(judged.ids)
    joined = {name: np.concatenate([own[name] for own in values]) for name in READINGS}
    return QueryValues(np.concatenate(folds), np.concatenate(qids), joined)


def readings(ranking: Ranking) -> dict[str, np.ndarray]:
    """Return the (q,) average precision of each query in each reading; 0 for queries without relevant documents."""
    thresholds = range(1, max(ranking.highest, 1) + 1)
    terms = [_terms(ranking, ranking.grades >= threshold) for threshold in thresholds]
    relevant = [
        np.add.reduceat(ranking.grades >= threshold, ranking.starts, dtype=np.int64) for threshold in thresholds
    ]
    weights = np.add.reduceat(ranking.grades, ranking.starts)
    return {
        "binary": _ratio(terms[0], relevant[0]),
        "weights": _ratio(_terms(ranking, ranking.grades), weights),
        "thresholds": _ratio(np.sum(terms, axis=0), np.sum(relevant, axis=0)),
    }


def _terms(ranking: Ranking, gains: np.ndarray) -> np.ndarray:
    """Return the (q,) sums over ranks k of g_k (g_1 + ... + g_k) / k. gains: (n,) gains g in rank order."""
    gains = gains.astype(np.float64)
    total = np.cumsum(gains)
    so_far = total - np.repeat(total[ranking.starts] - gains[ranking.starts], ranking.sizes)
    return np.add.reduceat(gains * so_far / ranking.position, ranking.starts)


def _ratio(sums: np.ndarray, divisors: np.ndarray) -> np.ndarray:
    return np.divide(sums, divisors, out=np.zeros(len(sums)), where=divisors > 0)


def _tests(measured: Mapping[str, Mapping[str, QueryValues]]) -> list[Row]:
    """Return paired tests of the paper's recipe against every other method, for each reading."""
    questions = [
        Question({"dataset": dataset, "other": LABELS.get(other, other)}, name, by_model[ARSM], values)
        for dataset, by_model in measured.items()
        for other, values in by_model.items()
        for name in READINGS
        if other != ARSM
    ]
    rows = paired_tests(questions)
    for row, question in zip(rows, questions, strict=True):
        row["metric"] = READINGS[question.metric]
    return rows


def _orders(measured: Mapping[str, Mapping[str, QueryValues]]) -> str:
    """Return a sentence with the number of pairs of methods whose order of means depends on the reading."""
    parts = []
    for dataset, by_model in measured.items():
        pairs = list(combinations(by_model.values(), 2))
        changed = {
            called: sum((a.mean(name) - b.mean(name)) * (a.mean("binary") - b.mean("binary")) < 0 for a, b in pairs)
            for name, called in READINGS.items()
            if name != "binary"
        }
        counts = ", ".join(f"{count} ({called})" for called, count in changed.items())
        parts.append(f"{counts} of {len(pairs)} on {dataset}")
    return f"Pairs of methods whose means are in another order than under the binary reading: {'; '.join(parts)}."
