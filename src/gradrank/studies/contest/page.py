"""The page: results, claims, what a run depends on, what a budget and a leak are worth; whether collections agree."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from gradrank.evaluation.metrics import metric_label
from gradrank.evaluation.statistics import LEVEL, holm, wilcoxon
from gradrank.report.plots.chart import Series, line_chart
from gradrank.report.tables.numbers import number
from gradrank.report.tables.table import Column, Table
from gradrank.studies.common.study import Figure, Inputs, PageSection
from gradrank.studies.contest import tables
from gradrank.studies.contest.agreement import agreement
from gradrank.studies.contest.budget import Crossing, crossings, expected_best
from gradrank.studies.contest.claims import compare_all, in_words, listed
from gradrank.studies.contest.reading import HEADLINE, Entry, Tried, constant, entries, tried
from gradrank.studies.contest.timeline import timeline
from gradrank.tuning.folders import Contest

MEASURE = metric_label(HEADLINE)


def build(inputs: Inputs) -> list[PageSection]:
    frozen = list(inputs.settings.get("frozen", ()))
    found = {dataset: entries(inputs, dataset) for dataset in [*inputs.datasets, *frozen]}
    sections = []
    for dataset, own in found.items():
        sections += [_results(inputs, dataset, own, dataset in frozen), *_claims(dataset, own), _shares(dataset, own)]
        if dataset not in frozen:
            trials = {entry.method: tried(inputs, entry) for entry in own}
            sections += [_choosing(dataset, own, trials), _budget(dataset, trials)]
    return [*sections, *([_agreement(found, frozen)] if len(found) > 1 else [])]


def _results(inputs: Inputs, dataset: str, own: Sequence[Entry], frozen: bool) -> PageSection:
    settings = inputs.settings
    tuned = (
        f"Nothing was tried on {dataset}: each tuner's one configuration for all folds of "
        f"{inputs.datasets[0]} was taken over and trained here, {settings['seeds']} seeds each."
        if frozen
        else f"{settings['tuners']} tuners tried {settings['trials']} configurations of every method on every fold, "
        "the default first, the others drawn from the method's space. Each fold's own validation part alone chose "
        f"({MEASURE}, short lists by their length). The choice was frozen and trained anew with {settings['seeds']} "
        "seeds; then the test part was scored."
    )
    content = [tables.results(dataset, own, constant(inputs, dataset))]
    content.append(tables.costs(dataset, own, Contest(inputs.folder), settings["seeds"]))
    return PageSection(
        f"results_{dataset}",
        f"{dataset}: results",
        [f"{tuned} Convention: `{settings['conventions'][dataset]}`."],
        content,
    )


def _claims(dataset: str, own: Sequence[Entry]) -> list[PageSection]:
    """What may be claimed, and of whole years."""
    runs = {entry.method: entry.runs() for entry in own}
    found = compare_all(runs)
    content = [tables.pairs(dataset, found), tables.probabilities(dataset, list(runs), found)]
    said = in_words(found, MEASURE, _naive(own))
    claims = PageSection(f"claims_{dataset}", f"{dataset}: what may be claimed", said, content)
    return [claims, *filter(None, [timeline(dataset, own, found)])]


def _naive(own: Sequence[Entry]) -> list[tuple[str, str]]:
    """The pairs that differ by Wilcoxon's test over the queries of the first tuner's first run, after Holm."""
    values = {entry.method: entry.values[HEADLINE][0, 0] for entry in own}
    named = list(combinations(values, 2))
    corrected = holm([wilcoxon(values[one], values[other]) for one, other in named])
    return [pair for pair, p in zip(named, corrected, strict=True) if p < LEVEL]


def _shares(dataset: str, own: Sequence[Entry]) -> PageSection:
    table = tables.shares(dataset, own)
    known = [row for row in table.rows if row["queries"] is not None]
    means = (
        {key: float(np.mean([row[key] for row in known])) for key in ("queries", "seeds", "tuning")} if known else {}
    )
    said = ", ".join(f"{key} {share:.0%}" for key, share in means.items())
    return PageSection(
        f"variances_{dataset}",
        f"{dataset}: what a single run depends on",
        [f"On average over the methods: {said}." if known else "Nothing varies."],
        [table],
    )


def _choosing(dataset: str, own: Sequence[Entry], trials: Mapping[str, Tried]) -> PageSection:
    table = tables.choosing(dataset, trials)
    leaks = {row["method"]: row["leak"] for row in table.rows if row["leak"] is not None}
    gains = {row["method"]: row["gain"] for row in table.rows if row["gain"] is not None}
    said = [
        _over_methods("Tuned against the default", gains),
        _over_methods(
            "One configuration for all folds, which has seen every test query, against a choice a fold", leaks
        ),
    ]
    failed = tables.failed(dataset, trials)
    content = [table, tables.chosen(dataset, own), *([failed] if failed.rows else [])]
    return PageSection(
        f"choosing_{dataset}", f"{dataset}: what was chosen, and the leak", list(filter(None, said)), content
    )


def _over_methods(what: str, gaps: Mapping[str, float]) -> str:
    """The mean of a difference over the methods, and its ends."""
    if not gaps:
        return ""
    least, most = min(gaps, key=gaps.__getitem__), max(gaps, key=gaps.__getitem__)
    return (
        f"{what}: {number(float(np.mean(list(gaps.values()))), '+.4f')} on average over the methods, from "
        f"{number(gaps[least], '+.4f')} ({least}) to {number(gaps[most], '+.4f')} ({most})."
    )


def _budget(dataset: str, trials: Mapping[str, Tried]) -> PageSection:
    found = curves(trials)
    crossed = crossings(found)
    table = tables.budget(dataset, found)
    alt = f"{dataset}: expected test {MEASURE} of the best of n drawn configurations, by n. " + _ends(found)
    series = [Series(method, range(1, len(curve) + 1), curve) for method, curve in found.items()]
    drawing = line_chart(series, "trials", f"expected test {MEASURE}", alt)
    figure = Figure(f"budget_{dataset}_figure", table.title, drawing, alt, table)
    said = [
        "For every number of trials the expected test value of the configuration that validation would have chosen, "
        "exactly, over all sets of so many of the drawn ones; the default is not among them. A method without a space "
        "has the one value.",
        _crossed(crossed),
    ]
    return PageSection(
        f"budget_{dataset}",
        f"{dataset}: what a budget is worth",
        said,
        [figure, *([tables.crossings(dataset, crossed)] if crossed else [])],
    )


def curves(trials: Mapping[str, Tried]) -> dict[str, np.ndarray]:
    """By method the mean over folds of expected_best, as far as all methods' drawn configurations reach."""
    import polars as pl

    drawn, single = {}, {}
    for method, own in trials.items():
        means = own.tested.group_by("fold", "tuner", "trial", maintain_order=True).agg(pl.col(HEADLINE).mean())
        joined = own.trials.join(means, ["fold", "tuner", "trial"], maintain_order="left")
        random = joined.filter(pl.col("trial") > 0).drop_nulls(HEADLINE)
        if random.is_empty():
            single[method] = float(joined.group_by("fold").agg(pl.col(HEADLINE).mean())[HEADLINE].mean())
            continue
        folds = [
            expected_best(each["vali_ndcg@10"].to_numpy(), each[HEADLINE].to_numpy())
            for each in random.partition_by("fold", maintain_order=True)
        ]
        reach = min(map(len, folds))
        drawn[method] = np.mean([curve[:reach] for curve in folds], axis=0)
    reach = min(map(len, drawn.values()), default=1)
    found = {method: curve[:reach] for method, curve in drawn.items()}
    found |= {method: np.full(reach, value) for method, value in single.items()}
    return {method: found[method] for method in trials}


