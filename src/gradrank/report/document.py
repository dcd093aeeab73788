"""The report: one HTML file that opens offline, a page a topic.

A page is a module with `pages(contents) -> list[Page]` and its template; PAGES lists the modules in reading
order, so a new page is two new files and a word here. Styles, scripts and plots are inline: the file asks for
nothing.
"""

from pathlib import Path

from gradrank.evaluation.per_query import KEYS, QUERY, write_all_test_queries
from gradrank.evaluation.seeds import SEED
from gradrank.files import atomic
from gradrank.report.contents import read_contents
from gradrank.report.own_tables import write_tables
from gradrank.report.pages import datasets, methods, overview, studies
from gradrank.report.pages import making as provenance
from gradrank.report.pages.page import render_page
from gradrank.report.plots.files import write_figures
from gradrank.results import Results

PAGES = (overview, studies, datasets, methods, provenance)


def report(
    results: Path,
    out: Path,
    convention: str = "letor4",
    params: Path = Path("params.yaml"),
    data: Path = Path("data/parquet"),
) -> None:
    """Write `out`, and its tables and figures into the folder of that name, from every data set with a summary.json and
    every study that is finished.

    convention: the one that summary.json was made under, where params names none of a data set's own. params: shown
    as they are. data: where the Parquet collections' .json files lie. Equal results give equal bytes but for the
    times and memory shown. Raises GradrankError where there is no data set to report or a file cannot be read.
    """
    contents = read_contents(Results(Path(results)), convention, Path(params), Path(data))
    pages = [page for module in PAGES for page in module.pages(contents)]
    with atomic(Path(out)) as partial:
        partial.write_text(render_page("layout.html", pages=pages, contents=contents), encoding="utf-8")
    folder = Path(out).with_suffix("")
    write_tables(contents, folder)
    write_figures({name: drawing for page in pages for name, drawing in page.figures.items()}, folder)


def write_test_queries(found: Results, out: Path) -> None:
    """Those of every evaluated method in one Parquet file; of a study that trains methods of its own alone, no rows."""
    if any(method.evaluated for dataset in found.datasets() for method in dataset.methods()):
        write_all_test_queries(found, out)
        return
    import polars as pl

    with atomic(out) as partial:
        pl.DataFrame(schema={key: pl.String for key in KEYS if key not in (SEED, QUERY)}).write_parquet(
            partial
        )
