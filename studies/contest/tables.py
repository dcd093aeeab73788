"""Tables of the contest. Each function returns a table for one data set, or for the methods by year of publication."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from gradrank.base.text_tables import number
from gradrank.bench.report.plots import svg
from gradrank.bench.report.plots.svg import MIDDLE, Strip, axis, bar, percent, stacked, strip, vertical_line
from gradrank.bench.report.tables.table import Column, P, Row, Table
from gradrank.bench.studies.study import Figure, PageSection
from gradrank.bench.tuning.folders import METRICS
from gradrank.comparison.variance import Runs
from gradrank.measures.metrics import metric_label
from gradrank.training.literature import year
from gradrank.training.registry import get_model
from studies.contest.comparisons import MARGINS, Estimates, half_widths
from studies.contest.results import HEADLINE, ContestEntry, Crossing, configuration_in_words
from studies.contest.training_variance import UNMEASURED, TrainingVariance

METHOD = Column("method")
HASH = 16  # number of hexadecimal digits of each SHA-256 in the tables
MEASURE = metric_label(HEADLINE)
TRAINING_SHARE = (
    "Training queries: their share in the variance of the difference. "
    f"{UNMEASURED}: not measured, so the standard error does not cover them."
)
UNMEASURED_COLUMN = Column("unmeasured", UNMEASURED, drop_if_empty=True)
INTERVAL = (
    "The half 95% interval is that of the mean over folds, tuners and seeds. It covers queries, seeds and tuning, but "
    "not other training queries. If the variance between a method's tuners is below the pooled one, the pooled one is "
    "used."
)


def results(dataset: str, entries: Sequence[ContestEntry]) -> Table:
    """Return the table of means over folds, highest first."""
    rows: list[Row] = [{"method": entry.method, "sd": entry.runs().spread} for entry in entries]
    for name in METRICS:
        runs = {entry.method: entry.runs(name) for entry in entries}
        halves = half_widths(runs)
        for row in rows:
            row |= {name: runs[row["method"]].mean, f"{name} half": halves[row["method"]]}
    tuned = [entry for entry in entries if entry.trials]
    members = sum(entry.seconds() for entry in tuned if not entry.combines_scores)
    seconds = {entry.method: members if entry.combines_scores else entry.seconds() for entry in tuned}
    rows = [row | {"seconds": seconds.get(row["method"])} for row in rows]
    columns = [METHOD, *(column for name in METRICS for column in _mean_columns(name))]
    columns += [Column("sd", f"{MEASURE} sd", ".4f"), Column("seconds", "processor seconds of a tuner", ",.0f")]
    note = (
        f"{INTERVAL} `sd` is the standard deviation of single runs. The processor seconds are those of all trials of "
        "one tuner. For a method that combines scores, they are the sum over the others."
    )
    return Table(f"results_{dataset}", "Test values", columns, rows, note)


def _mean_columns(name: str) -> tuple[Column, Column]:
    return Column(name, metric_label(name), ".4f"), Column(f"{name} half", "half 95% interval", ".4f")


def against(dataset: str, baseline: str, rows: Sequence[Row]) -> Table:
    """Return the table of the differences of all other methods from a baseline."""
    columns = [METHOD, *_comparison_columns()]
    note = (
        "Effect size: mean difference per query, divided by its standard deviation. Detectable: true difference that "
        "this test would find with a probability of 80%. Equal within: the smallest margin of those in the text within "
        "which two one-sided tests show that the means are equal. An empty cell does not show that they differ. "
        f"{TRAINING_SHARE}"
    )
    return Table(f"against_{baseline}_{dataset}", f"{MEASURE} minus that of {baseline}", columns, rows, note)


def pairs(dataset: str, rows: Sequence[Row]) -> Table:
    """Return the table of the comparisons of all pairs of methods."""
    columns = [Column("first"), Column("second"), *_comparison_columns()]
    return Table(f"pairs_{dataset}", f"Every two methods, {MEASURE}", columns, rows, TRAINING_SHARE)


def _comparison_columns() -> list[Column]:
    return [
        Column("difference", "difference", "+.4f"),
        Column("low", "95% interval from", "+.4f"),
        Column("high", "to", "+.4f"),
        Column("error", "standard error", ".4f"),
        Column("training", "training queries", ".1%", drop_if_empty=True),
        UNMEASURED_COLUMN,
        Column("freedom", "degrees of freedom", ".1f"),
        Column("effect", "effect size", "+.3f"),
        Column("p", "p", P),
        Column("corrected", "p (Holm)", P),
        Column("verdict"),
        Column("detectable", "detectable", ".4f"),
        *(Column(f"equivalent_{margin}", f"p of equality within {margin:g} (Holm)", P) for margin in MARGINS),
        Column("equal_within", "equal within", "g"),
    ]


def not_worse(dataset: str, rows: Sequence[Row]) -> Table:
    """Return the table of the tests whether a method is not worse than any other by a margin."""
    columns = [METHOD]
    for margin in MARGINS:
        columns += [
            Column(f"closest_{margin}", f"hardest other method, margin {margin:g}"),
            Column(f"p_{margin}", "p", P),
            Column(f"corrected_{margin}", "p (Holm)", P),
            Column(f"shown_{margin}", f"not worse by {margin:g}"),
        ]
    columns.append(UNMEASURED_COLUMN)
    note = "The p value of a method is the largest of its one-sided tests against every other method."
    return Table(f"best_{dataset}", "Not worse than the best", columns, rows, note)


def whole(dataset: str, entries: Sequence[ContestEntry]) -> Table:
    """Return the table of the values after training on the training and validation parts together."""
    own = {entry.method: entry.runs() for entry in entries}
    trained = {entry.method: runs for entry in entries if (runs := entry.whole())}
    halves, trained_halves, gaps = half_widths(own), half_widths(trained), _gaps(trained, own)
    rows = []
    for method, runs in own.items():
        row: dict[str, Any] = {"method": method, "train": runs.mean, "train half": halves[method]}
        row |= {"whole": mean(trained.get(method)), "whole half": trained_halves.get(method)}
        rows.append(row | _gap("gain", gaps, method))
    columns = [METHOD]
    for name, title in (("train", "training part"), ("whole", "training and validation parts")):
        columns += [Column(name, title, ".4f"), Column(f"{name} half", "half 95% interval", ".4f")]
    columns += [Column("gain", "gain", "+.4f"), Column("gain half", "half 95% interval", ".4f")]
    note = (
        "The configuration and the number of rounds or epochs are those that the validation part selected. "
        "`coordinate_ascent` and `single_feature` select their start and their feature again. A method that combines "
        "scores has learned from the validation part in both columns, and its members from the training part only."
    )
    return Table(f"whole_{dataset}", f"Test {MEASURE} by the labelled data of the training", columns, rows, note)


def against_whole(dataset: str, combination: str, rows: Sequence[Row]) -> Table:
    """Return the table of the differences of all other methods, trained on both labelled parts, from a combination."""
    title = f"{MEASURE} after training on both parts minus that of {combination}"
    note = (
        "The columns and the correction are those of the questions. "
        f"`{combination}` is not trained again: it has learned from both parts. The variance due to the training "
        "queries is that of trainings on the training part, because the others were not repeated on divisions."
    )
    return Table(f"whole_against_{combination}_{dataset}", title, [METHOD, *_comparison_columns()], rows, note)


def shares(dataset: str, entries: Sequence[ContestEntry], training: TrainingVariance) -> Table:
    """Return the table of the shares of the variance of a single run that are due to each source."""
    rows = []
    for entry in entries:
        variances, term = entry.runs().variances, training.of(entry.method)
        total = variances.total + (term.variance if term else 0.0)
        parts = {"queries": variances.query.variance, "seeds": variances.seed.variance, "tuning": variances.tuning}
        row = {"method": entry.method, "deviation": total**0.5}
        row |= {name: part / total if total else None for name, part in parts.items()}
        rows.append(row | {"training": term.variance / total if term and total else None})
    columns = [METHOD, Column("deviation", "sd of a run", ".4f")]
    columns += [Column(key, title, ".1%") for key, title in zip(SOURCES, SOURCES, strict=True)]
    note = (
        f"Shares of the variance of one run's {MEASURE}: new test queries, another seed, another tuner, other training "
        "queries. The last one is the variance over the divisions minus that of the seeds, and at least 0. An empty "
        "cell: not measured, and not in the total."
    )
    return Table(f"variances_{dataset}", "Sources of the variance of a single run", columns, rows, note)


SOURCES = ("queries", "seeds", "tuning", "training")


def chosen(dataset: str, entries: Sequence[ContestEntry]) -> Table:
    """Return the table of the selected configurations, one row per method, fold and tuner."""
    rows = [
        {
            "method": entry.method,
            "fold": choice.fold,
            "tuner": choice.tuner,
            "trial": choice.trial,
            "configuration": configuration_in_words(choice),
            "validation": choice.value,
        }
        for entry in entries
        for choices in entry.choices
        for choice in choices
    ]
    columns = [METHOD, Column("fold", "fold", "d"), Column("tuner", "tuner", "d"), Column("trial", "trial", "d")]
    columns += [Column("configuration"), Column("validation", "validation", ".4f")]
    note = "Trial 0 is the default. A method that learns from the validation part is not evaluated on it."
    return Table(f"chosen_{dataset}", "The chosen configurations", columns, rows, note)


def files(dataset: str, digests: Mapping[str, str]) -> Table:
    """Return the table of the files from which the page is made. digests: the SHA-256 of each file."""
    rows = [{"file": name, "sha256": digest[:HASH]} for name, digest in digests.items()]
    columns = [Column("file"), Column("sha256")]
    return Table(
        f"files_{dataset}", "The files of this page", columns, rows, f"The first {HASH} digits of each SHA-256."
    )


def choosing(dataset: str, entries: Sequence[ContestEntry]) -> Table:
    """Return the table of the test values of four configurations.

    They are the default configuration, the choice per fold, the choice within the processor time, and the one
    configuration chosen for all folds.
    """
    runs = {
        role: {entry.method: own for entry in entries if (own := entry.selected(role))}
        for role in ("default", "trial", "timed", "one")
    }
    if len(np.unique(entries[0].folds)) == 1:
        runs["one"] = {}  # with a single fold, it is the choice per fold
    gain, loss = _gaps(runs["trial"], runs["default"]), _gaps(runs["timed"], runs["trial"])
    leak = _gaps(runs["one"], runs["trial"])
    rows = []
    for method in (entry.method for entry in entries):
        default, tuned, timed, one = (mean(own.get(method)) for own in runs.values())
        row: dict[str, Any] = {"method": method, "default": default, "tuned": tuned, "timed": timed, "one": one}
        rows.append(row | _gap("gain", gain, method) | _gap("loss", loss, method) | _gap("leak", leak, method))
    columns = [METHOD, Column("default", "default", ".4f"), Column("tuned", "choice per fold", ".4f")]
    columns += _gap_columns("gain", "gain")
    columns += [Column("timed", "choice at equal time", ".4f"), *_gap_columns("loss", "change")]
    columns += [Column("one", "one for all folds", ".4f", drop_if_empty=True), *_gap_columns("leak", "leak")]
    note = (
        f"Test {MEASURE} of the first seed, mean over tuners. The choice at equal time is made among the default and "
        "the first trials that end within the processor time. The first trial of a tuner includes the start of its "
        "process. One configuration for all folds is chosen by its mean validation value: other folds' validation "
        "parts are this fold's test part."
    )
    return Table(f"choosing_{dataset}", "The gain of tuning, equal time, and a leak", columns, rows, note)


def _gaps(after: Mapping[str, Runs], before: Mapping[str, Runs]) -> dict[str, tuple[float, float]]:
    """Return the mean and half the width of the interval of `after` minus `before`, for the methods that have both."""
    gaps = {name: Runs(own.values - before[name].values, own.folds) for name, own in after.items() if name in before}
    halves = half_widths(gaps)
    return {name: (own.mean, halves[name]) for name, own in gaps.items()}


def _gap(key: str, gaps: Mapping[str, tuple[float, float]], method: str) -> dict[str, float | None]:
    """Return the two cells of a method's difference; None if the method has none."""
    found, half = gaps.get(method, (None, None))
    return {key: found, f"{key} half": half}


