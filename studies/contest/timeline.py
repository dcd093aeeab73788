"""Methods by year of publication: their means, and the best mean up to each year."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from gradrank.base.numbers import number
from gradrank.bench.report.plots import svg
from gradrank.bench.report.plots.strips import MIDDLE, Strip, axis, bar, percent, stacked, strip, vertical_line
from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.study import Figure, PageSection
from gradrank.measures.metrics import metric_label
from gradrank.training.literature.model_families import year
from gradrank.training.registry import get_model
from studies.contest.comparisons import Estimates, half_widths
from studies.contest.results import HEADLINE, ContestEntry

MEASURE = metric_label(HEADLINE)


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
