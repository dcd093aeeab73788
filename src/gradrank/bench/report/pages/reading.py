"""The page Reading: what conventions, intervals and tests mean, and where the settings come from."""

from gradrank.bench.report.contents import Contents
from gradrank.bench.report.pages.page import Page, render_page
from gradrank.measures.conventions import CONVENTIONS


def pages(contents: Contents) -> list[Page]:
    """Return a list with one page."""
    return [Page("reading", "Reading", render_page("reading.html", conventions=CONVENTIONS))]
