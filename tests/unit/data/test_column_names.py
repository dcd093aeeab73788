"""docs/own-data.md lists the column names that the readers recognise."""

import re
from pathlib import Path

from gradrank.data.tables.roles import FURTHER_NAMES, ROLE_NAMES, RUN_COLUMNS, SCORES, normalised

PAGE = Path(__file__).resolve().parents[3] / "docs/own-data.md"
ROWS = {
    "query ids": ROLE_NAMES["query"],
    "grades": ROLE_NAMES["label"],
    "document ids": ROLE_NAMES["docid"],
    "document ids, if no column has a name of the row above": FURTHER_NAMES["docid"],
    "scores, in a table of scores": SCORES,
    "not read, in a table of scores": RUN_COLUMNS,
}


def test_the_page_lists_the_names_of_each_role():
    section = PAGE.read_text(encoding="utf-8").partition("## Names of columns")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| ([^|]+) \| (`[^|]+`) \|$", section, re.M))
    listed = {row: [normalised(name) for name in re.findall("`([^`]+)`", names)] for row, names in rows.items()}
    assert {row: sorted(names) for row, names in listed.items()} == {row: sorted(names) for row, names in ROWS.items()}
