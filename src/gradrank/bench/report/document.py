"""Write the report: one HTML file of several pages that opens offline.

PAGES lists the modules of the pages in reading order. Each module has a function `pages(contents) -> list[Page]` and a
template. To add a page, write a module and a template, and add the module to PAGES. Styles, scripts and plots are
inline, so the HTML file loads no other files.
"""

from collections.abc import Collection
from pathlib import Path

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.base.own_folders import CONTENTS, check_own_folder, remove_listed, write_contents
from gradrank.bench.report.console_summary import console_summary
from gradrank.bench.report.contents import read_contents
from gradrank.bench.report.pages import datasets, explanations, methods, overview, provenance, reading, studies
from gradrank.bench.report.pages.page import render_page
from gradrank.bench.report.plots.figure_files import write_figures
from gradrank.bench.report.report_tables import write_tables
from gradrank.bench.report.training_changes import write_printed
from gradrank.bench.results import Results

PAGES = (overview, datasets, explanations, studies, methods, reading, provenance)


def report(
    results: Path,
    out: Path,
    convention: str = "letor4",
    params: Path = Path("params.yaml"),
    data: Path = Path("data/parquet"),
    only: tuple[Collection[str], Collection[str]] | None = None,
) -> str:
    """Write the report of a results folder, and return the text that a run prints last.

    `out` is the HTML file. The tables and figures are written into the folder with the same path without the suffix.
    Equal results give equal bytes, except for the measured times and memory. The returned text lists the methods that
    were trained since the last call.

    convention: the primary convention of data sets for which params.yaml does not specify one. params: path of
    params.yaml. The report shows this file and the settings of its studies in full. data: folder of the Parquet
    collections. only: (names of data sets, names of studies) to show; by default every data set with a summary.json and
    every finished study.
    Raises GradrankError if there is nothing to report, a file cannot be read, or the folder contains other files.
    """
    root, folder = Results(Path(results)), Path(out).with_suffix("")
    if folder == Path(out):
        raise GradrankError(f"{out}: the report needs a suffix, because its figures are in {out}/. Fix: add .html")
    check_own_folder(folder / CONTENTS, [params, data])
    contents = read_contents(root, convention, Path(params), Path(data), only)
    pages = [page for module in PAGES for page in module.pages(contents)]
    with atomic(Path(out)) as partial:
        partial.write_text(render_page("layout.html", pages=pages), encoding="utf-8")
    remove_listed(folder / CONTENTS)
    write_tables(contents, folder)
    write_figures({name: drawing for page in pages for name, drawing in page.figures.items()}, folder)
    files = (path for path in folder.rglob("[!.]*") if path.is_file())
    write_contents(folder, (path.relative_to(folder).as_posix() for path in files))
    run_here = contents.run_here
    conventions = {dataset.name: dataset.convention for dataset in run_here}
    descriptions = {dataset.name: dataset.meta for dataset in run_here}
    text = console_summary(root, conventions, Path(out), descriptions)
    for dataset in run_here:
        write_printed(root.dataset(dataset.name), dataset.headline, dataset.convention)
    return text
