"""The words of verdicts on published numbers, for every page.

The rule is in gradrank/evaluation/literature/verdict.py.
"""

from collections.abc import Sequence
from typing import Any

from gradrank.evaluation.literature.verdict import CONSISTENT, NOT_REPRODUCED, REPRODUCED

MARKS = {REPRODUCED: "✓", CONSISTENT: "≈", NOT_REPRODUCED: "✗"}
MEANINGS = {
    REPRODUCED: "ours differs by seeds and rounding alone",
    CONSISTENT: "the difference lies inside its 95% interval: that of the folds' paired differences where the "
    "published values are known fold by fold and it is the narrower, else that of our mean over queries",
    NOT_REPRODUCED: "neither",
}
POWER = "how many of our other methods would have had the same verdict on the same number"


def explained() -> str:
    """What the marks and the two numbers behind them say."""
    marks = "; ".join(f"{mark} {verdict}: {MEANINGS[verdict]}" for verdict, mark in MARKS.items())
    return f"{marks}. The verdict's power: {POWER}."


def counted(rows: Sequence[dict[str, Any]]) -> str:
    """How many of rows with `verdict`, `alike` and `others` have which verdict, and what the good ones are worth.

    Rows without the last two are of an earlier version of the summary.
    """
    judged = [row for row in rows if row["verdict"]]
    counts = {verdict: sum(row["verdict"] == verdict for row in judged) for verdict in MARKS}
    listed = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    text = f"Of {len(judged)} published numbers: {listed}."
    good = [row for row in judged if row["verdict"] != NOT_REPRODUCED and row.get("others")]
    if not good:
        return text
    had, asked = (sum(row[key] for row in good) for key in ("alike", "others"))
    return (
        f"{text} Of our other methods, held against the numbers that are reproduced or consistent, "
        f"{had:,} of {asked:,} ({had / asked:.0%}) would have had the same verdict."
    )
