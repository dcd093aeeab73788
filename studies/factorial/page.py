"""The page of the factorial study: claims, effects, heat maps, pooled results, and the price of each combination."""

from collections.abc import Mapping, Sequence
from itertools import product
from operator import itemgetter

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.numbers import number
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from studies.contest.results import ContestEntry, read_entries
from studies.factorial import cell, tables
from studies.factorial.claims import RULES, claims
from studies.factorial.compute import budget_rows, front, seconds_per_training
from studies.factorial.contrasts import QUESTIONS
from studies.factorial.effects import Cells
from studies.factorial.front_plot import front_plot
from studies.factorial.heat_map import heat_map
from studies.factorial.scopes import BEYOND, MEAN, Analysis, analyse
from studies.factorial.tables import MEASURE

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
            f"{first.paths[0].parent.parent}: the combinations have different numbers of tuners, seeds or queries. "
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
        for path, digest in zip(entry.paths, entry.sha256(), strict=True)
    }
    return PageSection(
        f"files_{dataset}_appendix", f"Appendix, {dataset}: files", [text], [tables.files(dataset, digests)]
    )
