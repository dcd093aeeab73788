"""The section on boosting with RankNet's cost, which section 2 of the paper asks about."""

import numpy as np

from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import PageSection
from gradrank.comparison.statistics import mean_interval
from studies.ranknet2005.boosted import LEAVES, METHODS, ROUNDS
from studies.ranknet2005.draws import Run, by_draw
from studies.ranknet2005.table1 import TARGETS

COLUMNS = (
    Column("target", "target"),
    Column("size", "training vectors", ",d"),
    Column("rankboost_stumps", "RankBoost, stumps", ".2f"),
    Column("ranknet_stumps", "RankNet's cost, stumps", ".2f"),
    Column("difference", "RankNet's cost minus RankBoost", "+.2f"),
    Column("low", "95% interval from", "+.2f"),
    Column("high", "to", "+.2f"),
    Column("better", "draws with RankNet's cost better"),
    Column("ranknet_trees", f"RankNet's cost, trees of {LEAVES} leaves", ".2f"),
    Column("linear", "linear net", ".2f", drop_if_empty=True),
)


def boosting(runs: list[Run]) -> list[PageSection]:
    """Return the section on boosting, or nothing if there are no such runs. runs: the runs of all draws."""
    rows = _rows(runs)
    if not rows:
        return []
    above = sum(row["low"] > 0 for row in rows)
    below = sum(row["high"] < 0 for row in rows)
    return [
        PageSection(
            "boosted",
            "Section 2: RankNet's cost boosted",
            [
                "Section 2 of the paper asks how RankBoost combined with the paper's differentiable cost would "
                "compare, and leaves the answer to other work. Here, RankBoost's exponential cost is replaced by "
                "RankNet's. The candidate stumps and the rule that chooses one of them stay the same. Each weight "
                f"minimises an upper bound of the cost, as in RankBoost. The best of {ROUNDS:,} rounds on validation "
                "is kept.",
                f"RankNet's cost is better in {above} of {len(rows)} rows and worse in {below}, by the 95% interval of "
                "the mean difference over draws. The other rows are not separated. A sum of stumps is a sum of "
                "functions of one feature. The last but one column has trees, fitted by LightGBM to RankNet's cost. "
                "They can also learn products of features, which the random polynomial has.",
            ],
            [
                Table(
                    "boosted",
                    "Boosting on the artificial data",
                    COLUMNS,
                    rows,
                    "Percent of the test pairs in the right order at the least validation error, mean over draws. The "
                    "linear net is that of Table 1.",
                )
            ],
        )
    ]


def _rows(runs: list[Run]) -> list[Row]:
    """Return one row per target and number of training vectors, with the paired difference over draws."""
    rows = []
    for target in TARGETS:
        for size in sorted({run["size"] for run in runs if run["experiment"] == "boosted"}):
            tests = {name: by_draw(runs, "boosted", target, name, size) for name in METHODS}
            ours, theirs = tests["ranknet_stumps"], tests["rankboost_stumps"]
            gap, linear = mean_interval(ours - theirs), by_draw(runs, "table1", target, "linear", size)
            rows.append(
                {"target": target, "size": size, "linear": float(linear.mean()) if len(linear) else None}
                | {name: float(values.mean()) for name, values in tests.items()}
                | {"difference": gap.mean, "low": gap.low, "high": gap.high}
                | {"better": f"{np.count_nonzero(ours > theirs)} of {len(ours)}"}
            )
    return rows
