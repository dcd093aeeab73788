"""A comparison as one HTML file that opens offline: one page of changes, and one page per data set."""

from markupsafe import Markup

from gradrank.bench.diff import wording
from gradrank.bench.diff.compare import Comparison
from gradrank.bench.diff.plots import differences, queries
from gradrank.bench.report.pages.page import Page, render_page


def page(comparison: Comparison) -> str:
    """Return the whole document. Equal results give the same text, except for measured times and memory."""
    pages = [Page("changes", "Changes", _overview(comparison))]
    pages += [Page(f"data-{dataset}", dataset, _dataset(comparison, dataset)) for dataset in comparison.datasets()]
    return render_page("layout.html", pages=pages, title="diff")


def _overview(comparison: Comparison) -> Markup:
    return render_page(
        "diff_changes.html",
        comparison=comparison,
        states=[(letter, state, wording.source(state)) for letter, state in (("A", comparison.a), ("B", comparison.b))],
        methods=[*wording.only_in_one(comparison), *wording.renamed(comparison)],
        verdicts=wording.shown_rows(comparison),
        others=[(dataset, list(wording.other_sentences(comparison, dataset))) for dataset in comparison.datasets()],
        change_tables=list(wording.change_tables(comparison)),
        costs=[(pair, wording.cost(pair)) for pair in comparison.costs],
        marks=wording.MARKS,
    )


def _dataset(comparison: Comparison, dataset: str) -> Markup:
    rows = [row for row in comparison.rows if row.dataset == dataset and row.has_moved]
    return render_page(
        "diff_dataset.html",
        dataset=dataset,
        convention=comparison.a.conventions[dataset],
        legend=wording.legend(rows),
        plots=[(metric, differences(rows)) for metric, rows in wording.moved_rows(comparison, dataset).items()],
        rows=rows,
        others=list(wording.other_sentences(comparison, dataset)),
        moved=[(moved, queries(moved)) for moved in comparison.moved if moved.dataset == dataset],
        interval=wording.interval,
        marks=wording.MARKS,
    )
