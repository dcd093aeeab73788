"""The page of the factorial study: claims, effects, heat maps, pooled results, and the price of each combination.

The price is the processor time of the combinations on the Pareto front, and what a budget of seconds buys. The seconds
are those of the trials: processor time of a training on one fold and of the scores of its validation part.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from markupsafe import Markup

from gradrank.base.errors import GradrankError
from gradrank.base.text_tables import number
from gradrank.bench.report.plots import svg
from gradrank.bench.report.plots.chart import FRAME, KEY_LINE, WIDTH
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from gradrank.bench.tuning.choices import JUDGED
from studies.contest.results import ContestEntry, read_entries
from studies.factorial import cell, tables
from studies.factorial.effects import BEYOND, MEAN, QUESTIONS, Analysis, Cells, analyse
from studies.factorial.tables import MEASURE, RULES, claims

if TYPE_CHECKING:
    import polars as pl


Name = TypeVar("Name", str, tuple[str, str])

BUDGETS = (1.0, 10.0, 100.0)  # seconds per tuner and fold


def seconds_per_training(trials: "Sequence[pl.DataFrame]") -> float:
    """Return the mean processor time of a training on one fold. trials: one table per tuner."""
    return float(np.mean(np.concatenate([table["seconds"].to_numpy() for table in trials])))


def front(values: Mapping[Name, tuple[float, float]]) -> list[Name]:
    """Return the names on the Pareto front, fastest first.

    values: for each name, its value and its seconds. A name is on the front if no other name is at least as fast, has
    at least the same value, and is better in one of the two. Values and seconds are compared to nine decimals, so that
    the last bits of a mean decide nothing.
    """
    rounded = {name: (round(value, 9), round(seconds, 9)) for name, (value, seconds) in values.items()}
    found: list[Name] = []
    for name in sorted(rounded, key=lambda name: (rounded[name][1], -rounded[name][0], name)):
        last = rounded[found[-1]] if found else None
        if last is None or rounded[name][0] > last[0] or rounded[name] == last:
            found.append(name)
    return found


def best_within(trials: "Sequence[pl.DataFrame]", seconds: float) -> float | None:
    """Return the mean over folds and tuners of the best validation NDCG@10 within `seconds` of processor time.

    A tuner tries its configurations one after the other on each fold, and the trials that end within the time count.
    Returns None if every trial of a fold takes longer or fails.
    """
    best = []
    for table in trials:
        for rows in table.sort("fold", "trial").partition_by("fold", maintain_order=True):
            ended = rows.filter(rows["seconds"].cum_sum() <= seconds).drop_nulls(JUDGED)
            best.append(ended[JUDGED].max())
    return None if None in best else float(np.mean(np.array(best, dtype=np.float64)))


def budget_rows(trials: "Mapping[tuple[str, str], Sequence[pl.DataFrame]]") -> list[dict[str, Any]]:
    """Return one row per budget and scorer: the loss with the highest validation NDCG@10, and this value.

    trials: the tables of the tuners by scorer and loss. If every loss needs more time, the row has None
    as loss and value.
    """
    rows = []
    for seconds in BUDGETS:
        for scorer in dict.fromkeys(scorer for scorer, _ in trials):
            values = {loss: best_within(own, seconds) for (name, loss), own in trials.items() if name == scorer}
            finished = {loss: value for loss, value in values.items() if value is not None}
            best = max(finished, key=finished.__getitem__, default=None)
            row = {"seconds": seconds, "scorer": scorer, "finished": len(finished), "loss": best}
            rows.append(row | {"validation": None if best is None else finished[best]})
    return rows


def front_plot(
    values: Mapping[tuple[str, str], tuple[float, float]], on_front: Sequence[tuple[str, str]], y_title: str, alt: str
) -> Markup:
    """Return a drawing with one dot per combination of a scorer and a loss, on a logarithmic axis of seconds.

    A line connects the combinations on the front. They are numbered, and named below the plot. values: value and
    positive seconds of each combination. on_front: those on the front, fastest first. alt: description as text.
    """
    across = svg.padded([math.log10(seconds) for _, seconds in values.values()], FRAME.left, FRAME.right)
    up = svg.padded([value for value, _ in values.values()], FRAME.bottom, FRAME.top)
    places = {name: (across(math.log10(seconds)), up(value)) for name, (value, seconds) in values.items()}
    parts = FRAME.y_axis(up, up.ticks(6), y_title)
    parts += FRAME.x_axis(across, _ticks(across), "processor seconds per training")
    parts += [
        svg.element("circle", cx=x, cy=y, r=2.6, class_="other")
        for name, (x, y) in places.items()
        if name not in on_front
    ]
    front = [places[name] for name in on_front]
    parts.append(svg.line([x for x, _ in front], [y for _, y in front], "series s1"))
    key = FRAME.bottom + 48
    for place, (name, (x, y)) in enumerate(zip(on_front, front, strict=True), start=1):
        parts.append(svg.element("circle", cx=x, cy=y, r=3.2, class_="s1"))
        parts.append(svg.element("text", place, x=x - 5, y=y - 5, class_="tick value end"))
        text = f"{place}  {name[0]} with {name[1]}: {number(values[name][0])}, {number(values[name][1], '.2f')} s"
        parts.append(svg.element("text", text, x=FRAME.left, y=key + (place - 1) * KEY_LINE, class_="tick"))
    return svg.drawing(parts, WIDTH, key + len(front) * KEY_LINE, alt, "chart")


def _ticks(across: svg.Scale) -> list[tuple[float, str]]:
    """Return ticks at 1, 2 and 5 times the powers of ten in a scale of decimal logarithms."""
    powers = range(math.floor(across.low), math.ceil(across.high) + 1)
    seconds = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    return [(math.log10(x), f"{x:g}") for x in seconds if across.low <= math.log10(x) <= across.high]


LEFT, TOP, BOTTOM = 110, 24, 8  # width of the names, height of the headings, margin below the cells
CELL_WIDTH, CELL_HEIGHT = 74, 26  # size of a cell


def heat_map(scorers: Sequence[str], losses: Sequence[str], means: np.ndarray, alt: str) -> Markup:
    """Return a drawing with one row per scorer and one column per loss, with the means of both at the margins.

    means: (R, C). A higher mean has a darker cell. alt: description as text.
    """
    low, high = float(means.min()), float(means.max())
    rows = [*scorers, "mean"]
    columns = [*losses, "mean"]
    table = np.block(
        [[means, means.mean(axis=1, keepdims=True)], [means.mean(axis=0, keepdims=True), means.mean()[None, None]]]
    )
    parts = [
        svg.element("text", name, x=LEFT + (j + 0.5) * CELL_WIDTH, y=TOP - 8, class_="tick middle")
        for j, name in enumerate(columns)
    ]
    for i, name in enumerate(rows):
        middle = TOP + (i + 0.5) * CELL_HEIGHT
        parts.append(svg.element("text", name, x=LEFT - 6, y=middle + 4, class_="tick end"))
        for j in range(len(columns)):
            share = 0.0 if high == low else (float(table[i, j]) - low) / (high - low)
            parts.append(_cell(j, i, share, float(table[i, j])))
    return svg.drawing(parts, LEFT + len(columns) * CELL_WIDTH, TOP + len(rows) * CELL_HEIGHT + BOTTOM, alt, "chart")


def _cell(column: int, row: int, share: float, value: float) -> Markup:
    x, y = LEFT + column * CELL_WIDTH, TOP + row * CELL_HEIGHT
    shape = svg.element(
        "rect",
        x=x + 1,
        y=y + 1,
        width=CELL_WIDTH - 2,
        height=CELL_HEIGHT - 2,
        class_="part s1",
        fill_opacity=f"{0.05 + 0.55 * share:.2f}",
    )
    text = svg.element(
        "text", number(value), x=x + CELL_WIDTH / 2, y=y + CELL_HEIGHT / 2 + 4, class_="tick value middle"
    )
    return Markup("").join([shape, text])


POOLED = (
    "The variance between collections is estimated by the method of DerSimonian and Laird, and the interval of the "
    "mean is that of Hartung and Knapp."
)
HASH = 16  # hexadecimal digits of the digests in the tables

Entries = Mapping[tuple[str, str], ContestEntry]


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page. The statements about several collections come first."""
    scorers, losses = list(inputs.settings["scorers"]), list(inputs.settings["losses"])
    entries = {dataset: _entries(inputs, dataset, scorers, losses) for dataset in inputs.datasets}
    collections = {dataset: cells_of(own, scorers, losses) for dataset, own in entries.items()}
    analysis = analyse(collections, scorers, losses)
    sections = [PageSection("questions", "The questions, and what counts as a claim", RULES)]
    sections += [_claims(scope, analysis, inputs) for scope in (MEAN, BEYOND) if scope in analysis.scopes]
    for dataset, own in entries.items():
        sections += [
            _means(inputs, dataset, collections[dataset], analysis, scorers, losses),
            _claims(dataset, analysis, inputs),
            _compute(dataset, own, collections[dataset], scorers, losses),
        ]
    return [*sections, *(_files(dataset, own) for dataset, own in entries.items())]


