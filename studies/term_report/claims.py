"""The two values of NDCG in the report, compared with our rankings.

The text of the report is ambiguous, so every combination of attribution, part, metric and convention is compared.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from gradrank.base.text_tables import number
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.literature import NOT_REPRODUCED, QUERIES, Band, Judged, judge
from gradrank.bench.report.tables.table import Column, Row, Table, count_verdicts
from gradrank.bench.studies.study import Inputs, PageSection
from gradrank.bench.studies.tables import COLUMNS, NOTE, Question, paired_tests, verdict_columns, verdict_row
from gradrank.measures.conventions import CONVENTIONS
from gradrank.measures.metrics import metric_label

DATASET = "mq2007"  # the only data set of the report
METRICS = ("ndcg@15", "ndcg")  # the stated cutoff at rank 15, or the whole list
FILES = ("five folds", "one file")  # average over five folds, or fold 1 only
HIGH, LOW = 0.5619, 0.5214
# The report's RankNets, trained on all pairs for ten epochs.
PLAIN, WITH_L2 = ("report_whole-l2=0.0", "report_whole-l2=0.01")
# The same nets, trained on single documents: their output is the probability that a document is relevant.
POINTWISE, POINTWISE_L2 = ("report_pointwise-l2=0.0", "report_pointwise-l2=0.01")
FORMS = ("ranksvm_ndcg", "ranksvm_ndcg_l2_dual", "ranksvm_ndcg_l1_dual", "ranksvm_ndcg_sparse")
# The NDCG of `letor3` equals that of `letor4`, and the NDCG of `ranklib` equals that of `standard`. ptranking and
# DirectRanker drop queries without relevant documents.
MEASURED = {name: CONVENTIONS[name] for name in ("letor4", "standard", "lightgbm")} | {
    "dropped": replace(CONVENTIONS["standard"], name="dropped", empty=math.nan)
}


class Reading(NamedTuple):
    """One reading of the text: which model reached the claimed value, and on which part.

    claimed: the value in the report. attribution: the two methods that the report compares. model: the name of our
    model. part: `test` or `train`.
    """

    claimed: float
    attribution: str
    model: str
    part: str


class RankedMethod(NamedTuple):
    """The key of one of our rankings: model, part, convention and files."""

    model: str
    part: str
    convention: str
    files: str


# The text attributes the two values to RankNet without and with L2, and in another place to RankSVM_ndcg and RankNet.
# In section 7.6, the RankNet of the lower value has L2. The text also says that the lower value was measured "on
# training data".
READINGS = (
    Reading(HIGH, "without / with L2", PLAIN, "test"),
    Reading(LOW, "without / with L2", WITH_L2, "test"),
    Reading(LOW, "without / with L2", WITH_L2, "train"),
    *(Reading(HIGH, "RankSVM_ndcg / RankNet", form, "test") for form in FORMS),
    Reading(LOW, "RankSVM_ndcg / RankNet", WITH_L2, "test"),
    Reading(LOW, "RankSVM_ndcg / RankNet", WITH_L2, "train"),
    Reading(HIGH, "pointwise, without / with L2", POINTWISE, "test"),
    Reading(LOW, "pointwise, without / with L2", POINTWISE_L2, "test"),
    Reading(LOW, "pointwise, without / with L2", POINTWISE_L2, "train"),
)
Measured = Mapping[RankedMethod, QueryValues]


def claims(inputs: Inputs) -> PageSection:
    """Return the section on the two values."""
    measured = _measured(inputs)
    rows = [
        _row(reading, convention, files, metric, measured)
        for reading, metric, files, convention in product(READINGS, METRICS, FILES, MEASURED)
    ]
    stated = [row for row in rows if (row["metric"], row["files"]) == (metric_label("ndcg@15"), FILES[0])]
    other = [row for row in rows if row not in stated]
    gaps = _gaps(measured)
    return PageSection(
        "claims",
        "The claimed NDCG",
        [
            f"The report gives NDCG@15 on MQ2007 as {HIGH:.4f} and {LOW:.4f}. In one place these are its RankNet "
            "without and with L2, in another RankSVM_ndcg and RankNet, and in a third the lower one is measured on "
            "training data. Section 7.6 says that the RankNet of the lower one has L2. The net can also be read as "
            "pointwise: its output is the probability that one document is relevant. The convention is not stated, "
            "nor whether it is a mean of five folds or one file's value, nor which of RankSVM_ndcg's four forms is "
            "meant. So all are shown: the training part as well as the test part, the nets trained for ten epochs on "
            "all pairs or documents, NDCG@15 and NDCG of the whole list, five folds and fold 1 alone, under `letor4`, "
            "`standard` (RankLib's too), `lightgbm` (a query without relevant documents counts 1) and `dropped` (as "
            "`standard`, such queries left out).",
            _judged(rows),
            f"The claimed gap of {HIGH - LOW:.4f} lies inside {sum(_reached(row) for row in gaps.rows)} of "
            f"{len(gaps.rows)} paired intervals on the test parts; our widest gap is "
            f"{number(max((row['difference'] for row in gaps.rows), key=abs), '+.4f')}.",
        ],
        [_stated(stated), _other(other), gaps],
    )


def _measured(inputs: Inputs) -> dict[RankedMethod, QueryValues]:
    """Return the per-query values for every reading and convention, for five folds and for fold 1."""
    values_by_key = {}
    for model, part in dict.fromkeys((reading.model, reading.part) for reading in READINGS):
        for name, convention in MEASURED.items():
            values = inputs.measure(DATASET, model, METRICS, convention, part)
            values_by_key[RankedMethod(model, part, name, FILES[0])] = values
            values_by_key[RankedMethod(model, part, name, FILES[1])] = values.of_fold(1)
    return values_by_key


def _row(reading: Reading, convention: str, files: str, metric: str, measured: Measured) -> Row:
    """Return the row of one reading: the claimed value compared with ours.

    The row also says how many of our other models get the same verdict on the same part.
    """
    judged = {
        ranking.model: _judge(reading.claimed, values, metric)
        for ranking, values in measured.items()
        if ranking[1:] == (reading.part, convention, files)
    }
    about = {"attribution": reading.attribution, "method": reading.model, "part": reading.part}
    about |= {"metric": metric_label(metric), "files": files, "convention": convention}
    return about | verdict_row(reading.claimed, judged.pop(reading.model), judged.values())


def _judge(claimed: float, values: QueryValues, metric: str) -> Judged:
    """Return the verdict on a claimed value, based on the interval of our mean over queries.

    Each query is in three of the five training parts. The interval over these parts is therefore widened by sqrt(3).
    """
    repeats = len(values.qids) / len(np.unique(values.qids))
    return judge(claimed, values.mean(metric), Band(values.half_width(metric) * math.sqrt(repeats), QUERIES))


HEADS = (Column("attribution"), Column("method", "ours"), Column("part"))


def _stated(rows: list[Row]) -> Table:
    """Return the table of NDCG@15 over five folds."""
    columns = [Column("convention"), *HEADS, *verdict_columns()]
    return Table("claims", "NDCG@15, means over five folds", columns, rows)


def _other(rows: list[Row]) -> Table:
    """Return the table of the comparisons that `_stated` leaves out, with one column per convention.

    These are the comparisons with the other metric or with fold 1 only.
    """
    lines: dict[tuple, Row] = {}
    for row in rows:
        key = tuple(row[name] for name in ("attribution", "method", "part", "metric", "files", "published"))
        about = {column.key: row[column.key] for column in (*HEADS, *WIDER)}
        line = lines.setdefault(key, about | {"fits": []})
        line[row["convention"]] = row["ours"]
        line["fits"] += [f"{row['convention']} ({row['alike']} of {row['others']} others)"] * _fits(row)
    table_rows = [line | {"fits": ", ".join(line["fits"]) or "none"} for line in lines.values()]
    conventions = [Column(name, name, ".4f") for name in MEASURED]
    return Table(
        "claims_other",
        "The other measure, and one file",
        [*HEADS, *WIDER, *conventions, Column("fits", "consistent under")],
        table_rows,
        "In brackets: how many of our other rankings of that part would have been consistent as well.",
    )


WIDER = (Column("metric"), Column("files"), Column("published", "claimed", ".4f"))


def _fits(row: Row) -> bool:
    """Return whether our value is consistent with the claimed value."""
    return row["verdict"] != NOT_REPRODUCED


def _judged(rows: list[Row]) -> str:
    """Return sentences that say where each claimed value is consistent with ours.

    They also say where both values of one attribution are consistent with ours.
    """
    sentences = []
    for claimed in (HIGH, LOW):
        value_rows = [row for row in rows if row["published"] == claimed]
        nearest = min(value_rows, key=lambda row: abs(row["difference"]))
        sentences.append(
            f"{claimed:.4f} is consistent with {_listed(_places(filter(_fits, value_rows)))}; our nearest value is "
            f"{nearest['ours']:.4f} ({nearest['method']}, {_listed(_places([nearest]))})."
        )
    return f"{' '.join(sentences)} {_together(rows)} {count_verdicts(rows)}"


def _places(rows: Iterable[Row]) -> list[str]:
    """Return one text per combination of metric, part and files, such as `NDCG@15, test part, five folds (`standard`)`.

    The conventions are in brackets.
    """
    conventions_of: dict[str, list[str]] = {}
    for row in rows:
        conventions = conventions_of.setdefault(f"{row['metric']}, {row['part']} part, {row['files']}", [])
        conventions += [f"`{row['convention']}`"] * (f"`{row['convention']}`" not in conventions)
    return [f"{place} ({', '.join(conventions)})" for place, conventions in conventions_of.items()]


def _together(rows: list[Row]) -> str:
    """Return a sentence that says where both values of one attribution are consistent with ours.

    The sentence gives the metric, the files and the convention.
    """
    key_names = ("attribution", "metric", "files", "convention")
    both = [
        key
        for key in dict.fromkeys(tuple(row[name] for name in key_names) for row in rows)
        if {row["published"] for row in rows if tuple(row[name] for name in key_names) == key and _fits(row)}
        == {HIGH, LOW}
    ]
    fitting = [f"{attribution}: {metric}, {files}, `{name}`" for attribution, metric, files, name in both]
    return f"Both values of one attribution together fit {_listed(fitting, 'nowhere')}."


def _listed(names: Iterable[str], none: str = "none of our values") -> str:
    """Return the names separated by semicolons, or the text in `none` if there are no names."""
    return "; ".join(names) or none


def _gaps(measured: Measured) -> Table:
    """Return the table of paired tests between the two methods of each attribution, on the test parts.

    The table also has the claimed difference.
    """
    pairs = [
        ("without / with L2", PLAIN, WITH_L2),
        *(("RankSVM_ndcg / RankNet", form, WITH_L2) for form in FORMS),
        ("pointwise, without / with L2", POINTWISE, POINTWISE_L2),
    ]
    rows = paired_tests(
        [
            Question(
                {"attribution": attribution, "first": first, "convention": name, "claimed": HIGH - LOW},
                METRICS[0],
                *(measured[RankedMethod(model, "test", name, FILES[0])] for model in (first, second)),
            )
            for attribution, first, second in pairs
            for name in MEASURED
        ]
    )
    heads = [
        Column("attribution"),
        Column("first", "first"),
        Column("convention"),
        Column("claimed", "claimed gap", "+.4f"),
    ]
    return Table("claims_gaps", "The claimed gap, query by query", [*heads, *COLUMNS], rows, NOTE)


def _reached(row: Row) -> bool:
    """Return whether the claimed difference is within our interval."""
    return row["low"] <= HIGH - LOW <= row["high"]
