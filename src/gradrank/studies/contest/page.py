"""The page of the contest: results, claims, variances, choices, budgets, and the agreement of collections."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from gradrank.base.numbers import number
from gradrank.evaluation.metrics import metric_label
from gradrank.evaluation.statistics import LEVEL, holm, wilcoxon
from gradrank.report.plots.chart import Series, line_chart
from gradrank.report.tables.table import Column, Table
from gradrank.studies.common.study import Figure, Inputs, PageSection
from gradrank.studies.contest import tables
from gradrank.studies.contest.agreement import agreement
from gradrank.studies.contest.budget import Crossing, crossings, expected_best
from gradrank.studies.contest.claims import claims_in_words, compare_all, join_names
from gradrank.studies.contest.results import (
    HEADLINE,
    ContestEntry,
    EntryTrials,
    constant_score_runs,
    read_entries,
    read_entry_trials,
)
from gradrank.studies.contest.timeline import timeline
from gradrank.tuning.folders import Contest

MEASURE = metric_label(HEADLINE)


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page.

    The sections on each data set come first. The section on the agreement between data sets comes last.
    """
    frozen = list(inputs.settings.get("frozen", ()))
    entries_by_dataset = {dataset: read_entries(inputs, dataset) for dataset in [*inputs.datasets, *frozen]}
    sections = []
    for dataset, entries in entries_by_dataset.items():
        sections += [
            _results(inputs, dataset, entries, dataset in frozen),
            *_claims(dataset, entries),
            _shares(dataset, entries),
        ]
        if dataset not in frozen:
            trials = {entry.method: read_entry_trials(inputs, entry) for entry in entries}
            sections += [_choosing(dataset, entries, trials), _budget(dataset, trials)]
    return [*sections, *([_agreement(entries_by_dataset, frozen)] if len(entries_by_dataset) > 1 else [])]


def _results(inputs: Inputs, dataset: str, entries: Sequence[ContestEntry], frozen: bool) -> PageSection:
    """Return the section on the means over folds and the costs."""
    settings = inputs.settings
    tuned = (
        f"Nothing was tried on {dataset}: each tuner's one configuration for all folds of "
        f"{inputs.datasets[0]} was taken over and trained here, {settings['seeds']} seeds each."
        if frozen
        else f"{settings['tuners']} tuners tried {settings['trials']} configurations of every method on every fold, "
        "the default first, the others drawn from the method's space. Each fold's own validation part alone chose "
        f"({MEASURE}, short lists by their length). The choice was frozen and trained again with {settings['seeds']} "
        "seeds; then the test part was scored."
    )
    content = [tables.results(dataset, entries, constant_score_runs(inputs, dataset))]
    content.append(tables.costs(dataset, entries, Contest(inputs.folder), settings["seeds"]))
    return PageSection(
        f"results_{dataset}",
        f"{dataset}: results",
        [f"{tuned} Convention: `{settings['conventions'][dataset]}`."],
        content,
    )


def _claims(dataset: str, entries: Sequence[ContestEntry]) -> list[PageSection]:
    """Return the section on the claims, and the section on the timeline if there is one."""
    runs = {entry.method: entry.runs() for entry in entries}
    comparisons = compare_all(runs)
    content = [tables.pairs(dataset, comparisons), tables.probabilities(dataset, list(runs), comparisons)]
    paragraphs = claims_in_words(comparisons, MEASURE, _naive(entries))
    claims = PageSection(f"claims_{dataset}", f"{dataset}: what may be claimed", paragraphs, content)
    return [claims, *filter(None, [timeline(dataset, entries, comparisons)])]


