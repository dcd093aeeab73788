"""One page per study. A study recreates tables and figures of a publication next to the published numbers."""

from typing import Any

from markupsafe import Markup

from gradrank.bench.report.contents import Contents
from gradrank.bench.report.pages.page import Page, render_page
from gradrank.bench.report.tables.numbers import VERDICT


def pages(contents: Contents) -> list[Page]:
    """Return one page per finished study."""
    return [
        Page(f"study-{page['name']}", page["name"], _content(page), _figures(page), "Studies")
        for page in contents.studies
    ]


def _content(page: dict[str, Any]) -> Markup:
    """Return the page as HTML. It explains the verdicts if a table has them."""
    columns = [column for item in _items(page) if item["kind"] == "table" for column in item["columns"]]
    return render_page("studies.html", page=page, judged=any(column["form"] == VERDICT for column in columns))


def _figures(page: dict[str, Any]) -> dict[str, Markup]:
    """Return the figures of a study's page. The keys are the file names."""
    figures = [item for item in _items(page) if item["kind"] == "figure"]
    return {f"studies/{page['name']}/{item['id']}": Markup(item["svg"]) for item in figures}


def _items(page: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tables and figures of all sections."""
    return [item for section in page["sections"] for item in section["content"]]