def _gap_columns(key: str, title: str) -> list[Column]:
    half = Column(f"{key} half", "half 95% interval", ".4f", drop_if_empty=True)
    return [Column(key, title, "+.4f", drop_if_empty=True), half]


def mean(runs: Runs | None) -> float | None:
    """Return the mean of the runs, or None if there are no runs."""
    return runs.mean if runs else None


def failed(dataset: str, entries: Sequence[ContestEntry]) -> Table:
    """Return the table of the trials that ended with an error."""
    rows = [
        row
        for entry in entries
        for table in entry.trials
        for row in table.filter(table["error"].is_not_null()).rows(named=True)
    ]
    columns = [Column("model", "method"), Column("fold", "fold", "d"), Column("tuner", "tuner", "d")]
    columns += [Column("trial", "trial", "d"), Column("configuration"), Column("error", "why")]
    return Table(f"failed_{dataset}", "Configurations that failed", columns, rows)


def budget(dataset: str, curves: Mapping[str, np.ndarray]) -> Table:
    """Return the table of the expected best validation values, one row per method and number of trials."""
    rows = [
        {"method": method, "budget": n, "expected": float(value)}
        for method, curve in curves.items()
        for n, value in enumerate(curve, start=1)
    ]
    columns = [METHOD, Column("budget", "trials", "d"), Column("expected", "expected validation value", ".4f")]
    return Table(f"budget_{dataset}", f"Expected best validation {MEASURE} by budget", columns, rows)


