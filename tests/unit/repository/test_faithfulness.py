"""docs/faithfulness.md names modules and headings that exist, and gives every item one of five kinds of deviation."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
KINDS = {"None", "Open", "Explained", "Unexplained", "Missing"}
HEADINGS = {
    line.lstrip("#").strip()
    for page in (ROOT / "results/studies").glob("*/page.md")
    for line in page.read_text().splitlines()
    if line.startswith("#")
}
# A heading that a study writes counts as well: the pages of long studies are remade after several changes.
FILES = [path for path in sorted((ROOT / "studies").glob("*/*")) if path.suffix in (".py", ".jinja")]
STUDIES = "".join(path.read_text() for path in FILES)


def table_rows():
    """The cells of each row of the tables: item, what is done, where, deviation."""
    for line in (ROOT / "docs/faithfulness.md").read_text().splitlines():
        if line.startswith("|") and not line.startswith(("| item |", "| :--")):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


ROWS = list(table_rows())


def test_every_row_has_an_item_of_its_own_and_a_kind_of_deviation():
    assert len(ROWS) > 70 and all(len(row) == 4 and all(row) for row in ROWS)
    items = [item for item, *_ in ROWS]
    assert len(set(items)) == len(items)
    for item, _, _, deviation in ROWS:
        kind, _, reason = deviation.partition(":")
        assert kind in KINDS and bool(reason.strip()) == (kind != "None"), item


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_every_module_and_heading_exists(row):
    for place in row[2].split("; "):
        module, heading = re.fullmatch(r"`(.+)`", place), re.fullmatch(r"\*(.+)\*", place)
        assert module or heading, f"neither a module nor a heading: {place}"
        if module:
            assert any((ROOT / base / module[1]).is_file() for base in ("src/gradrank", "")), place
        else:
            written = f'"{heading[1]}"' in STUDIES or f"## {heading[1]} {{:" in STUDIES
            assert heading[1] in HEADINGS or written, place