def _entries(inputs: Inputs, dataset: str, scorers: Sequence[str], losses: Sequence[str]) -> Entries:
    by_name = {entry.method: entry for entry in read_entries(inputs, dataset)}
    return {(scorer, loss): by_name[cell(scorer, loss)] for scorer, loss in product(scorers, losses)}


def cells_of(entries: Entries, scorers: Sequence[str], losses: Sequence[str]) -> Cells:
    """Return the values of all cells. Raises GradrankError if cells have different numbers of tuners or seeds."""
    values = [[entries[scorer, loss].runs().values for loss in losses] for scorer in scorers]
    shapes = {own.shape for row in values for own in row}
    if len(shapes) > 1:
        first = next(iter(entries.values()))
        raise GradrankError(
            f"{first.first_file.parents[1]}: the combinations have different numbers of tuners, seeds or queries. "
            f"Fix: run `snakemake factorial_values_{first.dataset}` again"
        )
    return Cells(np.array(values), next(iter(entries.values())).folds)


def _claims(scope: str, analysis: Analysis, inputs: Inputs) -> PageSection:
    rows = analysis.scopes[scope]
    titles = {MEAN: "Mean over the collections: what may be claimed", BEYOND: "Other collections: what may be claimed"}
    content = [tables.tested(scope, question, rows) for question in QUESTIONS]
    paragraphs = [POOLED] if scope == BEYOND else []
    paragraphs += claims(scope, rows, inputs.datasets)
    return PageSection(f"claims_{scope}", titles.get(scope, f"{scope}: what may be claimed"), paragraphs, content)


