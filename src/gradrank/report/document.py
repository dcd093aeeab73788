"""The report: one HTML file that opens offline, a page a topic.

A page is a module with `pages(contents) -> list[Page]` and its template; PAGES lists the modules in reading
order, so a new page is two new files and a word here. Styles, scripts and plots are inline: the file asks for
nothing.
"""

from collections.abc import Collection
from pathlib import Path

from gradrank.base.files import atomic
from gradrank.base.results import Results
from gradrank.report.console_summary import console_summary
from gradrank.report.contents import read_contents
from gradrank.report.own_tables import write_tables
from gradrank.report.pages import datasets, methods, overview, studies
from gradrank.report.pages import making as provenance
from gradrank.report.pages.page import render_page
from gradrank.report.plots.files import write_figures

PAGES = (overview, studies, datasets, methods, provenance)


def report(
    results: Path,
    out: Path,
    convention: str = "letor4",
    params: Path = Path("params.yaml"),
    data: Path = Path("data/parquet"),
    only: tuple[Collection[str], Collection[str]] | None = None,
) -> str:
    """Write `out`, and its tables and figures into the folder of that name, and return what a run prints at its end.

    The report shows every data set with a summary.json and every finished study, or `only` those of these names.

    convention: the one that summary.json was made under, where params names none of a data set's own. params: shown
    as they are. data: where the Parquet collections' .json files lie. Equal results give equal bytes but for the
    times and memory shown. Raises GradrankError where there is no data set to report or a file cannot be read.
    """
    found = Results(Path(results))
    contents = read_contents(found, convention, Path(params), Path(data), only)
    pages = [page for module in PAGES for page in module.pages(contents)]
    with atomic(Path(out)) as partial:
        partial.write_text(render_page("layout.html", pages=pages, contents=contents), encoding="utf-8")
    folder = Path(out).with_suffix("")
    write_tables(contents, folder)
    write_figures({name: drawing for page in pages for name, drawing in page.figures.items()}, folder)
    return console_summary(found, {each.name: each.convention for each in contents.here}, Path(out))