def crossings(dataset: str, crossed: Sequence[Crossing]) -> Table:
    """Return the table of the pairs of methods whose curves cross."""
    columns = [
        Column("behind", "the better one"),
        Column("budget", "from so many trials", "d"),
        Column("ahead", "before"),
    ]
    return Table(f"crossings_{dataset}", "Curves that cross", columns, crossed)


@dataclass(frozen=True)
class DatedMethod:
    """A method with its year of publication.

    mean: mean of the method. half_width: half the width of its 95% interval. best: the best mean among this method and
    the methods before it, in the order of year and then mean.
    """

    method: str
    year: int
    mean: float
    half_width: float
    best: float


def dated_methods(entries: Sequence[ContestEntry]) -> list[DatedMethod]:
    """Return the methods that have a year of publication, sorted by year and then by mean, both ascending.

    Fusions are left out, because a fusion is as recent as its most recent member.
    """
    rows, halves = [], half_widths({entry.method: entry.runs() for entry in entries})
    for entry in entries:
        model = get_model(entry.method)
        if (publication_year := year(model)) and not model.members(model.Params()):
            rows.append((int(publication_year), entry.runs().mean, halves[entry.method], entry.method))
    rows.sort()
    bests = accumulate((mean for _, mean, _, _ in rows), max)
    return [
        DatedMethod(method, published_in, mean, half, best)
        for (published_in, mean, half, method), best in zip(rows, bests, strict=True)
    ]


