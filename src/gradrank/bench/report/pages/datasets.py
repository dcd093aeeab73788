"""One page per data set: its results under every convention, published numbers, tests, plots and costs."""

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from gradrank.base.text_tables import is_missing, number
from gradrank.bench.folds.costs import Cost
from gradrank.bench.folds.file_order import CONSTANT, notable_rows
from gradrank.bench.report.contents import Contents, ReportedDataset
from gradrank.bench.report.pages.page import Page, render_page
from gradrank.bench.report.plots.line_plots import learning_curves, pr_curves, sweeps
from gradrank.bench.report.plots.paired_tests import matrices, two_methods
from gradrank.bench.report.plots.row_plots import mean_ranks, spread
from gradrank.bench.report.plots.svg import stacked
from gradrank.bench.report.tables.dataset_values import NOTE, detectable_sentence, difference_text, sharper_verdicts
from gradrank.bench.report.tables.table import BOLD, Row, count_verdicts, descending, in_bold
from gradrank.data.fold_parts import held_out_sentence
from gradrank.data.sources.catalogue import catalogue
from gradrank.measures.conventions import CONVENTIONS


def pages(contents: Contents) -> list[Page]:
    """Return one page per data set."""
    return [_page(dataset) for dataset in contents.datasets]


def _page(dataset: ReportedDataset) -> Page:
    values = _values(dataset)
    body = render_page("dataset.html", **values)
    return Page(f"data-{dataset.name}", dataset.name, body, dict(_figures(dataset.name, values)), "Data sets")


def _figures(folder: str, values: dict[str, Any]) -> Iterator[tuple[str, Markup]]:
    """Yield (file name without suffix, drawing) for every figure of the page."""
    for name, form in (("spread", ".4f"), ("ranks", ".2f")):
        if values[name]:
            yield f"{folder}/{name}", stacked(values[name].strips, values[name].axis, form)
    if two := values["two"]:
        yield f"{folder}/{'-against-'.join(two.chosen)}", two.drawing
    if values["pr"]:
        yield f"{folder}/precision-recall", values["pr"].drawing
    for sweep in values["sweeps"]:
        yield f"{folder}/sweep-{sweep.entry}-{sweep.param}", sweep.drawing
    for panel in values["curves"]:
        yield f"{folder}/learning-{panel.model}", panel.drawing


def _values(dataset: ReportedDataset) -> dict[str, Any]:
    """Return the variables of the template dataset.html."""
    curves = [learning_curves(model, folds) for model, folds in dataset.folds.items()]
    two = two_methods(dataset)
    return {
        "dataset": dataset,
        "convention": dataset.convention,
        "linked": dataset.methods_with_parameters,
        "entry": catalogue().get(dataset.name),
        "grades": _grades(dataset.meta),
        "held_out": held_out_sentence(dataset.meta),
        "main": main_table(dataset, dataset.convention),
        "bold": BOLD,
        "differences": differences(dataset.tables.get("baseline", [])),
        "baseline": dataset.baseline,
        "about_differences": difference_note(dataset),
        "summaries": {name: convention.summary for name, convention in CONVENTIONS.items()},
        "file_order": _file_order(dataset.tables.get("file_order", [])),
        "published": published_table(dataset.tables.get("published", [])),
        "runs": dataset.tables.get("published_runs", []),
        "sharper": sharper_verdicts(dataset.tables.get("published_bands", [])),
        "spread": spread(dataset, dataset.convention) if dataset.tables["folds"] else None,
        "curves": [panel for panel in curves if panel is not None],
        "without_curves": [m for m, panel in zip(dataset.folds, curves, strict=True) if panel is None],
        "two": two,
        "pr": pr_curves(dataset, dataset.convention, two.chosen if two else tuple(dataset.ranked()[:1])),
        "matrices": matrices(dataset),
        "ranks": mean_ranks(dataset),
        "sweeps": sweeps(dataset, dataset.convention),
        "costs": costs(dataset),
        "seeds": max((row.get("seeds") or 1 for row in dataset.tables.get("main", [])), default=1),
    }