def _ends(found: Mapping[str, np.ndarray]) -> str:
    reach = len(next(iter(found.values())))
    said = [f"{method} {number(float(curve[0]))} to {number(float(curve[-1]))}" for method, curve in found.items()]
    return f"From 1 to {reach}: {', '.join(said)}"


def _crossed(found: Sequence[Crossing]) -> str:
    if not found:
        return "No two curves change their order between one trial and all."
    return (
        f"Which of two methods is the better one depends on the budget in {len(found)} pairs, whose curves cross: the "
        "table names them and the number of trials."
    )


def _agreement(found: Mapping[str, Sequence[Entry]], frozen: Sequence[str]) -> PageSection:
    """Kendall's tau of every two data sets' orders."""
    rows = []
    for one, other in combinations(found, 2):
        first, second = (_matrix(found[name], sorted(entry.method for entry in found[one])) for name in (one, other))
        rows.append({"first": one, "second": other} | agreement(*first, *second)._asdict())
    columns = [Column("first"), Column("second"), Column("tau", "Kendall's tau", ".3f")]
    columns += [Column("low", "95% from", ".3f"), Column("high", "to", ".3f")]
    said = [
        f"{row['first']} and {row['second']} order the methods with tau {number(row['tau'], '.2f')} "
        f"(95%: {number(row['low'], '.2f')} to {number(row['high'], '.2f')}): the order "
        f"{'holds' if row['low'] > 0 else 'does not hold for certain'}."
        for row in rows
    ]
    if frozen:
        said.append(f"Looked at once, with everything frozen: {listed(list(frozen))}.")
    table = Table(
        "agreement",
        "Do collections order the methods alike?",
        columns,
        rows,
        "1: the same order. The interval is over both collections' queries.",
    )
    return PageSection("agreement", "Does the order hold?", said, [table])


def _matrix(own: Sequence[Entry], methods: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """(q, m) means over runs in this order of methods, and (q,) folds."""
    by_method = {entry.method: entry.runs() for entry in own}
    return np.stack([by_method[name].per_query for name in methods], axis=1), by_method[methods[0]].folds
