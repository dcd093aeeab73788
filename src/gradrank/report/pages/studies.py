"""A page a study: the tables and figures of a publication, its numbers beside ours."""

from markupsafe import Markup

from gradrank.report.contents import Contents
from gradrank.report.pages.page import Page, render_page


def pages(contents: Contents) -> list[Page]:
    return [
        Page(f"study-{page['name']}", page["name"], render_page("studies.html", page=page, drawing=Markup))
        for page in contents.studies
    ]
