"""The tested difference of a method between A and B, and its verdict.

The interval of a difference is a bootstrap interval over queries. A method with equal values in A and B on every query
is not tested. The verdict is better or worse by `gradrank.comparison.significance.decision`.

If A or B has several seeds, the value of a query is the mean over seeds, and the interval is widened by the variance
over seeds. The verdict is "within seeds" if other seeds alone could cause a difference of this size. This verdict does
not depend on the results of the tests over queries.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gradrank.bench.diff.seeds import in_one_precision, seed_noise, widened
from gradrank.bench.folds.per_query import QueryValues
from gradrank.comparison.significance.decision import decide
from gradrank.comparison.statistics import holm, paired_test, win_tie_loss

Verdict = Literal["better", "worse", "within seeds", "no evidence", "unchanged", "untested"]


@dataclass(frozen=True)
class MeanDifference:
    """The difference of one metric of one method.

    a, b: means in A and B; None if undefined. difference: b - a. low, high: bounds of its 95% interval.
    queries: number of queries that A and B share. wins, ties, losses: number of queries where B is better than, equal
    to or worse than A. t, wilcoxon: p values. t_holm, wilcoxon_holm: the same p values, corrected by Holm's method.
    seed_noise: as returned by `gradrank.bench.diff.seeds.seed_noise`. If only the means are available, the fields after
    `verdict` are nan or 0.
    """

    dataset: str
    model: str
    metric: str
    a: float | None
    b: float | None
    difference: float
    verdict: Verdict
    low: float = np.nan
    high: float = np.nan
    queries: int = 0
    wins: int = 0
    ties: int = 0
    losses: int = 0
    t: float = np.nan
    wilcoxon: float = np.nan
    t_holm: float = np.nan
    wilcoxon_holm: float = np.nan
    seed_noise: float = np.nan

    @property
    def has_moved(self) -> bool:
        """True if an available value differs between A and B."""
        return self.verdict != "unchanged" and not (self.verdict == "untested" and self.difference == 0)


def compare_values(
    dataset: str, metrics: Sequence[str], pairs: Iterable[tuple[str, QueryValues, QueryValues]]
) -> list[MeanDifference]:
    """Return the tested differences of pairs of values, with one row per pair and metric. Rows of a pair are together.

    pairs: tuples of a method, its values in A, and its values in B. The queries of A and B are the same, in the same
    order. Holm's correction covers all pairs, for each metric.
    """
    rows = [
        tested(MeanDifference(dataset, method, metric, a.mean(metric), b.mean(metric), np.nan, "no evidence"), a, b)
        for method, a, b in pairs
        for metric in metrics
    ]
    return corrected(rows)


def tested(row: MeanDifference, in_a: QueryValues, in_b: QueryValues) -> MeanDifference:
    """Return the row with the results of its tests.

    Holm's correction, and the verdict that depends on it, are set by `corrected`.
    """
    a, b = in_one_precision(in_a, in_b, row.metric)
    wins, ties, losses = win_tie_loss(b, a)
    if wins + losses == 0:
        counts = {"queries": ties, "ties": ties}
        equal = {"low": 0.0, "high": 0.0, "t": 1.0, "wilcoxon": 1.0, "t_holm": 1.0, "wilcoxon_holm": 1.0}
        return replace(row, difference=0.0, verdict="unchanged", **counts, **equal)
    noise = seed_noise(in_a, in_b, row.metric)
    test = paired_test(b, a, in_a.folds, queries=in_a.qids)
    return replace(row, seed_noise=noise, **widened(test, noise)._asdict())


def corrected(rows: Sequence[MeanDifference]) -> list[MeanDifference]:
    """Return the rows with Holm's correction per metric, and with their verdicts."""
    with_verdicts = list(rows)
    for metric in {row.metric for row in rows}:
        family = [i for i, row in enumerate(rows) if row.metric == metric and row.verdict == "no evidence"]
        t, signed_rank = (holm([getattr(rows[i], test) for i in family]) for test in ("t", "wilcoxon"))
        for i, p_t, p in zip(family, map(float, t), map(float, signed_rank), strict=True):
            with_verdicts[i] = replace(rows[i], t_holm=p_t, wilcoxon_holm=p, verdict=_verdict(rows[i], p))
    return with_verdicts


def _verdict(row: MeanDifference, p: float) -> Verdict:
    if abs(row.difference) <= row.seed_noise:
        return "within seeds"
    return decide(p, row.low, row.high)