def _means(
    inputs: Inputs, dataset: str, cells: Cells, analysis: Analysis, scorers: list[str], losses: list[str]
) -> PageSection:
    """Return the section with the heat map, the main effects and their spread."""
    settings, table = inputs.settings, tables.cells(dataset, analysis.cells[dataset])
    ordered = sorted(analysis.cells[dataset], key=itemgetter("value"))
    ends = [f"{number(row['value'])} ({row['first']} with {row['second']})" for row in (ordered[0], ordered[-1])]
    alt = f"{dataset}: {MEASURE} by scorer and loss, from {' to '.join(ends)}. A darker cell has a higher mean."
    drawing = heat_map(scorers, losses, cells.means, alt)
    figure = Figure(f"heat_map_{dataset}", f"{MEASURE} by scorer and loss", drawing, alt, table)
    tuners, seeds = cells.values.shape[2:4]
    text = (
        f"{len(scorers)} scorers with {len(losses)} losses each. Per combination and fold: tuners {tuners}, "
        f"configurations per tuner {settings['trials']}, chosen by validation {MEASURE}, and seeds per choice {seeds}. "
        f"Convention: `{settings['conventions'][dataset]}`. {len(cells.folds):,} test queries."
    )
    content = [figure, table, tables.effects(dataset, analysis.effects[dataset])]
    content += [tables.shares(dataset, analysis.shares[dataset])]
    return PageSection(f"means_{dataset}", f"{dataset}: every combination", [text], content)


def _compute(
    dataset: str, entries: Entries, cells: Cells, scorers: Sequence[str], losses: Sequence[str]
) -> PageSection:
    """Return the section on value against processor time."""
    combinations = list(product(scorers, losses))
    values = {
        names: (float(mean), seconds_per_training(entries[names].trials))
        for names, mean in zip(combinations, cells.means.ravel(), strict=True)
    }
    on_front = front(values)
    table = tables.pareto(dataset, tables.pareto_rows(values, on_front))
    named = [f"{scorer} with {loss} ({number(values[scorer, loss][1], '.2f')} s)" for scorer, loss in on_front]
    alt = (
        f"{dataset}: {MEASURE} against processor seconds per training, one dot per combination. The line is the front."
    )
    drawing = front_plot(values, on_front, MEASURE, alt)
    figure = Figure(f"pareto_{dataset}_figure", "The Pareto front", drawing, alt, table)
    budgets = budget_rows({names: entry.trials for names, entry in entries.items()})
    text = f"On the Pareto front of value and processor time, fastest first: {'; '.join(named)}."
    title = f"{dataset}: value and processor time"
    return PageSection(f"compute_{dataset}", title, [text], [figure, table, tables.budgets(dataset, budgets)])


def _files(dataset: str, entries: Entries) -> PageSection:
    text = (
        "`python tools/check_factorial.py` recomputes every number of the tables from the files in git. `git log "
        "--diff-filter=A --format='%h %cI' -- FILE` prints when a file was added: choices.json before the files below."
    )
    digests = {
        f"values/{dataset}/{entry.method}/{path.name}": digest[:HASH]
        for entry in entries.values()
        for path, digest in entry.files.items()
    }
    return PageSection(
        f"files_{dataset}_appendix", f"Appendix, {dataset}: files", [text], [tables.files(dataset, digests)]
    )