def _naive(entries: Sequence[ContestEntry]) -> list[tuple[str, str]]:
    """Return the pairs of methods that differ significantly in Wilcoxon's test over the queries of one run per method.

    The run is the first run of the first tuner. The p values are corrected by Holm.
    """
    values = {entry.method: entry.values[HEADLINE][0, 0] for entry in entries}
    pairs = list(combinations(values, 2))
    corrected = holm([wilcoxon(values[first], values[second]) for first, second in pairs])
    return [pair for pair, p in zip(pairs, corrected, strict=True) if p < LEVEL]


def _shares(dataset: str, entries: Sequence[ContestEntry]) -> PageSection:
    """Return the section on the variance of a single run."""
    table = tables.shares(dataset, entries)
    varying = [row for row in table.rows if row["queries"] is not None]
    sources = ("queries", "seeds", "tuning") if varying else ()
    means = {key: float(np.mean([row[key] for row in varying])) for key in sources}
    shares = ", ".join(f"{key} {share:.0%}" for key, share in means.items())
    return PageSection(
        f"variances_{dataset}",
        f"{dataset}: what a single run depends on",
        [f"On average over the methods: {shares}." if varying else "Nothing varies."],
        [table],
    )


def _choosing(dataset: str, entries: Sequence[ContestEntry], trials: Mapping[str, EntryTrials]) -> PageSection:
    """Return the section on the chosen configurations.

    The section gives the gain from tuning, and the additional gain from choosing one configuration for all folds. This
    choice has a leak: the test queries of each fold are validation queries of another fold. It also uses more queries.
    """
    table = tables.choosing(dataset, trials)
    leaks = {row["method"]: row["leak"] for row in table.rows if row["leak"] is not None}
    gains = {row["method"]: row["gain"] for row in table.rows if row["gain"] is not None}
    paragraphs = [
        _over_methods("Tuned against the default", gains),
        _over_methods(
            "One configuration for all folds, which has seen every test query, against a choice per fold", leaks
        ),
    ]
    failed = tables.failed(dataset, trials)
    content = [table, tables.chosen(dataset, entries), *([failed] if failed.rows else [])]
    return PageSection(
        f"choosing_{dataset}", f"{dataset}: what was chosen, and the leak", list(filter(None, paragraphs)), content
    )


def _over_methods(what: str, gaps: Mapping[str, float]) -> str:
    """Return a sentence with the mean, minimum and maximum of a difference, taken over the methods."""
    if not gaps:
        return ""
    least, most = min(gaps, key=gaps.__getitem__), max(gaps, key=gaps.__getitem__)
    return (
        f"{what}: {number(float(np.mean(list(gaps.values()))), '+.4f')} on average over the methods, from "
        f"{number(gaps[least], '+.4f')} ({least}) to {number(gaps[most], '+.4f')} ({most})."
    )


def _budget(dataset: str, trials: Mapping[str, EntryTrials]) -> PageSection:
    """Return the section on the expected test value of each method as a function of the number of trials."""
    curves_by_method = curves(trials)
    crossed = crossings(curves_by_method)
    table = tables.budget(dataset, curves_by_method)
    alt = f"{dataset}: expected test {MEASURE} of the best of n drawn configurations, by n. " + _ends(curves_by_method)
    series = [Series(method, range(1, len(curve) + 1), curve.tolist()) for method, curve in curves_by_method.items()]
    drawing = line_chart(series, "trials", f"expected test {MEASURE}", alt)
    figure = Figure(f"budget_{dataset}_figure", table.title, drawing, alt, table)
    paragraphs = [
        "For every number of trials the expected test value of the configuration that validation would have chosen, "
        "exactly, over all sets of so many of the drawn ones; the default is not among them. A method without a space "
        "has the one value.",
        _crossed(crossed),
    ]
    return PageSection(
        f"budget_{dataset}",
        f"{dataset}: what a budget is worth",
        paragraphs,
        [figure, *([tables.crossings(dataset, crossed)] if crossed else [])],
    )


