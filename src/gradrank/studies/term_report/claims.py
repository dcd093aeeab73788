"""The report's two values of NDCG@15, held against our rankings under four conventions and both attributions."""

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import product

from gradrank.evaluation.conventions import CONVENTIONS
from gradrank.evaluation.per_query import QueryValues
from gradrank.evaluation.verdict import NOT_REPRODUCED, judge_values
from gradrank.report.tables.numbers import number
from gradrank.report.tables.table import Column, Row, Table
from gradrank.report.tables.verdicts import counted
from gradrank.studies.kit.comparison import beside, comparison
from gradrank.studies.kit.paired_tests import COLUMNS, NOTE, Question, paired_tests
from gradrank.studies.kit.study import Inputs, Section

METRIC = "ndcg@15"
HIGH, LOW = 0.5619, 0.5214
# Which method each value belongs to: the text says both.
ATTRIBUTIONS = {
    "without / with L2": ("ranknet_report", "ranknet_report_l2"),
    "RankSVM_ndcg / RankNet": ("ranksvm_ndcg", "ranknet_report"),
}
# `letor3` has letor4's NDCG, `ranklib` the standard one. ptranking and DirectRanker drop empty queries.
MEASURED = {name: CONVENTIONS[name] for name in ("letor4", "standard", "lightgbm")} | {
    "dropped": replace(CONVENTIONS["standard"], name="dropped", empty=math.nan)
}

Measured = Mapping[tuple[str, str], QueryValues]  # by model and convention


def claims(inputs: Inputs) -> Section:
    models = list(dict.fromkeys(model for pair in ATTRIBUTIONS.values() for model in pair))
    paragraphs = [
        f"The report gives NDCG@15 as {HIGH:.4f} and {LOW:.4f}; in one place these are its RankNet without and with "
        "L2, in another RankSVM_ndcg and RankNet. The convention is not stated beside them. Here the same "
        "rankings stand under four: `letor4`, `standard` (RankLib's too), `lightgbm` (a query without relevant "
        "documents counts 1) and `dropped` (as `standard`, such queries left out).",
    ]
    content = []
    for dataset in inputs.datasets:
        measured = {
            (model, name): inputs.measure(dataset, model, [METRIC], convention)
            for model, (name, convention) in product(models, MEASURED.items())
        }
        values = _values(dataset, measured)
        gaps = _gaps(dataset, measured)
        paragraphs.append(_judged(dataset, measured, values.rows, gaps.rows))
        content += [values, gaps]
    return Section("claims", "The claimed NDCG@15", paragraphs, content)


def _values(dataset: str, measured: Measured) -> Table:
    """A row a convention, attribution and claimed value."""
    rows = [
        {"convention": convention, "attribution": attribution, "method": model}
        | _beside(claimed, model, convention, measured)
        for convention in MEASURED
        for attribution, models in ATTRIBUTIONS.items()
        for claimed, model in zip((HIGH, LOW), models, strict=True)
    ]
    heads = [
        Column("convention", "convention"),
        Column("attribution", "attribution"),
        Column("method", "ours"),
    ]
    title = f"{dataset}: the claimed values under four conventions"
    return Table(f"claims_{dataset}", title, [*heads, *comparison()], rows)


def _beside(claimed: float, model: str, convention: str, measured: Measured) -> Row:
    """One model beside a claimed value, and what the others would have got for it under the same convention."""
    judged = {
        name: judge_values(claimed, {}, values, METRIC)
        for (name, under), values in measured.items()
        if under == convention
    }
    return beside(claimed, judged.pop(model), judged.values())


def _gaps(dataset: str, measured: Measured) -> Table:
    """How far the two methods of each attribution lie apart, against the claimed distance."""
    rows = paired_tests(
        [
            Question(
                {"attribution": attribution, "convention": convention, "claimed": HIGH - LOW},
                METRIC,
                measured[first, convention],
                measured[second, convention],
            )
            for attribution, (first, second) in ATTRIBUTIONS.items()
            for convention in MEASURED
        ]
    )
    heads = [
        Column("attribution", "attribution"),
        Column("convention", "convention"),
        Column("claimed", "claimed gap", "+.4f"),
    ]
    title = f"{dataset}: the claimed gap, query by query"
    return Table(f"claims_{dataset}_gaps", title, [*heads, *COLUMNS], rows, NOTE)


def _judged(dataset: str, measured: Measured, rows: list[Row], gaps: list[Row]) -> str:
    """What the two tables of a data set say."""
    near = []
    for claimed in (HIGH, LOW):
        fitting = [
            f"{row['method']} under `{row['convention']}`"
            for row in rows
            if row["published"] == claimed and row["verdict"] != NOT_REPRODUCED
        ]
        (model, convention), nearest = min(
            ((key, values.mean(METRIC)) for key, values in measured.items()),
            key=lambda found: abs(found[1] - claimed),
        )
        near.append(
            f"{claimed:.4f} is consistent with {_listed(fitting)}; the nearest of ours is "
            f"{nearest:.4f} ({model}, `{convention}`)"
        )
    fits = [
        f"`{convention}`, {attribution}"
        for convention, attribution in product(MEASURED, ATTRIBUTIONS)
        if all(
            row["verdict"] != NOT_REPRODUCED
            for row in rows
            if (row["convention"], row["attribution"]) == (convention, attribution)
        )
    ]
    reached = [row for row in gaps if row["low"] <= HIGH - LOW <= row["high"]]
    widest = max(gaps, key=lambda row: abs(row["difference"]))
    return (
        f"{dataset}: {'; '.join(near)}. The claimed gap of {HIGH - LOW:.4f} lies inside {len(reached)} of "
        f"{len(gaps)} paired intervals; the widest gap of ours is {number(widest['difference'], '+.4f')} "
        f"({widest['attribution']}, `{widest['convention']}`). "
        + (f"Both values fit under {_listed(fits)}. " if fits else "Both values together fit nowhere. ")
        + counted(rows)
    )


def _listed(names: list[str]) -> str:
    names = list(dict.fromkeys(names))
    return ", ".join(names) or "none of the methods it is given to"
