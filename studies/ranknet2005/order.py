"""The order of the paper's methods: paired comparisons of all methods over queries and seeds."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.numbers import P
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import PageSection
from gradrank.comparison.significance.decision import RULE, decide_row
from gradrank.comparison.statistics import holm, wilcoxon
from studies.ranknet2005.published import PRIVATE, value
from studies.ranknet2005.trainings import METRIC, Training, over_seeds
from studies.ranknet2005.web_search import METHODS, table4_trainings

AS_PUBLISHED, REVERSED, NOT_SEPARATED = "as published", "the other way round", "not separated"
VERDICTS = {"better": AS_PUBLISHED, "worse": REVERSED, "no evidence": NOT_SEPARATED}
GAP = (
    Column("difference", "difference", "+.4f"),
    Column("low", "95% interval from", "+.4f"),
    Column("high", "to", "+.4f"),
    Column("seeds", "seeds above"),
)


def gap(first: Sequence[Training], second: Sequence[Training], split: str = "test") -> Row:
    """Return a row with the difference first minus second, and the number of seeds for which it is positive.

    The difference is averaged over the seeds that both methods have, and has a 95% interval. The squared standard error
    is the sum of two parts. One is the squared standard error over queries of the difference averaged over seeds. The
    other is the squared standard error over seeds of the difference averaged over queries. `wilcoxon` is the p value of
    Wilcoxon's test over queries.
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


def verdict(row: Row) -> str:
    """Return the verdict on a difference that is positive in the paper. row: a row for `decide_row`."""
    return VERDICTS[decide_row(row)]


def order(dataset: str, trainings: Mapping[str, Sequence[Training]]) -> PageSection:
    """Return the section on the order of the methods on one data set. trainings: the trainings of each variant."""
    methods = table4_trainings(trainings)
    rows = order_rows(methods)
    counts = {word: sum(row["verdict"] == word for row in rows) for word in (AS_PUBLISHED, NOT_SEPARATED, REVERSED)}
    means = {
        METHODS[method][0]: np.mean([training.mean("test") for training in runs]) for method, runs in methods.items()
    }
    ours = " > ".join(sorted(means, key=lambda name: -means[name]))
    published = " > ".join(METHODS[method][0] for method in reversed(methods))
    return PageSection(
        f"order_{dataset}",
        f"The order of Table 4, on {dataset}",
        [
            f"Published: {published}. Ours, by the mean over seeds: {ours}. Of {len(rows)} pairs "
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
                    Column("wilcoxon_holm", "p (Holm)", P),
                    Column("verdict", "order"),
                ),
                rows,
                "Ours: the mean over seeds of the better one minus the worse one; the interval holds the variance over "
                "queries and over seeds; p of Wilcoxon's test over queries, their means over seeds, corrected by Holm. "
                f"{RULE}",
            ),
            _nets(dataset, methods),
        ],
    )


def order_rows(trainings: Mapping[str, Sequence[Training]]) -> list[Row]:
    """Return one row per pair of methods. Pairs of methods that are neighbours in Table 4 come first."""
    pairs = sorted(combinations(list(trainings), 2), key=lambda pair: _rank(pair[1]) - _rank(pair[0]))
    rows = []
    for worse, better in pairs:
        difference = gap(trainings[better], trainings[worse])
        rows.append(
            {
                "better": METHODS[better][0],
                "worse": METHODS[worse][0],
                "published": _published(better) - _published(worse),
            }
            | difference
        )
    for row, p in zip(rows, holm([row["wilcoxon"] for row in rows]), strict=True):
        row["wilcoxon_holm"] = float(p)
        row["verdict"] = verdict(row)
    return rows


def _rank(method: str) -> int:
    """Return the position of a method in METHODS."""
    return list(METHODS).index(method)


def _published(method: str) -> float:
    """Return the published test value of a method. Table 4 has one for every method."""
    number = value("Table 4", PRIVATE, METHODS[method][0], 0, "ndcg@15_test")
    assert number is not None
    return number


def _nets(dataset: str, trainings: Mapping[str, Sequence[Training]]) -> Table:
    """Return the table of Wilcoxon's test between the two nets, which is the only significance test of the paper."""
    two, one = trainings["table4_two_layer"], trainings["table4_one_layer"]
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
