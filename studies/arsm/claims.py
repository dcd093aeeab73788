"""The claims in the text of the ARSM paper, tested query by query.

The claims are about the top ranks, the number of levels, and the combination of the level probabilities.
"""

from collections.abc import Sequence

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.literature.published import lookup
from gradrank.bench.report.tables.numbers import setting
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.paired_tests import Question
from gradrank.bench.studies.study import Inputs, PageSection
from gradrank.comparison.significance.decision import RULE, decide_row
from studies.arsm.experiments import convention_of
from studies.arsm.seeds import SEEDED, SEEDED_NOTE, seeded_tests
from studies.arsm.tables import LABELS, MODIFIED, PAPER, Measured

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
