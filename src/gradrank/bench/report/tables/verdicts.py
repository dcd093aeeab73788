"""Marks, meanings and counts of the verdicts on published numbers, as shown on all pages.

The decision rule is in gradrank/bench/literature/verdict.py.
"""

from collections.abc import Sequence
from typing import Any

from gradrank.bench.literature.verdict import CONSISTENT, NOT_REPRODUCED, REPRODUCED

MARKS = {REPRODUCED: "✓", CONSISTENT: "≈", NOT_REPRODUCED: "✗"}
MEANINGS = {
    REPRODUCED: "ours differs by no more than seeds and rounding explain (if single runs are published: by no more "
    "than one further run would in 95% of cases)",
    CONSISTENT: "the difference lies in its 95% interval, which is that of the paired differences over folds if the "
    "published values per fold are known and it is the narrower, otherwise that of our mean over queries",
    NOT_REPRODUCED: "neither",
}
POWER = "how many of our other methods would have had the same verdict on the same number"


def explain_marks() -> str:
    """Return one sentence that explains the marks."""
    return "; ".join(f"{mark} {verdict}: {MEANINGS[verdict]}" for verdict, mark in MARKS.items()) + "."


def explain_verdicts() -> str:
    """Return sentences that explain the marks, and the two numbers after each mark (the power of the verdict)."""
    return f"{explain_marks()} The verdict's power: {POWER}."


def count_verdicts(rows: Sequence[dict[str, Any]]) -> str:
    """Return a sentence with the number of rows per verdict, and a sentence with the power of favourable verdicts.

    The favourable verdicts are REPRODUCED and CONSISTENT. rows: dicts with the keys `verdict`, `alike` and `others`.
    Summaries of earlier versions lack the keys `alike` and `others`; the second sentence is then omitted.
    """
    judged = [row for row in rows if row["verdict"]]
    counts = {verdict: sum(row["verdict"] == verdict for row in judged) for verdict in MARKS}
    listed = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    text = f"Of {len(judged)} published number{'' if len(judged) == 1 else 's'}: {listed}."
    favourable = [row for row in judged if row["verdict"] != NOT_REPRODUCED and row.get("others")]
    if not favourable:
        return text
    same, compared = (sum(row[key] for row in favourable) for key in ("alike", "others"))
    return (
        f"{text} Of our other methods, held against the numbers that are reproduced or consistent, "
        f"{same:,} of {compared:,} ({same / compared:.0%}) would have had the same verdict."
    )
