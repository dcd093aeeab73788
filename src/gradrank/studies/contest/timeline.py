"""What the years brought: the methods by the year of their publication, and the best value so far."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from gradrank.evaluation.literature.lineage import year
from gradrank.evaluation.metrics import metric_label
from gradrank.report.plots import svg
from gradrank.report.plots.strips import MIDDLE, Strip, axis, bar, percent, stacked, strip, vertical_line
from gradrank.report.tables.numbers import number
from gradrank.report.tables.table import Column, Table
from gradrank.studies.common.study import Figure, PageSection
from gradrank.studies.contest.claims import Pair
from gradrank.studies.contest.reading import HEADLINE, Entry
from gradrank.training.registry import get_model

MEASURE = metric_label(HEADLINE)


@dataclass(frozen=True)
class Dated:
    """A method with its year, its mean with half the 95% interval, and the best mean up to then."""

    method: str
    year: int
    mean: float
    half_width: float
    best: float


def dated(entries: Sequence[Entry]) -> list[Dated]:
    """The methods that somebody published, the earliest first; of one year the lower mean first.

    A fusion is left out: it is as young as its youngest member.
    """
    found = []
    for entry in entries:
        model = get_model(entry.method)
        if (published := year(model)) and not model.members(model.Params()):
            runs = entry.runs()
            found.append((int(published), runs.mean, runs.half_width, entry.method))
    found.sort()
    bests = accumulate((mean for _, mean, _, _ in found), max)
    return [
        Dated(method, when, mean, half, best) for (when, mean, half, method), best in zip(found, bests, strict=True)
    ]


def timeline(dataset: str, entries: Sequence[Entry], pairs: Sequence[Pair]) -> PageSection | None:
    """None where no two methods have a year."""
    found = dated(entries)
    if len({each.year for each in found}) < 2:
        return None
    columns = [Column("year", form="d"), Column("method"), Column("mean", MEASURE, ".4f")]
    columns += [Column("half_width", "± 95%", ".4f"), Column("best", "best so far", ".4f")]
    title = f"{found[0].year} to {found[-1].year}"
    table = Table(f"timeline_{dataset}", title, columns, [vars(each) for each in found])
    alt = f"{dataset}: {MEASURE} by year of publication. " + "; ".join(
        f"{each.year} {each.method} {number(each.mean)}" for each in found
    )
    note = "Bar: 95% interval over queries, seeds and tuning; thin line: the best value up to that year."
    figure = Figure(f"timeline_{dataset}_figure", f"{MEASURE}, {title}", _drawn(found), alt, table, note)
    return PageSection(f"timeline_{dataset}", f"{dataset}: what the years brought", [_said(found, pairs)], [figure])


def _drawn(found: Sequence[Dated]) -> str:
    ends = [each.mean + sign * each.half_width for each in found for sign in (-1, 1)]
    scale = svg.padded(ends, 0, 100, 0.04)
    rows = []
    for each in found:
        parts = [
            bar(scale, each.mean - each.half_width, each.mean + each.half_width),
            vertical_line(scale, each.best, "mean"),
            svg.element("circle", cx=percent(scale, each.mean), cy=MIDDLE, r=3.5, class_="dot f1"),
        ]
        label = f"{each.year}: {each.mean:.4f} ± {each.half_width:.4f}, best so far {each.best:.4f}"
        rows.append(Strip(f"{each.year} {each.method}", each.mean, strip(scale, parts, label)))
    return stacked(rows, axis(scale), ".4f")


def _said(found: Sequence[Dated], pairs: Sequence[Pair]) -> str:
    """From the best of the first year's methods to the best of all."""
    first = max((each for each in found if each.year == found[0].year), key=lambda each: each.mean)
    last = max(found, key=lambda each: each.mean)
    said = (
        f"Of the methods of {first.year} the best, {first.method}, has {MEASURE} {number(first.mean)}; "
        f"the best of all years is {last.method} ({last.year}) with {number(last.mean)}"
    )
    for pair in pairs:
        if (pair.first, pair.second) == (last.method, first.method):
            gap, low, high = (number(value, "+.4f") for value in (pair.difference, pair.low, pair.high))
            return f"{said}: {gap} [{low}, {high}], {pair.verdict}."
    return f"{said}."
