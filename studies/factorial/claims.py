"""The claims of the page, and the missing ones, in words that follow from the numbers by fixed rules."""

from collections.abc import Sequence

from gradrank.base.numbers import number
from gradrank.comparison.statistics import LEVEL
from studies.factorial.scopes import BEYOND, MEAN, NO_EVIDENCE, Rows

RULES = [
    "Questions stated before the results: which scorers differ in the mean over losses, which losses differ in the "
    "mean over scorers, and which combinations are better or worse than the sum of both effects? A claim needs a p "
    f"value below {LEVEL:g} after Holm's correction for all contrasts of a scope and Bonferroni's for the scopes, so "
    f"the probability that this page has any false claim is about {LEVEL:.0%} or less, for methods trained on these "
    "training parts, unless the results of one combination vary far more than those of all others.",
    "The intervals are for single contrasts. Differences are claimed because their estimates are large, so these "
    "estimates and their intervals are on average too far from 0. The intervals treat the variance of tuning as known. "
    "The p values do not, so an interval without 0 can have a large p value.",
    "No evidence of a difference does not show that two means are equal. The column `detectable` has the true "
    "difference that would have been found with a probability of 80%. A value above 1 means that no possible "
    "difference would have reached this probability.",
]


def scope_in_words(scope: str, collections: Sequence[str]) -> str:
    """Return what a scope is about, as the beginning of a sentence."""
    names = ", ".join(collections)
    texts = {MEAN: f"In the mean over {names}", BEYOND: f"For other collections like {names} (random effects)"}
    return texts.get(scope, f"On {scope}")


def claims(scope: str, rows: Rows, collections: Sequence[str]) -> list[str]:
    """Return one paragraph per question about one scope."""
    where = scope_in_words(scope, collections)
    return [
        _of_pairs(where, "scorers", "losses", [row for row in rows if row["question"] == "scorer"]),
        _of_pairs(where, "losses", "scorers", [row for row in rows if row["question"] == "loss"]),
        _of_interactions(where, [row for row in rows if row["question"] == "interaction"]),
    ]


def _of_pairs(where: str, what: str, averaged: str, rows: Rows) -> str:
    """Return the claimed differences in words, grouped by the better scorer or loss. The largest group comes first."""
    claimed = sorted((row for row in rows if row["verdict"] != NO_EVIDENCE), key=lambda row: -abs(row["difference"]))
    if not claimed:
        return f"{where}, no difference between {what} may be claimed. {_open(rows)}"
    groups: dict[str, list[str]] = {}
    for row in claimed:
        better, worse = (row["first"], row["second"]) if row["difference"] > 0 else (row["second"], row["first"])
        groups.setdefault(better, []).append(f"`{worse}` ({number(abs(row['difference']), '+.4f')})")
    largest_first = sorted(groups.items(), key=lambda group: -len(group[1]))
    parts = [f"`{better}` is better than {', '.join(worse)}" for better, worse in largest_first]
    rest = [row for row in rows if row["verdict"] == NO_EVIDENCE]
    opening = f"{where}, these differences between {what}, averaged over {averaged}, may be claimed"
    sentence = f"{opening}: {'; '.join(parts)}. The table has their intervals."
    return f"{sentence} {_open(rest)}" if rest else sentence


def _open(rows: Rows) -> str:
    """Return a sentence on the pairs without evidence, and on the differences that could have been found."""
    least, most = (number(f(row["detectable"] for row in rows)) for f in (min, max))
    size = least if len(rows) == 1 else f"{least} to {most}, depending on the pair,"
    return (
        f"There is no evidence for {len(rows)} {'pair' if len(rows) == 1 else 'pairs'}. A true difference of {size} "
        "would have been found with a probability of 80%."
    )


def _of_interactions(where: str, rows: Rows) -> str:
    claimed = sorted((row for row in rows if row["verdict"] != NO_EVIDENCE), key=lambda row: -abs(row["difference"]))
    if not claimed:
        return (
            f"{where}, no interaction may be claimed: for none of the {len(rows)} combinations is there evidence that "
            "its value differs from the sum of the effects of its scorer and its loss."
        )
    parts = [
        f"`{row['first']}` with `{row['second']}` is {row['verdict']} ({number(row['difference'], '+.4f')})"
        for row in claimed
    ]
    return (
        f"{where}, {len(claimed)} of {len(rows)} combinations differ from the sum of the effects of scorer and loss: "
        f"{'; '.join(parts)}. For these combinations, the averages over losses or scorers do not tell the whole."
    )
