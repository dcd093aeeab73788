"""What `gradrank study NAME` writes: page.json for the report, page.md, each table's files, and numbers.json.

numbers.json and page.md hold no times: equal results give equal bytes, and they are in git.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gradrank.base.files import atomic, write_json
from gradrank.base.results import StudyFolder
from gradrank.base.stamps import write_sealed
from gradrank.config.studies import get_study
from gradrank.report.tables.table import Table, markdown
from gradrank.report.tables.table_files import write_table
from gradrank.studies.common.study import Figure, Inputs, PageSection

DIGITS = 6  # of the numbers in numbers.json


def study(name: str, inputs: Inputs) -> list[Path]:
    """Build the study `name` into `inputs.folder`, and return the files of its tables that hold no times.

    Raises GradrankError for an unknown study or results that are missing.
    """
    found, folder = get_study(name), StudyFolder(inputs.folder)
    sections = get_study(name, "page").build(inputs)
    tables = list(_tables(sections))
    folder.tables_path.mkdir(parents=True, exist_ok=True)  # an output of the rule, without tables too
    written = {table.id: write_table(table, folder.tables_path) for table in tables}
    write_json(folder.numbers_path, _numbers(sections))
    with atomic(folder.markdown_path) as partial:
        partial.write_text(_markdown(found.TITLE, found.PUBLICATION, sections), encoding="utf-8")
    page: dict[str, Any] = {"name": name, "title": found.TITLE, "publication": found.PUBLICATION}
    page["models"] = inputs.models
    page["sections"] = [_section(section) for section in sections]
    write_sealed(folder.page_path, page)
    return [path for table in tables if not table.timed for path in written[table.id]]


def _tables(sections: Sequence[PageSection]) -> Iterator[Table]:
    for section in sections:
        for item in section.content:
            yield item.table if isinstance(item, Figure) else item


def _section(section: PageSection) -> dict[str, Any]:
    """As plain data."""
    return {
        "id": section.id,
        "title": section.title,
        "paragraphs": list(section.paragraphs),
        "content": [_item(item) for item in section.content],
    }


def _item(item: Table | Figure) -> dict[str, Any]:
    if isinstance(item, Table):
        return item.to_dict() | {"kind": "table"}
    return vars(item) | {"table": item.table.to_dict(), "kind": "figure"}


def _numbers(sections: Sequence[PageSection]) -> dict[str, list[dict[str, Any]]]:
    """The rows of every table by its id; those behind figures are in their CSV files alone."""
    return {
        item.id: [
            {key: round(value, DIGITS) if isinstance(value, float) else value for key, value in row.items()}
            for row in item.rows
        ]
        for section in sections
        for item in section.content
        if isinstance(item, Table) and not item.timed
    }


def _markdown(title: str, publication: str, sections: Sequence[PageSection]) -> str:
    parts = [f"# {title}", publication]
    for section in sections:
        parts += [f"## {section.title}", *section.paragraphs]
        for item in section.content:
            if isinstance(item, Figure):
                parts += [f"### {item.title}", f"{item.alt} (drawn in the report; values: tables/{item.table.id}.csv)"]
            elif not item.timed:
                parts += [f"### {item.title}", *([item.note] if item.note else []), markdown(item)]
    return "\n\n".join(parts) + "\n"
