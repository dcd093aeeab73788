"""Write the Markdown pages of the site into a folder: `python tools/documentation/prepare.py build/docs`.

The pages of docs/, README.md, CHANGELOG.md, CONTRIBUTING.md and the pages in results/ become pages of the site. The
references, the leaderboard and the executed notebooks are generated. A link to any other file of the repository leads to
a page that shows this file, so that links work on GitHub and on the site.
"""

import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from generated_pages import GeneratedPage, generated_pages
from page_links import ROOT, PageLinks, source_page

TABLES = ROOT / "src/gradrank/report/pages/tables.js"
NOTEBOOKS = ROOT / "build/notebooks"
COMMENT = re.compile(r"^<!-- .*? -->\n", re.MULTILINE | re.DOTALL)


def prepare(out: Path, generated: Iterable[GeneratedPage]) -> None:
    """Write all pages into `out`, which is emptied first."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(ROOT / "docs", out, ignore=shutil.ignore_patterns("*.md", "*.ipynb"))
    shutil.copy2(TABLES, out / "assets/site")
    for folder in NOTEBOOKS.glob("*_files"):
        shutil.copytree(folder, out / "notebooks" / folder.name)
    pages = [*(_page(path) for path in sorted((ROOT / "docs").rglob("*.md"))), *generated]
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


if __name__ == "__main__":
    prepare(Path(sys.argv[1]), generated_pages())
