"""A page a study: the tables and figures of a publication, its numbers beside ours."""

from markupsafe import Markup

from gradrank.report.page import Page, render_page
from gradrank.report.study import Study


def pages(study: Study) -> list[Page]:
    return [
        Page(f"study-{page['name']}", page["name"], render_page("studies.html", page=page, drawing=Markup))
        for page in study.studies
    ]
