"""Links of README.md, which the package index shows without the repository."""

import re

from documentation_blocks import ROOT
from page_links import REPOSITORY


def wrong_link(address: str) -> str | None:
    """Return why a link is wrong on the package index; None if it is right. Addresses of other hosts are not opened."""
    if not re.match(r"https://|mailto:", address):
        return f"{address}: relative"
    if not (inside := REPOSITORY.match(address)):
        return None
    path, _, anchor = address[inside.end() :].partition("#")
    if not (ROOT / path).exists():
        return f"{address}: no such file"
    if anchor and anchor not in _anchors((ROOT / path).read_text(encoding="utf-8")):
        return f"{address}: no such heading"
    return None


def _anchors(page: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a Markdown page."""
    headings = re.findall(r"^#+ (.+)$", page, re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