def timeline(dataset: str, entries: Sequence[ContestEntry], estimates: Estimates) -> PageSection | None:
    """Return the section on the timeline, or None if the methods have fewer than two different years."""
    methods = dated_methods(entries)
    if len({method.year for method in methods}) < 2:
        return None
    columns = [Column("year", form="d"), Column("method"), Column("mean", MEASURE, ".4f")]
    columns += [Column("half_width", "half 95% interval", ".4f"), Column("best", "best so far", ".4f")]
    title = f"{methods[0].year} to {methods[-1].year}"
    table = Table(f"timeline_{dataset}", title, columns, [vars(method) for method in methods])
    alt = f"{dataset}: {MEASURE} by year of publication. " + "; ".join(
        f"{method.year} {method.method} {number(method.mean)}" for method in methods
    )
    note = "Bar: 95% interval over queries, seeds and tuning; thin line: the best value up to that year."
    figure = Figure(f"timeline_{dataset}_figure", f"{MEASURE}, {title}", _draw(methods), alt, table, note)
    return PageSection(
        f"timeline_{dataset}", f"{dataset}: what the years brought", [_in_words(methods, estimates)], [figure]
    )


def _draw(methods: Sequence[DatedMethod]) -> str:
    ends = [method.mean + sign * method.half_width for method in methods for sign in (-1, 1)]
    scale = svg.padded(ends, 0, 100, 0.04)
    rows = []
    for method in methods:
        parts = [
            bar(scale, method.mean - method.half_width, method.mean + method.half_width),
            vertical_line(scale, method.best, "mean"),
            svg.element("circle", cx=percent(scale, method.mean), cy=MIDDLE, r=3.5, class_="dot f1"),
        ]
        label = f"{method.year}: {method.mean:.4f} ± {method.half_width:.4f}, best so far {method.best:.4f}"
        rows.append(Strip(f"{method.year} {method.method}", method.mean, strip(scale, parts, label)))
    return stacked(rows, axis(scale), ".4f")


def _in_words(methods: Sequence[DatedMethod], estimates: Estimates) -> str:
    """Return a sentence that compares the best method of the first year with the best method of all years."""
    first = max((method for method in methods if method.year == methods[0].year), key=lambda method: method.mean)
    last = max(methods, key=lambda method: method.mean)
    sentence = (
        f"Of the methods of {first.year} the best, {first.method}, has {MEASURE} {number(first.mean)}; "
        f"the best of all years is {last.method} ({last.year}) with {number(last.mean)}"
    )
    if first.method == last.method:
        return f"{sentence}."
    gap = estimates.of(last.method, first.method)
    bounds = gap.difference - gap.half_width, gap.difference + gap.half_width
    difference, low, high = (number(value, "+.4f") for value in (gap.difference, *bounds))
    return (
        f"{sentence}: {difference} [{low}, {high}]. The two methods were picked by their values, so this interval is "
        "too narrow for a claim. The questions above have the tests."
    )
