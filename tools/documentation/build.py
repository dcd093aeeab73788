"""Build the documentation site in build/site: `python tools/documentation/build.py`.

With `--keep-notebooks`, the notebooks of the last build are used again.

1. nbconvert turns the notebooks into Markdown, in build/notebooks. Those of docs/notebooks are executed. Those of
   docs/learn have their outputs, because they may download a collection.
2. The pages are written to build/docs. The pages of docs/, README.md, CHANGELOG.md, CONTRIBUTING.md and the pages in
   results/ become pages of the site. The references and the leaderboard are generated. A link to any other file of the
   repository leads to a page that shows this file, so that links work on GitHub and on the site.
3. Zensical reads mkdocs.yml and writes the site. A link or an anchor that does not exist is an error.

Nothing is downloaded.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from boards import Board, board_rows
from generated_pages import NOTEBOOKS, GeneratedPage, generated_pages, notebooks, shown_boards
from page_links import ROOT, PageLinks, source_page

PAGES = ROOT / "build/docs"
TABLES = ROOT / "src/gradrank/bench/report/pages/tables.js"
WITHOUT_SETUP = ("--TagRemovePreprocessor.enabled=True", "--TagRemovePreprocessor.remove_cell_tags=setup")
COMMENT = re.compile(r"^<!-- .*? -->\n", re.MULTILINE | re.DOTALL)


def convert(notebooks: Iterable[Path]) -> None:
    """Write the notebooks with their outputs as Markdown into folders of NOTEBOOKS. Exit if a cell fails.

    A notebook without outputs is executed first. The cell that installs gradrank in Colab is left out.
    """
    shutil.rmtree(NOTEBOOKS, ignore_errors=True)
    copies = []
    for path in notebooks:
        copy = NOTEBOOKS / path.relative_to(ROOT / "docs")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copies.append(Path(shutil.copy2(path, copy)))
    command = [sys.executable, "-m", "nbconvert", "--log-level=ERROR", "--to=markdown", *WITHOUT_SETUP]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}  # notebooks run in their folder
    with ThreadPoolExecutor(max_workers=2) as pool:
        options = {"env": environment, "capture_output": True}
        runs = {}
        for copy in copies:
            execute = [] if has_outputs(copy) else ["--execute"]
            runs[pool.submit(subprocess.run, [*command, *execute, copy], **options)] = copy
        for count, run in enumerate(as_completed(runs), start=1):
            name = runs[run].relative_to(NOTEBOOKS)
            if run.result().returncode:
                sys.exit(f"{name}: {run.result().stderr.decode()}\nFix: correct the cell in docs/{name}")
            print(f"notebook {count} of {len(copies)}: {name}", flush=True)


def has_outputs(notebook: Path) -> bool:
    """Return whether a code cell of a notebook has an output."""
    return any(cell.get("outputs") for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"])


def write_pages(out: Path, generated: Iterable[GeneratedPage]) -> None:
    """Write all pages into `out`, which is emptied first."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(ROOT / "docs", out, ignore=shutil.ignore_patterns("*.md", "*.ipynb"))
    shutil.copy2(TABLES, out / "assets/site")
    for folder in NOTEBOOKS.glob("*/*_files"):
        shutil.copytree(folder, out / folder.relative_to(NOTEBOOKS))
    pages = [*map(_page, sorted((ROOT / "docs").rglob("*.md"))), *generated]
    links = PageLinks({page.origin: page.uri for page in pages if page.origin})
    linked = {path for page in pages for path in links.targets(page.uri, page.text)}
    for page in pages:
        _write(out / page.uri, links.replaced(page.uri, COMMENT.sub("", page.text)))
    for path in sorted(linked):
        uri, text = source_page(path)
        _write(out / uri, text)


def _page(path: Path) -> GeneratedPage:
    uri = path.relative_to(ROOT / "docs").as_posix()
    return GeneratedPage(uri, path.read_text(encoding="utf-8"), f"docs/{uri}")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_board_files(folder: Path, shown: Sequence[Board]) -> None:
    """Write the means of all boards as leaderboard.csv and leaderboard.parquet into the folder of the pages."""
    rows = board_rows(shown)
    rows.write_csv(folder / "leaderboard.csv")
    rows.write_parquet(folder / "leaderboard.parquet")


def main(keep_notebooks: bool) -> None:
    if not keep_notebooks:
        convert(notebooks())
    print("pages: references, methods and leaderboard", flush=True)
    write_pages(PAGES, generated_pages())
    write_board_files(PAGES / "leaderboard", shown_boards())
    print("site: HTML and the search index", flush=True)
    subprocess.run([sys.executable, "-m", "zensical", "build", "--strict", "--clean"], cwd=ROOT, check=True)
    print(f"The site: {ROOT / 'build/site/index.html'}")


if __name__ == "__main__":
    parser = ArgumentParser(description="Build the documentation site in build/site.")
    parser.add_argument("--keep-notebooks", action="store_true", help="use the notebooks of the last build again")
    main(parser.parse_args().keep_notebooks)
