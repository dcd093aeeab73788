"""The report's two values of NDCG, held against our rankings: each attribution, part, measure and convention."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from gradrank.evaluation.conventions import CONVENTIONS
from gradrank.evaluation.literature.verdict import NOT_REPRODUCED, QUERIES, Band, Judged, judge
from gradrank.evaluation.metrics import metric_label
from gradrank.evaluation.per_query import QueryValues
from gradrank.report.tables.numbers import number
from gradrank.report.tables.table import Column, Row, Table
from gradrank.report.tables.verdicts import count_verdicts
from gradrank.studies.common.comparison import beside, comparison
from gradrank.studies.common.paired_tests import COLUMNS, NOTE, Question, paired_tests
from gradrank.studies.common.study import Inputs, PageSection

DATASET = "mq2007"  # the report uses no other
METRICS = ("ndcg@15", "ndcg")  # to rank 15, as stated, or of the whole list
FILES = ("five folds", "one file")  # their mean, or fold 1 alone
HIGH, LOW = 0.5619, 0.5214
PLAIN, WITH_L2 = ("report_whole-l2=0.0", "report_whole-l2=0.01")  # the report's RankNets, all pairs for ten epochs
FORMS = ("ranksvm_ndcg", "ranksvm_ndcg_l2_dual", "ranksvm_ndcg_l1_dual", "ranksvm_ndcg_sparse")
# `letor3` has letor4's NDCG, `ranklib` the standard one. ptranking and DirectRanker drop empty queries.
MEASURED = {name: CONVENTIONS[name] for name in ("letor4", "standard", "lightgbm")} | {
    "dropped": replace(CONVENTIONS["standard"], name="dropped", empty=math.nan)
}


class Reading(NamedTuple):
    """One way to read the text: a claimed value is a model's on a part (`test`, `train`)."""

    claimed: float
    attribution: str
    model: str
    part: str


class RankedMethod(NamedTuple):
    """What one of our numbers is of."""

    model: str
    part: str
    convention: str
    files: str


# The text has the two values as RankNet's without and with L2, as RankSVM_ndcg's and RankNet's, and the lower one as
# measured "on training data".
READINGS = (
    Reading(HIGH, "without / with L2", PLAIN, "test"),
    Reading(LOW, "without / with L2", WITH_L2, "test"),
    Reading(LOW, "without / with L2", WITH_L2, "train"),
    *(Reading(HIGH, "RankSVM_ndcg / RankNet", form, "test") for form in FORMS),
    Reading(LOW, "RankSVM_ndcg / RankNet", PLAIN, "test"),
    Reading(LOW, "RankSVM_ndcg / RankNet", PLAIN, "train"),
)
Measured = Mapping[RankedMethod, QueryValues]


def claims(inputs: Inputs) -> PageSection:
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
            "training data. The convention is not stated, nor whether it is a mean of five folds or one file's value, "
            "nor which of RankSVM_ndcg's four forms is meant. So here stand all: the training part as well as the test "
            "part, the nets trained on all pairs for ten epochs, NDCG@15 and NDCG of the whole list, five folds and "
            "fold 1 alone, under `letor4`, `standard` (RankLib's too), `lightgbm` (a query without relevant documents "
            "counts 1) and `dropped` (as `standard`, such queries left out).",
            _judged(rows),
            f"The claimed gap of {HIGH - LOW:.4f} lies inside {sum(_reached(row) for row in gaps.rows)} of "
            f"{len(gaps.rows)} paired intervals on the test parts; the widest gap of ours is "
            f"{number(max((row['difference'] for row in gaps.rows), key=abs), '+.4f')}.",
        ],
        [_stated(stated), _other(other), gaps],
    )


def _measured(inputs: Inputs) -> dict[RankedMethod, QueryValues]:
    found = {}
    for model, part in dict.fromkeys((reading.model, reading.part) for reading in READINGS):
        for name, convention in MEASURED.items():
            values = inputs.measure(DATASET, model, METRICS, convention, part)
            found[RankedMethod(model, part, name, FILES[0])] = values
            found[RankedMethod(model, part, name, FILES[1])] = values.of_fold(1)
    return found


