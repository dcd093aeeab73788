"""The generated pages of the site."""

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

import gradrank
from boards import Board, boards, cached, read_submissions
from data_cards import data_cards
from formulas import with_mathml
from leaderboard import leaderboard_pages
from method_pages import method_pages, submission_page
from page_links import ROOT

NOTEBOOKS = ROOT / "build/notebooks"
PROJECT = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}


class GeneratedPage(NamedTuple):
    """A page of the site. origin: path in the repository to which its links are relative; empty if it has no links."""

    uri: str
    text: str
    origin: str = ""


def generated_pages() -> Iterator[GeneratedPage]:
    """Yield all generated pages."""
    yield from copied_pages()
    yield from notebook_pages()
    yield decisions_page()
    yield GeneratedPage("reference/api.md", api_page())
    yield GeneratedPage("reference/commands.md", commands_page())
    shown = shown_boards()
    submitted = {f"{each.uri}.md": submission_page(each) for each in read_submissions(ROOT / "submissions")}
    pages = leaderboard_pages(shown) | method_pages(shown, _params()) | data_cards(shown) | submitted
    for uri, text in pages.items():
        yield GeneratedPage(uri, text, f"docs/{uri}")


@cache
def shown_boards() -> list[Board]:
    """Return the boards of all committed results and submissions. They are kept in build/boards.json."""
    return cached(ROOT / "build/boards.json", _boards_key(), _made_boards)


def _made_boards() -> list[Board]:
    return list(boards(ROOT / "results", _params(), read_submissions(ROOT / "submissions")))


def _boards_key() -> str:
    """Return a digest of the results, the submissions, the settings and the code that the boards depend on."""
    patterns = ("params.yaml", "results/*/queries.parquet", "results/*/summary.json", "submissions/**/*")
    patterns += ("results/studies/contest/numbers.json", "src/gradrank/**/*.py", "src/gradrank/**/*.yaml")
    patterns += ("tools/documentation/boards.py",)
    hashed = hashlib.sha256()
    for path in sorted({path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}):
        hashed.update(f"{path.relative_to(ROOT)} {path.stat().st_size}\n".encode() + path.read_bytes())
    return hashed.hexdigest()


def _params() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))


def copied_pages() -> Iterator[GeneratedPage]:
    """Yield the pages of the root folder and of results/."""
    results = {
        f"results/{path.parent.name}/summary.md": f"results/{path.parent.name}.md"
        for path in sorted((ROOT / "results").glob("*/summary.md"))
    }
    studies = {
        f"results/studies/{path.parent.name}/page.md": f"studies/{path.parent.name}.md"
        for path in sorted((ROOT / "results/studies").glob("*/page.md"))
    }
    for origin, uri in (PROJECT | results | studies).items():
        yield GeneratedPage(uri, (ROOT / origin).read_text(encoding="utf-8"), origin)


def decisions_page() -> GeneratedPage:
    """Return the page of docs/decisions/README.md with a list of all decisions, the newest first."""
    index = ROOT / "docs/decisions/README.md"
    files = sorted(index.parent.glob("[0-9]*.md"), reverse=True)
    titles = [path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for path in files]
    rows = [f"- {path.name[:10]}: [{title}]({path.name})" for path, title in zip(files, titles, strict=True)]
    text = index.read_text(encoding="utf-8") + "\n" + "\n".join(rows) + "\n"
    return GeneratedPage("decisions/README.md", text, "docs/decisions/README.md")


def notebooks() -> list[Path]:
    """Return the notebooks of docs/."""
    return sorted((ROOT / "docs").rglob("*.ipynb"))


def notebook_pages() -> Iterator[GeneratedPage]:
    """Yield the notebooks as Markdown, with formulas in MathML. Raises FileNotFoundError if one was not converted."""
    for path in notebooks():
        converted = NOTEBOOKS / path.relative_to(ROOT / "docs").with_suffix(".md")
        if not converted.is_file():
            raise FileNotFoundError(f"{converted}: the notebook was not converted. Fix: run `make docs`")
        uri = path.relative_to(ROOT / "docs").with_suffix(".md").as_posix()
        text = with_mathml(converted.read_text(encoding="utf-8"))
        yield GeneratedPage(uri, text, path.relative_to(ROOT).as_posix())


def api_page() -> str:
    """Return the page of the public functions and classes, which mkdocstrings fills."""
    names = [name for name in gradrank.__all__ if not name.startswith("_")]
    blocks = [f"::: gradrank.{name}" for name in sorted(names, key=lambda name: (name != "Ranker", name))]
    intro = "All public functions and classes. [gradrank in Python](../python.md) shows how to use them together."
    return "\n\n".join(["# Python API", intro, *blocks])


def commands_page() -> str:
    """Return the page of all commands with their arguments and options, as Typer documents them."""
    command = [sys.executable, "-m", "typer", "gradrank.bench.cli", "utils", "docs", "--name", "gradrank"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    text = re.sub(r"\*\*Commands\*\*:.*?(?=^## )", "", text, count=1, flags=re.MULTILINE | re.DOTALL)
    return text.replace("# `gradrank`", "# Commands", 1)