def main_table(dataset: ReportedDataset, primary: str) -> dict[str, dict[str, list[tuple[str, str, bool]]]]:
    """Return the cells of the main table as text.

    The outer keys are the conventions, and the inner keys are the models. Each value is a list with one tuple per
    metric: the mean, half the width of its 95% interval after ±, and whether the mean is in bold. With several seeds,
    the standard deviation over the seeds is in brackets after the half width. A missing half width is an empty text.

    The primary convention comes first. In each convention, the model with the best headline metric comes first.
    """
    rows = dataset.tables["main"]
    cells = {(row["convention"], row["model"], row["metric"]): row for row in rows}
    names = sorted({row["convention"] for row in rows}, key=lambda name: (name != primary, name))
    by_convention: dict[str, dict[str, list[tuple[str, str, bool]]]] = {}
    for name in names:
        models = list(dict.fromkeys(row["model"] for row in rows if row["convention"] == name))
        headline = {model: _mean(cells, name, model, dataset.headline) for model in models}
        models.sort(key=lambda model, means=headline: descending(means[model]))
        bold = {m: in_bold({row["model"]: row for row in rows if _is_of(row, name, m)}) for m in dataset.metrics}
        by_convention[name] = {
            model: [_cell(cells.get((name, model, m)), model in bold[m]) for m in dataset.metrics] for model in models
        }
    return by_convention


def _is_of(row: Row, convention: str, metric: str) -> bool:
    return (row["convention"], row["metric"]) == (convention, metric)


def _mean(cells: Mapping[tuple[str, str, str], Row], convention: str, model: str, metric: str) -> float | None:
    row = cells.get((convention, model, metric))
    return row["mean"] if row else None


def _cell(row: Row | None, is_bold: bool) -> tuple[str, str, bool]:
    if row is None:
        return number(None), "", False
    deviation = row.get("seed_deviation")
    seeds = "" if is_missing(deviation) else f" ({number(deviation)})"
    interval = "" if is_missing(row["half_width"]) else f"±{number(row['half_width'])}{seeds}"
    return number(row["mean"]), interval, is_bold


def differences(rows: list[Row]) -> dict[str, dict[str, str]]:
    """Return the differences from the baseline as text. The outer keys are methods, the inner keys are metrics."""
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        found.setdefault(row["model"], {})[row["metric"]] = difference_text(row)
    return found


def difference_note(dataset: ReportedDataset) -> str:
    """Return the sentences about the differences from the baseline and about differences that could be detected."""
    tested = dataset.tables.get("baseline", [])
    best = [row for row in dataset.tables["main"] if row["convention"] == dataset.convention]
    compared = [(f"`{dataset.baseline}`", tested), ("the best method", best)]
    return " ".join([NOTE, *detectable_sentence(compared)])


def published_table(rows: list[Row]) -> dict[str, Any]:
    """Return the variables of the table of published numbers.

    `lines` has one (key, rows) pair per published method, where `rows` is a dict from metric to row. The last item of
    a key is the number of the source. Sources are numbered from 1.
    """
    sources = list(dict.fromkeys(row["source"] for row in rows))
    lines: dict[tuple, dict[str, Row]] = {}
    for row in rows:
        key = (row["model"], row["method"], row["note"], row["convention"], row["our_convention"])
        lines.setdefault((*key, sources.index(row["source"]) + 1), {})[row["metric"]] = row
    return {
        "metrics": list(dict.fromkeys(row["metric"] for row in rows)),
        "sources": sources,
        "lines": list(lines.items()),
        "counts": count_verdicts(rows),
    }


def _file_order(rows: list[Row]) -> list[Row]:
    """Return the rows of the constant score, then the rows of methods whose values depend on the order of ties.

    The constant score is a baseline that gives every document the same score.
    """
    return [row for row in rows if row["model"] == CONSTANT] + [
        row for row in notable_rows(rows) if row["model"] != CONSTANT
    ]


def costs(dataset: ReportedDataset) -> dict[str, Cost]:
    """Return the cost of each method, slowest training first."""
    return dict(sorted(dataset.costs.items(), key=lambda item: -item[1].mean_fit_seconds))


def _grades(meta: dict[str, Any] | None) -> list[tuple[str, int]]:
    """Return (grade, number of rows) tuples, sorted by grade. Rows of a query that is in several parts count once."""
    counts: dict[str, int] = dict((meta or {}).get("labels", {}))
    for part in (meta or {}).get("parts", {}).values() if not counts else ():
        for grade, rows in part["labels"].items():
            counts[grade] = counts.get(grade, 0) + rows
    return sorted(counts.items(), key=lambda item: int(item[0]))
