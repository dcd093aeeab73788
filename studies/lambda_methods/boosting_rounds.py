"""Training queries that a round of LambdaMART hurts while the mean over queries rises."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import PageSection
from gradrank.measures.metrics import metric_label
from studies.lambda_methods.experiments import METRIC

STAGES = {"2 to 10": (2, 10), "11 to 50": (11, 50), "51 to the last": (51, None)}  # first and last round
COLUMNS = (
    Column("dataset", "data set"),
    Column("rounds"),
    Column("counted", "rounds, all folds", "d"),
    Column("rising", "of them with a rising mean", "d"),
    Column("hurting", "of these, some query loses", "d"),
    Column("hurt", "queries that lose in such a round", ".1%"),
    Column("helped", "queries that gain", ".1%"),
)
ENDS = (
    Column("dataset", "data set"),
    Column("rounds", "rounds, mean over folds", ".0f"),
    Column("first", f"{metric_label(METRIC)} after round 1", ".4f"),
    Column("last", "after the last round", ".4f"),
    Column("hurt", "queries that lose", ".1%"),
    Column("helped", "queries that gain", ".1%"),
)


def boosting_rounds(jobs: Sequence[Mapping[str, Any]]) -> PageSection:
    """Return the section on the queries that LambdaMART hurts. jobs: the results of the study's jobs."""
    rows = [row for job in jobs for row in _stages(job)]
    ends = [_ends(job) for job in jobs]
    label = metric_label(METRIC)
    return PageSection(
        "rounds",
        "A round of LambdaMART may hurt some queries",
        [
            "The claim: LambdaMART chooses splits and leaf values over all queries, so a tree may lower the measure on "
            "some queries as long as the sum over queries rises. Here LambdaMART is trained on every fold, and the "
            f"{label} of each training query is compared before and after each round. Equal scores count as the mean "
            "over all orders. Queries without a relevant document are left out.",
            *(_verdict(job["dataset"], rows, end) for job, end in zip(jobs, ends, strict=True)),
        ],
        [
            Table("rounds", f"Training queries by the change of their {label} in a round", COLUMNS, rows),
            Table("rounds_ends", "Training queries by their change from the first round to the last", ENDS, ends),
        ],
    )


def _stages(job: Mapping[str, Any]) -> list[Row]:
    """Return one row per stage of the training with at least one round."""
    rows: list[Row] = []
    for name, (first, last) in STAGES.items():
        kept = slice(first - 2, None if last is None else last - 1)  # the changes begin with round 2
        rises, hurt, helped = (
            np.concatenate([np.asarray(values(fold), dtype=float)[kept] for fold in job["folds"]])
            for values in (lambda fold: np.diff(fold["mean"]), lambda fold: fold["hurt"], lambda fold: fold["helped"])
        )
        if not len(rises):
            continue
        rising = rises > 0
        shares = {key: float(of[rising].mean()) if rising.any() else np.nan for key, of in _named(hurt, helped)}
        counts = {"counted": len(rises), "rising": int(rising.sum()), "hurting": int((hurt[rising] > 0).sum())}
        rows.append({"dataset": job["dataset"], "rounds": name} | counts | shares)
    return rows


def _named(hurt: np.ndarray, helped: np.ndarray) -> list[tuple[str, np.ndarray]]:
    return [("hurt", hurt), ("helped", helped)]


def _ends(job: Mapping[str, Any]) -> Row:
    """Return the row of the comparison of the first round and the last round, as means over folds."""
    folds = job["folds"]

    def mean(values: list[float]) -> float:
        return float(np.mean(values))

    return {
        "dataset": job["dataset"],
        "rounds": mean([len(fold["mean"]) for fold in folds]),
        "first": mean([fold["mean"][0] for fold in folds]),
        "last": mean([fold["mean"][-1] for fold in folds]),
        "hurt": mean([fold["hurt_at_end"] for fold in folds]),
        "helped": mean([fold["helped_at_end"] for fold in folds]),
    }


def _verdict(dataset: str, rows: Sequence[Row], end: Row) -> str:
    """Return the sentences that say whether the claim holds on a data set."""
    own = [row for row in rows if row["dataset"] == dataset]
    rising, hurting = (sum(row[key] for row in own) for key in ("rising", "hurting"))
    return (
        f"{dataset}: in {hurting:,} of {rising:,} rounds with a rising mean, some training query loses: the claim "
        f"{'holds' if hurting else 'does not hold'}. From the first round to the last, {end['hurt']:.1%} of the "
        f"training queries lose and {end['helped']:.1%} gain."
    )
