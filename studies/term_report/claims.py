"""The two values of NDCG in the report, compared with our rankings.

The text of the report is ambiguous, so every combination of attribution, part, metric and convention is compared.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.literature import NOT_REPRODUCED, QUERIES
from gradrank.bench.report.tables.table import Column, Row
from gradrank.bench.studies.claims import Claim, Estimate, judge_claim
from gradrank.bench.studies.study import Inputs
from gradrank.bench.studies.tables import COLUMNS, Question, paired_tests, verdict_columns
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
# The readings of the text. A statement names the two methods that the values belong to, a quantity our model and part.
NETS, SVM, SINGLE = "without / with L2", "RankSVM_ndcg / RankNet", "pointwise, without / with L2"
CLAIMS = (
    Claim(NETS, "the text", (PLAIN, "test"), HIGH),
    Claim(NETS, "the text; section 7.6 says that this net has L2", (WITH_L2, "test"), LOW),
    Claim(NETS, "the text, `on training data`", (WITH_L2, "train"), LOW),
    *(Claim(SVM, "another place of the text", (form, "test"), HIGH) for form in FORMS),
    Claim(SVM, "another place of the text", (WITH_L2, "test"), LOW),
    Claim(SVM, "another place of the text, `on training data`", (WITH_L2, "train"), LOW),
    Claim(SINGLE, "the net, read as pointwise", (POINTWISE, "test"), HIGH),
    Claim(SINGLE, "the net, read as pointwise", (POINTWISE_L2, "test"), LOW),
    Claim(SINGLE, "the net, read as pointwise, `on training data`", (POINTWISE_L2, "train"), LOW),
)
PAIRS = ((NETS, PLAIN, WITH_L2), *((SVM, form, WITH_L2) for form in FORMS), (SINGLE, POINTWISE, POINTWISE_L2))

HEADS = (Column("attribution"), Column("method", "ours"), Column("part"))
WIDER = (*HEADS, Column("metric"), Column("files"), Column("published", "claimed", ".4f"))
JUDGED = (Column("convention"), *HEADS, *verdict_columns())
BY_CONVENTION = (*WIDER, *(Column(name, name, ".4f") for name in MEASURED), Column("fits", "consistent under"))
GAPS = (
    Column("attribution"),
    Column("first"),
    Column("convention"),
    Column("claimed", "claimed gap", "+.4f"),
    *COLUMNS,
)

# Values per query by (part, convention, files), then by (model, part).
Measured = Mapping[tuple[str, str, str], Mapping[Any, QueryValues]]


def claims(inputs: Inputs) -> dict[str, Any]:
    """Return the facts of the section on the two values."""
    measured = _measured(inputs)
    rows = [
        {"attribution": claim.statement, "method": claim.quantity[0], "part": claim.quantity[1]}
        | {"metric": metric_label(metric), "files": files, "convention": convention}
        | judge_claim(claim, _estimates(measured[claim.quantity[1], convention, files], metric))
        for claim, metric, files, convention in product(CLAIMS, METRICS, FILES, MEASURED)
    ]
    stated = [row for row in rows if (row["metric"], row["files"]) == (metric_label(METRICS[0]), FILES[0])]
    gaps = _gaps(measured)
    return {
        "judged": rows,
        "stated": stated,
        "other": _by_convention(row for row in rows if row not in stated),
        "found": [_found([row for row in rows if row["published"] == value]) for value in (HIGH, LOW)],
        "together": _together(rows),
        "gaps": gaps,
        "widest": max((row["difference"] for row in gaps), key=abs),
    }


def _measured(inputs: Inputs) -> Measured:
    measured: dict[tuple[str, str, str], dict[Any, QueryValues]] = {}
    for model, part in dict.fromkeys(claim.quantity for claim in CLAIMS):
        for name, convention in MEASURED.items():
            values = inputs.measure(DATASET, model, METRICS, convention, part)
            for files, own in zip(FILES, (values, values.of_fold(1)), strict=True):
                measured.setdefault((part, name, files), {})[model, part] = own
    return measured


def _estimates(measured: Mapping[Any, QueryValues], metric: str) -> dict[Any, Estimate]:
    """Return our means by quantity, with their intervals over queries.

    Each query is in three of the five training parts. The interval over these parts is therefore widened by sqrt(3).
    """
    repeats = {key: len(values.qids) / len(np.unique(values.qids)) for key, values in measured.items()}
    return {
        key: Estimate(values.mean(metric), values.half_width(metric) * math.sqrt(repeats[key]), QUERIES)
        for key, values in measured.items()
    }


def _by_convention(rows: Iterable[Row]) -> list[Row]:
    """Return the rows with one column per convention."""
    lines: dict[tuple, Row] = {}
    for row in rows:
        about = {column.key: row[column.key] for column in WIDER}
        line = lines.setdefault(tuple(about.values()), about | {"fits": []})
        line[row["convention"]] = row["ours"]
        line["fits"] += [f"{row['convention']} ({row['alike']} of {row['others']} others)"] * _fits(row)
    return [line | {"fits": ", ".join(line["fits"]) or "none"} for line in lines.values()]


def _fits(row: Row) -> bool:
    """Return whether our value is consistent with the claimed value."""
    return row["verdict"] != NOT_REPRODUCED


def _found(rows: list[Row]) -> dict[str, Any]:
    """Return a claimed value, the places of the rows that are consistent with it, and our nearest value."""
    nearest = min(rows, key=lambda row: abs(row["difference"]))
    fitting = _places(filter(_fits, rows))
    return {
        "claimed": rows[0]["published"],
        "places": fitting,
        "nearest": nearest,
        "nearest_places": _places([nearest]),
    }


def _places(rows: Iterable[Row]) -> list[str]:
    """Return one text per metric, part and files, such as `NDCG@15, test part, five folds (`standard`)`."""
    conventions: dict[str, dict[str, None]] = {}
    for row in rows:
        place = f"{row['metric']}, {row['part']} part, {row['files']}"
        conventions.setdefault(place, {})[f"`{row['convention']}`"] = None
    return [f"{place} ({', '.join(names)})" for place, names in conventions.items()]


def _together(rows: list[Row]) -> list[str]:
    """Return where both values of one attribution are consistent with ours: attribution, metric, files, convention."""
    fitting: dict[tuple, set[float]] = {}
    for row in rows:
        values = fitting.setdefault((row["attribution"], row["metric"], row["files"], row["convention"]), set())
        values |= {row["published"]} if _fits(row) else set()
    return [
        f"{attribution}: {metric}, {files}, `{name}`"
        for (attribution, metric, files, name), values in fitting.items()
        if values == {HIGH, LOW}
    ]


def _gaps(measured: Measured) -> list[Row]:
    """Return the paired tests between the two methods of each attribution, on the test parts."""
    return paired_tests(
        [
            Question(
                {"attribution": attribution, "first": first, "convention": name, "claimed": HIGH - LOW},
                METRICS[0],
                *(measured["test", name, FILES[0]][model, "test"] for model in (first, second)),
            )
            for attribution, first, second in PAIRS
            for name in MEASURED
        ]
    )
