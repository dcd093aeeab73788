"""One page per study. A study recreates tables and figures of a publication next to the published numbers."""

from typing import Any

from markupsafe import Markup

from gradrank.report.contents import Contents
from gradrank.report.pages.page import Page, render_page


def pages(contents: Contents) -> list[Page]:
    """Return one page per finished study."""
    return [
        Page(f"study-{page['name']}", page["name"], render_page("studies.html", page=page), _figures(page), "Studies")
        for page in contents.studies
    ]


def _figures(page: dict[str, Any]) -> dict[str, Markup]:
    """Return the figures of a study's page. The keys are the file names."""
    items = (item for section in page["sections"] for item in section["content"])
    return {f"studies/{page['name']}/{item['id']}": Markup(item["svg"]) for item in items if item["kind"] == "figure"}
