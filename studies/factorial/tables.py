"""The tables of the factorial study, and its claims in words.

The claims, and the missing ones, follow from the numbers by fixed rules.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gradrank.base.text_tables import number
from gradrank.bench.report.tables.table import Column, P, Table
from gradrank.comparison.statistics import LEVEL
from gradrank.measures.metrics import metric_label
from studies.contest.results import HEADLINE
from studies.factorial.effects import BEYOND, MEAN, NO_EVIDENCE, Rows

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


MEASURE = metric_label(HEADLINE)
INTERVAL = (Column("low", "95% interval from", "+.4f"), Column("high", "to", "+.4f"))
TITLES = {
    "scorer": "Scorers, averaged over losses",
    "loss": "Losses, averaged over scorers",
    "interaction": "Interaction: the value minus the sum of the effects of scorer and loss",
}


def cells(dataset: str, rows: Rows) -> Table:
    """Return the table of the means of all combinations."""
    columns = [Column("first", "scorer"), Column("second", "loss"), Column("value", MEASURE, ".4f")]
    columns += [Column("low", "95% interval from", ".4f"), Column("high", "to", ".4f")]
    note = "Mean over folds, tuners and seeds. The bootstrap interval covers queries, seeds and tuning."
    return Table(f"cells_{dataset}", f"Test {MEASURE} of every combination", columns, rows, note)


def effects(dataset: str, rows: Rows) -> Table:
    """Return the table of the effects of each scorer and each loss."""
    columns = [Column("question", "of"), Column("first", "name"), Column("value", "effect", "+.4f"), *INTERVAL]
    note = f"Mean {MEASURE} of a scorer (over losses) or of a loss (over scorers), minus the mean of all combinations."
    return Table(f"effects_{dataset}", "Main effects", columns, rows, note)


def shares(dataset: str, rows: Rows) -> Table:
    """Return the table of the standard deviations of the effects."""
    columns = [Column("question", "of"), Column("deviation", "sd of the effects", ".4f")]
    columns += [Column("range", "range of the estimates", ".4f")]
    note = (
        "The variance that queries, seeds and tuning add is subtracted from that of the estimates. It is the cautious "
        "estimate of the tests, so the standard deviations are on average too small, and 0 does not show that there is "
        "no effect. The range is not corrected."
    )
    return Table(f"shares_{dataset}", "How much scorers, losses and their interaction differ", columns, rows, note)


def tested(scope: str, question: str, rows: Rows) -> Table:
    """Return the table of the tested contrasts of one question in one scope."""
    names = ("scorer", "loss") if question == "interaction" else ("first", "second")
    columns = [Column("first", names[0]), Column("second", names[1]), Column("difference", form="+.4f"), *INTERVAL]
    if scope == BEYOND:
        columns += [Column("tau", "sd between collections", ".4f")]
        columns += [Column("new_low", "new collection from", "+.4f"), Column("new_high", "to", "+.4f")]
    columns += [Column("error", "standard error", ".4f"), Column("p", form=P), Column("corrected", "p (corrected)", P)]
    columns += [Column("verdict"), Column("detectable", form=".4f")]
    own = [row for row in rows if row["question"] == question]
    note = "Corrected by Holm for all contrasts of the scope, and by Bonferroni for the scopes of the page."
    return Table(f"{question}_{scope}", TITLES[question], columns, own, note)


def pareto(dataset: str, rows: Rows) -> Table:
    """Return the table of value against seconds, fastest first."""
    columns = [Column("scorer"), Column("loss"), Column("seconds", "seconds per training", ".2f")]
    columns += [Column("value", MEASURE, ".4f"), Column("front", "on the front")]
    note = (
        "Processor time of a training on one fold with the scores of the validation part, mean over all trials. On the "
        "front: no other combination is at least as fast, has at least the same mean, and is better in one of the two. "
        "This is a description without a test."
    )
    return Table(f"pareto_{dataset}", f"Test {MEASURE} against processor time", columns, rows, note)


def budgets(dataset: str, rows: Rows) -> Table:
    """Return the table of what a budget of seconds buys."""
    columns = [Column("seconds", "seconds per fold", "g"), Column("scorer"), Column("finished", "losses in time", "d")]
    columns += [Column("loss", "best loss"), Column("validation", f"validation {MEASURE}", ".4f")]
    note = "Best validation value among the trials that end within the time, mean over folds and tuners."
    return Table(f"budgets_{dataset}", "Validation values of 1, 10 and 100 seconds per fold", columns, rows, note)


def files(dataset: str, digests: Mapping[str, str]) -> Table:
    """Return the table of the files of test values in git, with the first digits of their digests."""
    rows: Sequence[dict[str, Any]] = [{"file": name, "sha256": digest} for name, digest in digests.items()]
    note = "The first 16 digits of each SHA-256."
    return Table(f"files_{dataset}", "The files of the test values", [Column("file"), Column("sha256")], rows, note)


def pareto_rows(values: Mapping[tuple[str, str], tuple[float, float]], on_front: Sequence[tuple[str, str]]) -> Rows:
    """Return the rows of `pareto`. values: mean and seconds of each combination. on_front: those on the front."""
    ordered = sorted(values, key=lambda name: (values[name][1], name))
    return [
        {"scorer": scorer, "loss": loss, "seconds": values[scorer, loss][1], "value": values[scorer, loss][0]}
        | {"front": "yes" if (scorer, loss) in on_front else ""}
        for scorer, loss in ordered
    ]
