"""The numbers of docs/evidence.md are in the sections of the result pages that its statements name."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
LINK = re.compile(r"\((\.\./results/[^)#]+)#([^)]+)\)")
NUMBER = re.compile(r"\d*\.\d+|\d+(?=%)|\d+ of \d+|\d+,\d{3}")
STATEMENTS = re.findall(r"^- (.+?)(?=^- |^#|\Z)", (DOCS / "evidence.md").read_text(), re.MULTILINE | re.DOTALL)


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def section(path, name):
    """Return the text of the only section with this anchor, up to the next heading of its level or above."""
    found = re.findall(r"^(##+) (.+)\n((?:(?!\1 |## ).*\n)*)", path.read_text(), re.MULTILINE)
    texts = [text for _, heading, text in found if anchor(heading) == name]
    assert len(texts) == 1, f"{path}#{name}"
    return texts[0]


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda text: re.sub(r"\W+", " ", text)[:40])
def test_every_number_of_a_statement_is_in_the_linked_sections(statement):
    links = LINK.findall(statement)
    assert links
    linked = "".join(section((DOCS / page).resolve(), name) for page, name in links)
    stated = NUMBER.findall(LINK.sub("", statement))
    assert stated and [number for number in stated if not is_in(number, linked)] == []


def is_in(number, text):
    """Return whether a text has a number, with or without a zero before the point."""
    return re.search(rf"(?<![\d.])0?{re.escape(number)}(?!\d)", text) is not None
