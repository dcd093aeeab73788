"""The answers to the questions of the contest, in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradrank.base.numbers import number
from gradrank.bench.report.tables.table import Row
from gradrank.comparison.statistics import LEVEL
from studies.contest.comparisons import MARGINS

MARGINS_IN_WORDS = " and ".join(f"{margin:g}" for margin in MARGINS)


def rule() -> str:
    """Return the sentences that state the questions and the tests."""
    return (
        "Questions stated before the results: which methods are better than RankSVM, than linear regression, and than "
        f"the best single feature? Which methods are not worse than the best by {MARGINS_IN_WORDS}? A method is called "
        f"better or worse if p < {LEVEL:g} after Holm's correction for the methods of the question and the 95% "
        "interval of the difference excludes 0. The p values are those of Student's test, whose standard errors cover "
        "queries, seeds and tuning. Few tuners estimate the variance of tuning poorly, so it is also pooled over the "
        "methods. The pooled variance is used for a method whose own estimate is smaller."
    )


def against(baseline: str, rows: Sequence[Row]) -> str:
    """Return the answer to the question which methods are better than a baseline. rows: as in `Estimates.against`."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row["verdict"], []).append(f"`{row['method']}`")
    equal = {
        margin: [
            f"`{row['method']}`" for row in rows if row["equal_within"] == margin and row["verdict"] == NO_EVIDENCE
        ]
        for margin in MARGINS
    }
    better = join_names(groups.get("better", [])) or "no method"
    sentences = [f"Better than `{baseline}`: {better}."]
    if worse := groups.get("worse"):
        sentences.append(f"Worse: {join_names(worse)}.")
    if unknown := groups.get(NO_EVIDENCE):
        sentences.append(f"No evidence of a difference: {join_names(unknown)}.")
        shown = [f"within {margin:g}: {join_names(names)}" for margin, names in equal.items() if names]
        sentences.append(f"Of these, shown to be equal {'; '.join(shown)}." if shown else "None is shown to be equal.")
    least, most = (f(row["detectable"] for row in rows) for f in (min, max))
    sentences.append(
        f"Detectable with a probability of 80%: {number(least)} to {number(most)}, depending on the method."
    )
    return " ".join(sentences)


NO_EVIDENCE = "no evidence"


def not_worse(rows: Sequence[Row]) -> str:
    """Return the answer to the question which methods are not worse than the best. rows: of `Estimates.not_worse`."""
    parts = []
    for margin in MARGINS:
        names = [f"`{row['method']}`" for row in rows if row[f"corrected_{margin}"] < LEVEL]
        parts.append(f"by {margin:g}: {join_names(names) or 'no method'}")
    return f"Shown to be not worse than any other method {'; '.join(parts)}. The others may or may not be worse."


def over_methods(what: str, rows: Sequence[Mapping[str, Any]], key: str) -> str:
    """Return a sentence with the mean, minimum and maximum of a difference, taken over the methods.

    The result is empty if no method has the difference.
    """
    gaps = {row["method"]: row[key] for row in rows if row.get(key) is not None}
    if not gaps:
        return ""
    least, most = min(gaps, key=gaps.__getitem__), max(gaps, key=gaps.__getitem__)
    return (
        f"{what}: {number(float(np.mean(list(gaps.values()))), '+.4f')} on average over the methods, from "
        f"{number(gaps[least], '+.4f')} ({least}) to {number(gaps[most], '+.4f')} ({most})."
    )


def join_names(names: Sequence[str]) -> str:
    """Return the names in words: `a`, `a and b`, or `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
