"""A comparison as one HTML file that opens offline: a page for what changed, and a page a data set."""

from markupsafe import Markup

from gradrank.diff import wording
from gradrank.diff.compare import Comparison
from gradrank.diff.plots import differences, queries
from gradrank.report.pages.page import Page, render_page


def page(comparison: Comparison) -> str:
    """The whole document. Equal results give equal text but for the times and memory shown."""
    pages = [Page("changes", "What changed", _overview(comparison))]
    pages += [Page(f"data-{dataset}", dataset, _dataset(comparison, dataset)) for dataset in comparison.datasets()]
    return render_page("layout.html", pages=pages, title="diff")


def _overview(comparison: Comparison) -> Markup:
    return render_page(
        "diff_changes.html",
        comparison=comparison,
        sides=[(letter, side, wording.source(side)) for letter, side in (("A", comparison.a), ("B", comparison.b))],
        lacking=list(wording.lacking(comparison)),
        verdicts=[
            row
            for dataset in comparison.datasets()
            for rows in wording.moved(comparison, dataset).values()
            for row in rows
        ],
        changed=list(wording.changed(comparison)),
        costs=[(pair, wording.cost(pair)) for pair in comparison.costs],
        marks=wording.MARKS,
    )


def _dataset(comparison: Comparison, dataset: str) -> Markup:
    return render_page(
        "diff_dataset.html",
        dataset=dataset,
        convention=comparison.a.conventions[dataset],
        method=wording.method(comparison),
        plots=[(metric, differences(rows)) for metric, rows in wording.moved(comparison, dataset).items()],
        rows=[row for row in comparison.rows if row.dataset == dataset and row.moved],
        level=list(wording.level(comparison, dataset)),
        moved=[(moved, queries(moved)) for moved in comparison.moved if moved.dataset == dataset],
        interval=wording.interval,
        marks=wording.MARKS,
    )
