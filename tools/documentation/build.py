"""Build the documentation site in build/site: `python tools/documentation/build.py`.

1. The notebooks are executed with nbconvert, in build/notebooks.
2. The pages are written to build/docs. The pages of docs/, README.md, CHANGELOG.md, CONTRIBUTING.md and the pages in
   results/ become pages of the site. The references and the leaderboard are generated. A link to any other file of the
   repository leads to a page that shows this file, so that links work on GitHub and on the site.
3. Zensical reads mkdocs.yml and writes the site. A link or an anchor that does not exist is an error.

Nothing is downloaded.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from generated_pages import NOTEBOOKS, GeneratedPage, generated_pages
from page_links import ROOT, PageLinks, source_page

PAGES = ROOT / "build/docs"
TABLES = ROOT / "src/gradrank/bench/report/pages/tables.js"
COMMENT = re.compile(r"^<!-- .*? -->\n", re.MULTILINE | re.DOTALL)


def execute(notebooks: Iterable[Path]) -> None:
    """Write the notebooks with their outputs as Markdown into NOTEBOOKS. Exit with a message if a cell fails."""
    shutil.rmtree(NOTEBOOKS, ignore_errors=True)
    NOTEBOOKS.mkdir(parents=True)
    copies = [Path(shutil.copy2(path, NOTEBOOKS)) for path in notebooks]
    command = [sys.executable, "-m", "nbconvert", "--log-level=ERROR", "--to=markdown", "--execute"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}  # notebooks run in their folder
    with ThreadPoolExecutor(max_workers=2) as pool:
        runs = [pool.submit(subprocess.run, [*command, copy], env=environment, capture_output=True) for copy in copies]
    for copy, run in zip(copies, runs, strict=True):
        if run.result().returncode:
            sys.exit(f"{copy}: {run.result().stderr.decode()}\nFix: correct the cell in docs/notebooks/{copy.name}")


def write_pages(out: Path, generated: Iterable[GeneratedPage]) -> None:
    """Write all pages into `out`, which is emptied first."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(ROOT / "docs", out, ignore=shutil.ignore_patterns("*.md", "*.ipynb"))
    shutil.copy2(TABLES, out / "assets/site")
    for folder in NOTEBOOKS.glob("*_files"):
        shutil.copytree(folder, out / "notebooks" / folder.name)
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


def main() -> None:
    execute(sorted((ROOT / "docs/notebooks").glob("*.ipynb")))
    write_pages(PAGES, generated_pages())
    subprocess.run([sys.executable, "-m", "zensical", "build", "--strict", "--clean"], cwd=ROOT, check=True)
    print(f"The site: {ROOT / 'build/site/index.html'}")


if __name__ == "__main__":
    main()
