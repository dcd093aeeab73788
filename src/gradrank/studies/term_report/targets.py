"""Two definitions of the target S of a pair, for the same loss.

S is 0 or 1 in the report, and -1, 0 or 1 in the blog.
"""

import math

from gradrank.report.tables.table import Column, Table
from gradrank.studies.common.study import PageSection

MARGIN = 0.5  # the difference o = s_i - s_j in the table; the two costs are equal for every o


def report_cost(S: float, o: float) -> float:
    """Return the report's cost: the cross-entropy of P = sig(o) and the target S in [0, 1]."""
    p = 1 / (1 + math.exp(-o))
    return -S * math.log(p) - (1 - S) * math.log(1 - p)


def blog_cost(S: float, o: float) -> float:
    """Return the blog's cost (1 - S) o / 2 + log(1 + e^-o), for S in [-1, 1] (Burges 2010, section 2)."""
    return (1 - S) * o / 2 + math.log1p(math.exp(-o))


def targets() -> PageSection:
    """Return the section on the two definitions of S."""
    pairs = {"j above i": -1.0, "equal grades": 0.0, "i above j": 1.0}
    rows = []
    for pair, S in pairs.items():
        target = (1 + S) / 2
        costs = {"report_cost": report_cost(target, MARGIN), "blog_cost": blog_cost(S, MARGIN)}
        rows.append({"pair": pair, "blog": S, "report": target} | costs)
    return PageSection(
        "targets",
        "Which S is which",
        [
            "The report's S of a pair is 0 or 1 and is itself the target probability: cost "
            "`-S log P - (1 - S) log(1 - P)`. In the blog S is -1, 0 or 1, and the target is `(1 + S) / 2`: cost "
            "`(1 - S) o / 2 + log(1 + e^-o)`. They are one cost: the report's 1 is the blog's 1, its 0 the blog's -1, "
            "and the blog's 0, which marks pairs of equal grades, would be 1/2 in the report, which leaves such pairs "
            "out, as `ranknet_report` does here."
        ],
        [
            Table(
                "targets",
                f"A pair's target and its cost at a difference of scores of {MARGIN:g}",
                [
                    Column("pair"),
                    Column("blog", "S in the blog", "g"),
                    Column("report", "S in the report", "g"),
                    Column("blog_cost", "the blog's cost", ".6f"),
                    Column("report_cost", "the report's cost", ".6f"),
                ],
                rows,
            )
        ],
    )
