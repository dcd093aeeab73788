"""What the ARSM paper claims beside its tables, judged query by query: the top ranks, the levels, the combination."""

from collections.abc import Mapping, Sequence

from gradrank.evaluation.literature.published import lookup
from gradrank.evaluation.per_query import QueryValues
from gradrank.evaluation.statistics import LEVEL
from gradrank.report.tables.numbers import setting
from gradrank.report.tables.table import Column, Row, Table
from gradrank.studies.arsm.tables import PAPER, Measured, convention_of
from gradrank.studies.common.paired_tests import COLUMNS, NOTE, Question, paired_tests
from gradrank.studies.common.study import Inputs, PageSection

TOP = ("ndcg@1", "ndcg@3")
JUDGED = ("ndcg@1", "ndcg@3", "ndcg@10", "map")
GRADES = 3  # levels as many as MQ2007 and OHSUMED have grades
HOLDS, OPEN, CONTRADICTED = "holds", "not separated", "contradicted"
MARGIN = 0.01  # first and last of the paper's five methods are .0105 apart at NDCG@10 on MQ2007
RULE = (
    f"A claim of a higher value holds where the difference is positive and Wilcoxon's p, corrected by Holm for its "
    f"table, below {LEVEL:g}; with the other sign it is contradicted; else the two are not separated. A claim that "
    f"something changes little holds where the difference's whole interval lies within {MARGIN:g} of 0, and is "
    "contradicted where it does not and the two are separated."
)


def claims(inputs: Inputs, measured: Measured) -> PageSection:
    top, levels, combined = _top(measured), _levels(inputs), _combinations(inputs)
    return PageSection(
        "claims",
        "The paper's claims",
        [
            RULE,
            "The head of the list. By its tables ARSM-L2R is ahead of its rivals at NDCG@1 and @3; the published "
            f"difference stands beside ours. Of the {_claimed(top)} differences that the paper has in its favour: "
            f"{_counted([row for row in top.rows if row['claimed'] > 0])}.",
            f"More levels than grades help. Against {GRADES} levels, as many as there are grades: "
            f"{_counted(levels.rows)}.",
            "How the p_c are combined matters little. Against the expected level, nets whose score and whose epoch on "
            f"validation come from another combination: {_counted(combined.rows)}; the widest difference is "
            f"{max(abs(row['difference']) for row in combined.rows):.4f}.",
        ],
        [top, levels, combined],
    )


def _top(measured: Measured) -> Table:
    questions, claimed = [], []
    for dataset, models in measured.items():
        for metric in TOP:
            (own,) = _published(dataset, "arsm", metric)
            for model, values in models.items():
                if model != "arsm":
                    (other,) = _published(dataset, model, metric)
                    questions.append(Question({"dataset": dataset, "other": model}, metric, models["arsm"], values))
                    claimed.append(own - other)
    rows = [row | {"claimed": gap} for row, gap in zip(judged(questions), claimed, strict=True)]
    columns = [Column("other", "other"), Column("metric"), Column("claimed", "published difference", "+.4f")]
    return _table("claims_top", "ARSM-L2R at the head of the list, against the others", columns, rows)


def _published(dataset: str, model: str, metric: str) -> list[float]:
    return [there.value for there in lookup(dataset, model, metric) if there.source.startswith(PAPER)]


def _levels(inputs: Inputs) -> Table:
    rows = _varied(inputs, "levels", GRADES)
    return _table("claims_levels", f"More levels, against {GRADES}", VARIED, rows)


def _combinations(inputs: Inputs) -> Table:
    rows = _varied(inputs, "combination", "level")
    for row in rows:
        inside = row["low"] > -MARGIN and row["high"] < MARGIN
        row["claim"] = HOLDS if inside else OPEN if row["claim"] == OPEN else CONTRADICTED
    return _table("claims_combination", "Other combinations of p_c, against the expected level", VARIED, rows)


VARIED = [Column("value", "value"), Column("metric")]


def _varied(inputs: Inputs, parameter: str, base: object) -> list[Row]:
    """Every other value of a parameter of ARSM, within this study, against `base`."""
    questions = []
    for dataset in inputs.datasets:
        values = _around(inputs, dataset, parameter)
        own = values.pop(setting(base))
        questions += [
            Question({"dataset": dataset, "value": value}, metric, other, own)
            for value, other in values.items()
            for metric in JUDGED
        ]
    return judged(questions)


def _around(inputs: Inputs, dataset: str, parameter: str) -> Mapping[str, QueryValues]:
    return {
        setting(value): inputs.measure(dataset, model, JUDGED, convention_of(dataset))
        for value, model in inputs.variants_of(dataset, "arsm", parameter)
    }


def judged(questions: Sequence[Question]) -> list[Row]:
    """Paired tests, each with what it says of a claim that the first is the better."""
    rows = paired_tests(questions)
    for row in rows:
        separated = row["wilcoxon_holm"] < LEVEL
        row["claim"] = (HOLDS if row["difference"] > 0 else CONTRADICTED) if separated else OPEN
    return rows


def _table(id: str, title: str, columns: Sequence[Column], rows: list[Row]) -> Table:
    heads = [Column("dataset", "data set"), *columns]
    return Table(id, title, [*heads, *COLUMNS, Column("claim", "claim")], rows, NOTE)


def _counted(rows: Sequence[Row]) -> str:
    """`0 of 14 hold, 14 are not separated, 0 are contradicted`."""
    count = {word: sum(row["claim"] == word for row in rows) for word in (HOLDS, OPEN, CONTRADICTED)}
    said = f"{count[HOLDS]} of {len(rows)} hold, {count[OPEN]} are not separated"
    return f"{said}, {count[CONTRADICTED]} are contradicted"


def _claimed(table: Table) -> int:
    return sum(row["claimed"] > 0 for row in table.rows)