def curves(trials: Mapping[str, EntryTrials]) -> dict[str, np.ndarray]:
    """Return, for each method, the (n,) expected test values with 1, ..., n trials, averaged over folds.

    n is the smallest number of random trials that any method with a search space has on any fold. A method without a
    search space has the same value for every number of trials.
    """
    import polars as pl

    drawn, single = {}, {}
    for method, method_trials in trials.items():
        means = method_trials.tested.group_by("fold", "tuner", "trial", maintain_order=True).agg(
            pl.col(HEADLINE).mean()
        )
        joined = method_trials.trials.join(means, ["fold", "tuner", "trial"], maintain_order="left")
        random = joined.filter(pl.col("trial") > 0).drop_nulls(HEADLINE)
        if random.is_empty():
            mean = joined.group_by("fold").agg(pl.col(HEADLINE).mean())[HEADLINE].mean()
            assert isinstance(mean, float)
            single[method] = mean
            continue
        folds = [
            expected_best(fold["vali_ndcg@10"].to_numpy(), fold[HEADLINE].to_numpy())
            for fold in random.partition_by("fold", maintain_order=True)
        ]
        reach = min(map(len, folds))
        drawn[method] = np.mean([curve[:reach] for curve in folds], axis=0)
    reach = min(map(len, drawn.values()), default=1)
    values = {method: curve[:reach] for method, curve in drawn.items()}
    values |= {method: np.full(reach, value) for method, value in single.items()}
    return {method: values[method] for method in trials}


def _ends(curves_by_method: Mapping[str, np.ndarray]) -> str:
    """Return the first and the last value of each curve in words."""
    reach = len(next(iter(curves_by_method.values())))
    parts = [
        f"{method} {number(float(curve[0]))} to {number(float(curve[-1]))}"
        for method, curve in curves_by_method.items()
    ]
    return f"From 1 to {reach}: {', '.join(parts)}"


def _crossed(crossed: Sequence[Crossing]) -> str:
    """Return a sentence that says how many pairs of curves cross."""
    if not crossed:
        return "No two curves change their order between one trial and all."
    return (
        f"Which of two methods is the better one depends on the budget in {len(crossed)} pairs, whose curves cross: "
        "the table names them and the number of trials."
    )


def _agreement(entries_by_dataset: Mapping[str, Sequence[ContestEntry]], frozen: Sequence[str]) -> PageSection:
    """Return the section on Kendall's tau between the orders of the methods, for every pair of data sets."""
    rows = []
    for first, second in combinations(entries_by_dataset, 2):
        methods = sorted(entry.method for entry in entries_by_dataset[first])
        tau = agreement(*_matrix(entries_by_dataset[first], methods), *_matrix(entries_by_dataset[second], methods))
        rows.append({"first": first, "second": second} | tau._asdict())
    columns = [Column("first"), Column("second"), Column("tau", "Kendall's tau", ".3f")]
    columns += [Column("low", "95% interval from", ".3f"), Column("high", "to", ".3f")]
    paragraphs = [
        f"{row['first']} and {row['second']} order the methods with tau {number(row['tau'], '.2f')} "
        f"(95%: {number(row['low'], '.2f')} to {number(row['high'], '.2f')}): the order "
        f"{'holds' if row['low'] > 0 else 'does not hold for certain'}."
        for row in rows
    ]
    if frozen:
        paragraphs.append(f"Looked at once, with everything frozen: {join_names(list(frozen))}.")
    table = Table(
        "agreement",
        "Do collections order the methods alike?",
        columns,
        rows,
        "1: the same order. The interval is over both collections' queries.",
    )
    return PageSection("agreement", "Does the order hold?", paragraphs, [table])


def _matrix(entries: Sequence[ContestEntry], methods: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays: the (q, m) means over runs, and the (q,) folds of the queries.

    The columns of the first array are in the order of `methods`.
    """
    by_method = {entry.method: entry.runs() for entry in entries}
    return np.stack([by_method[name].per_query for name in methods], axis=1), by_method[methods[0]].folds
