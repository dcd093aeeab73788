"""The claims in the text of the ARSM paper, tested query by query, and average precision of graded labels.

The claims are about the top ranks, the number of levels, and the combination of the level probabilities.

Average precision has three readings: binary, with grades as weights, and over thresholds.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.literature import lookup
from gradrank.bench.report.tables.table import Column, Row, Table, setting
from gradrank.bench.studies.study import Inputs, PageSection
from gradrank.bench.studies.tables import COLUMNS, NOTE, Question, describe_significant, paired_tests
from gradrank.comparison.significance import RULE, decide_row
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import resolve
from gradrank.measures.judgements import read_judgements
from gradrank.measures.ranking import Ranking
from gradrank.measures.score_files import read_scores
from studies.arsm.experiments import convention_of
from studies.arsm.tables import ARSM, LABELS, MODIFIED, PAPER, SEEDED, SEEDED_NOTE, Measured, seeded_tests

TOP = ("ndcg@1", "ndcg@3")
JUDGED = ("ndcg@1", "ndcg@3", "ndcg@10", "map")
GRADES = 3  # number of relevance grades in MQ2007 and OHSUMED; the baseline number of levels
HOLDS, NOT_SEPARATED, CONTRADICTED = "holds", "not separated", "contradicted"
MARGIN = 0.01  # the paper's best and worst methods are .0105 apart at NDCG@10 on MQ2007
CLAIMS = (
    f"{RULE} A claim of a higher value holds if the difference stands and is positive. It is contradicted if the "
    "difference stands and is negative. Otherwise, the two are not separated. A claim that something changes little "
    f"holds if the whole interval of the difference lies within {MARGIN:g} of 0. It is contradicted if the interval "
    "does not and the difference stands. The claims on levels and combinations are judged on the modified training, "
    "because five seeds of the paper's recipe would take hours."
)
VERDICTS = {"better": HOLDS, "worse": CONTRADICTED, "no evidence": NOT_SEPARATED}


def claims(inputs: Inputs, measured: Measured) -> PageSection:
    """Return the section on the claims: the decision rule, the results in words, and the tables."""
    tops = {model: _top(measured, model) for model in LABELS}
    levels, combined = _levels(inputs), _combinations(inputs)
    return PageSection(
        "claims",
        "The paper's claims",
        [
            CLAIMS,
            "The head of the list. By its tables ARSM-L2R is ahead of its rivals at NDCG@1 and @3. The published "
            "difference is next to ours. "
            + " ".join(
                f"{LABELS[model]}: of the {_claimed(top)} differences that the paper has in its favour, "
                f"{_counted([row for row in top.rows if row['claimed'] > 0])}."
                for model, top in tops.items()
            ),
            f"More levels than grades help. Against {GRADES} levels, as many as there are grades: "
            f"{_counted(levels.rows)}.",
            "How the p_c are combined matters little. Against the expected level, nets whose score and whose epoch on "
            f"validation come from another combination: {_counted(combined.rows)}; the widest difference is "
            f"{max(abs(row['difference']) for row in combined.rows):.4f}.",
        ],
        [*tops.values(), levels, combined],
    )


def _top(measured: Measured, model: str) -> Table:
    """Return the table of tests of one training of ARSM-L2R against the paper's other methods, at the top ranks.

    The table also shows the published differences.
    """
    questions, published_gaps = [], []
    for dataset, models in measured.items():
        for metric in TOP:
            (arsm,) = _published(dataset, model, metric)
            for other_model, values in models.items():
                if other_model not in LABELS:
                    (other,) = _published(dataset, other_model, metric)
                    questions.append(
                        Question({"dataset": dataset, "other": other_model}, metric, models[model], values)
                    )
                    published_gaps.append(arsm - other)
    rows = [row | {"claimed": gap} for row, gap in zip(judge_claims(questions), published_gaps, strict=True)]
    columns = [Column("other", "other"), Column("metric"), Column("claimed", "published difference", "+.4f")]
    return _table(f"claims_top_{model}", f"{LABELS[model]} at the head of the list, against the others", columns, rows)


def _published(dataset: str, model: str, metric: str) -> list[float]:
    """Return the values that the paper gives for a model and a metric."""
    return [published.value for published in lookup(dataset, model, metric) if published.source.startswith(PAPER)]


def _levels(inputs: Inputs) -> Table:
    """Return the table of tests that compare other numbers of levels with one level per grade (GRADES levels)."""
    rows = _varied(inputs, "levels", GRADES)
    return _table("claims_levels", f"More levels, against {GRADES}", VARIED, rows)


def _combinations(inputs: Inputs) -> Table:
    """Return the table of tests that compare other combinations of the level probabilities with the expected level.

    The claim is that the choice makes little difference. It holds if the whole interval of the difference is within
    MARGIN.
    """
    rows = _varied(inputs, "combination", "level")
    for row in rows:
        within_margin = row["low"] > -MARGIN and row["high"] < MARGIN
        row["claim"] = HOLDS if within_margin else NOT_SEPARATED if row["claim"] == NOT_SEPARATED else CONTRADICTED
    return _table("claims_combination", "Other combinations of p_c, against the expected level", VARIED, rows)


VARIED = [Column("value", "value"), Column("metric")]


def _varied(inputs: Inputs, parameter: str, base: object) -> list[Row]:
    """Return paired tests that compare the other values of a parameter of ARSM with the value `base`."""
    questions = []
    for dataset in inputs.datasets:
        values = _by_value(inputs, dataset, parameter)
        base_values = values.pop(setting(base))
        questions += [
            Question({"dataset": dataset, "value": value}, metric, other, base_values)
            for value, other in values.items()
            for metric in JUDGED
        ]
    return judge_claims(questions)


def _by_value(inputs: Inputs, dataset: str, parameter: str) -> dict[str, QueryValues]:
    """Return the per-query values of ARSM for each value of one parameter.

    All other parameters are unchanged. The key is the value of the parameter as text.
    """
    return {
        setting(value): inputs.measure(dataset, model, JUDGED, convention_of(dataset))
        for value, model in inputs.variants_of(dataset, MODIFIED, parameter)
    }


def judge_claims(questions: Sequence[Question]) -> list[Row]:
    """Return the paired tests of the questions.

    The cell `claim` of each row has the verdict on the claim that the first method is better.
    """
    rows = seeded_tests(questions)
    for row in rows:
        row["claim"] = VERDICTS[decide_row(row)]
    return rows


def _table(id: str, title: str, columns: Sequence[Column], rows: list[Row]) -> Table:
    heads = [Column("dataset", "data set"), *columns]
    return Table(id, title, [*heads, *SEEDED, Column("claim", "claim")], rows, SEEDED_NOTE)


def _counted(rows: Sequence[Row]) -> str:
    """Return, in words, the number of claims with each verdict.

    An example is `0 of 14 hold, 14 are not separated, 0 are contradicted`.
    """
    count = {word: sum(row["claim"] == word for row in rows) for word in (HOLDS, NOT_SEPARATED, CONTRADICTED)}
    held = f"{count[HOLDS]} of {len(rows)} hold, {count[NOT_SEPARATED]} are not separated"
    return f"{held}, {count[CONTRADICTED]} are contradicted"


def _claimed(table: Table) -> int:
    """Return the number of rows in which the published difference is in favour of ARSM-L2R."""
    return sum(row["claimed"] > 0 for row in table.rows)


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