def _row(reading: Reading, convention: str, files: str, metric: str, measured: Measured) -> Row:
    """One reading beside ours, and what our other rankings of that part would have got for it."""
    judged = {
        ranking.model: _judge(reading.claimed, values, metric)
        for ranking, values in measured.items()
        if ranking[1:] == (reading.part, convention, files)
    }
    about = {"attribution": reading.attribution, "method": reading.model, "part": reading.part}
    about |= {"metric": metric_label(metric), "files": files, "convention": convention}
    return about | beside(reading.claimed, judged.pop(reading.model), judged.values())


def _judge(claimed: float, values: QueryValues, metric: str) -> Judged:
    """By our interval over queries, each of which is in three of the five training parts."""
    repeats = len(values.qids) / len(np.unique(values.qids))
    return judge(claimed, values.mean(metric), Band(values.half_width(metric) * math.sqrt(repeats), QUERIES))


HEADS = (Column("attribution"), Column("method", "ours"), Column("part"))


def _stated(rows: list[Row]) -> Table:
    columns = [Column("convention"), *HEADS, *comparison()]
    return Table("claims", "NDCG@15, means over five folds", columns, rows)


def _other(rows: list[Row]) -> Table:
    """A row a reading, measure and number of files; a column a convention."""
    lines: dict[tuple, Row] = {}
    for row in rows:
        key = tuple(row[name] for name in ("attribution", "method", "part", "metric", "files", "published"))
        about = {column.key: row[column.key] for column in (*HEADS, *WIDER)}
        line = lines.setdefault(key, about | {"fits": []})
        line[row["convention"]] = row["ours"]
        line["fits"] += [f"{row['convention']} ({row['alike']} of {row['others']} others)"] * _fits(row)
    made = [line | {"fits": ", ".join(line["fits"]) or "none"} for line in lines.values()]
    conventions = [Column(name, name, ".4f") for name in MEASURED]
    return Table(
        "claims_other",
        "The other measure, and one file",
        [*HEADS, *WIDER, *conventions, Column("fits", "consistent under")],
        made,
        "In brackets: how many of our other rankings of that part would have been consistent as well.",
    )


WIDER = (Column("metric"), Column("files"), Column("published", "claimed", ".4f"))


def _fits(row: Row) -> bool:
    return row["verdict"] != NOT_REPRODUCED


def _judged(rows: list[Row]) -> str:
    """Where each value is consistent with ours, and where both values of an attribution are."""
    said = []
    for claimed in (HIGH, LOW):
        own = [row for row in rows if row["published"] == claimed]
        nearest = min(own, key=lambda row: abs(row["difference"]))
        said.append(
            f"{claimed:.4f} is consistent with {_listed(_places(filter(_fits, own)))}; the nearest of ours is "
            f"{nearest['ours']:.4f} ({nearest['method']}, {_listed(_places([nearest]))})."
        )
    return f"{' '.join(said)} {_together(rows)} {count_verdicts(rows)}"


def _places(rows: Iterable[Row]) -> list[str]:
    """`NDCG@15, test part, five folds (`standard`, `dropped`)`: each once, whichever methods are there."""
    found: dict[str, list[str]] = {}
    for row in rows:
        conventions = found.setdefault(f"{row['metric']}, {row['part']} part, {row['files']}", [])
        conventions += [f"`{row['convention']}`"] * (f"`{row['convention']}`" not in conventions)
    return [f"{place} ({', '.join(conventions)})" for place, conventions in found.items()]


def _together(rows: list[Row]) -> str:
    """Under which measure, files and convention both values of one attribution fit, on whichever part."""
    kept = ("attribution", "metric", "files", "convention")
    both = [
        key
        for key in dict.fromkeys(tuple(row[name] for name in kept) for row in rows)
        if {row["published"] for row in rows if tuple(row[name] for name in kept) == key and _fits(row)} == {HIGH, LOW}
    ]
    fitting = [f"{attribution}: {metric}, {files}, `{name}`" for attribution, metric, files, name in both]
    return f"Both values of one attribution together fit {_listed(fitting, 'nowhere')}."


def _listed(names: Iterable[str], none: str = "nothing of ours") -> str:
    return "; ".join(names) or none


def _gaps(measured: Measured) -> Table:
    """How far the two methods of each attribution lie apart on the test parts, against the claimed distance."""
    pairs = [("without / with L2", PLAIN, WITH_L2), *(("RankSVM_ndcg / RankNet", form, PLAIN) for form in FORMS)]
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
    return row["low"] <= HIGH - LOW <= row["high"]
