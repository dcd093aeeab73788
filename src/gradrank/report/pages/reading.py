"""The page Reading: what conventions, intervals and tests mean, and where the settings come from."""

from gradrank.evaluation.conventions import CONVENTIONS
from gradrank.report.contents import Contents
from gradrank.report.pages.page import Page, render_page


def pages(contents: Contents) -> list[Page]:
    """Return a list with one page."""
    return [Page("reading", "Reading", render_page("reading.html", conventions=CONVENTIONS))]
