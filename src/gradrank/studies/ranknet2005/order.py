"""The order of the paper's methods: every two of them compared over queries and seeds."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from gradrank.evaluation.per_query import QueryValues
from gradrank.evaluation.statistics import holm, wilcoxon
from gradrank.report.tables.numbers import P
from gradrank.report.tables.table import Column, Row, Table
from gradrank.studies.common.study import PageSection
from gradrank.studies.ranknet2005.published import PRIVATE, value
from gradrank.studies.ranknet2005.trainings import METRIC, Training, over_seeds
from gradrank.studies.ranknet2005.web_search import METHODS, of_table4

AS_PUBLISHED, REVERSED, LEVEL = "as published", "the other way round", "not separated"
GAP = (
    Column("difference", "difference", "+.4f"),
    Column("low", "95% from", "+.4f"),
    Column("high", "to", "+.4f"),
    Column("seeds", "seeds above"),
)


def gap(first: Sequence[Training], second: Sequence[Training], split: str = "test") -> Row:
    """First minus second: the mean over seeds, its 95% interval, and in how many seeds the first is above.

    The interval's variance is that over queries of the seeds' mean difference, and that over seeds of their mean.
    """
    gaps = np.array([a.mean(split) - b.mean(split) for a, b in zip(first, second, strict=False)])
    a, b = over_seeds(first[: len(gaps)], split), over_seeds(second[: len(gaps)], split)
    between = QueryValues(a.folds, a.qids, {METRIC: a.values[METRIC] - b.values[METRIC]})
    variance = (between.half_width(METRIC) / 1.96) ** 2
    if len(gaps) > 1:
        variance += gaps.var(ddof=1) / len(gaps)
    mean, half = float(gaps.mean()), float(1.96 * np.sqrt(variance))
    return {
        "difference": mean,
        "low": mean - half,
        "high": mean + half,
        "seeds": f"{np.count_nonzero(gaps > 0)} of {len(gaps)}",
        "wilcoxon": wilcoxon(a.values[METRIC], b.values[METRIC]),
    }


def verdict(found: Row) -> str:
    """Of a difference that the paper has above zero."""
    if found["low"] > 0:
        return AS_PUBLISHED
    return REVERSED if found["high"] < 0 else LEVEL


def order(dataset: str, found: Mapping[str, Sequence[Training]]) -> PageSection:
    """The order on one data set; found: each variant's trainings."""
    own = of_table4(found)
    rows = order_rows(own)
    counts = {word: sum(row["verdict"] == word for row in rows) for word in (AS_PUBLISHED, LEVEL, REVERSED)}
    means = {
        METHODS[method][0]: np.mean([training.mean("test") for training in trained]) for method, trained in own.items()
    }
    ours = " > ".join(sorted(means, key=lambda name: -means[name]))
    theirs = " > ".join(METHODS[method][0] for method in reversed(own))
    return PageSection(
        f"order_{dataset}",
        f"The order of Table 4, on {dataset}",
        [
            f"Published: {theirs}. Ours, by the mean over seeds: {ours}. Of {len(rows)} pairs "
            f"{', '.join(f'{count} {word}' for word, count in counts.items())}."
        ],
        [
            Table(
                f"order_{dataset}",
                "Every two methods, test NDCG@15",
                (
                    Column("better", "better, as published"),
                    Column("worse", "worse, as published"),
                    Column("published", "published", "+.3f"),
                    *GAP,
                    Column("wilcoxon", "p (Wilcoxon)", P),
                    Column("wilcoxon_holm", "p, Holm", P),
                    Column("verdict", "order"),
                ),
                rows,
                "Ours: the mean over seeds of the better one minus the worse one; the interval holds the variance over "
                "queries and over seeds; p of Wilcoxon's test over queries, their means over seeds, corrected by Holm.",
            ),
            _nets(dataset, own),
        ],
    )


def order_rows(own: Mapping[str, Sequence[Training]]) -> list[Row]:
    """A row a pair, those of neighbours in the paper first."""
    pairs = sorted(combinations(list(own), 2), key=lambda pair: _rank(pair[1]) - _rank(pair[0]))
    rows = []
    for worse, better in pairs:
        made = gap(own[better], own[worse])
        rows.append(
            {"better": METHODS[better][0], "worse": METHODS[worse][0], "published": _there(better) - _there(worse)}
            | made
            | {"verdict": verdict(made)}
        )
    for row, p in zip(rows, holm([row["wilcoxon"] for row in rows]), strict=True):
        row["wilcoxon_holm"] = float(p)
    return rows


def _rank(method: str) -> int:
    return list(METHODS).index(method)


def _there(method: str) -> float:
    return value("Table 4", PRIVATE, METHODS[method][0], 0, "ndcg@15_test")


def _nets(dataset: str, own: Mapping[str, Sequence[Training]]) -> Table:
    """The paper's one test of significance: between its two nets."""
    two, one = own["table4_two_layer"], own["table4_one_layer"]
    by_seed = [
        wilcoxon(a.values["test"].values[METRIC], b.values["test"].values[METRIC])
        for a, b in zip(two, one, strict=False)
    ]
    rows = [
        {"what": "published", "p": value("text 6.2", PRIVATE, "two layer against one layer", 0, "wilcoxon_p")},
        {"what": "ours, means over seeds", "p": gap(two, one)["wilcoxon"]},
        *({"what": f"ours, seed {seed}", "p": p} for seed, p in enumerate(by_seed, start=1)),
    ]
    return Table(
        f"wilcoxon_{dataset}",
        "Section 6.2: the two-layer net against the one-layer net",
        (Column("what", ""), Column("p", "p (Wilcoxon), two-sided", P)),
        rows,
        "Over test queries. The paper: the null hypothesis can be rejected at the 16% level.",
    )
