"""The files that `gradrank study NAME` writes: page.json, page.md, numbers.json and the tables.

The report reads page.json. numbers.json and page.md are committed to git. Neither file contains times, so equal results
give equal bytes.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gradrank.base.files import atomic, write_json
from gradrank.base.stamps import write_sealed
from gradrank.bench.config.studies import get_study
from gradrank.bench.report.tables.table import Table, markdown, write_table
from gradrank.bench.results import StudyFolder
from gradrank.bench.studies.study import Figure, Inputs, PageSection

DIGITS = 6  # decimal places in numbers.json


def write_study(name: str, inputs: Inputs) -> list[Path]:
    """Build the study `name`, and write its files into `inputs.folder`.

    Returns the paths of the tables that contain no times. Raises GradrankError if the study is unknown or results are
    missing.
    """
    package, folder = get_study(name), StudyFolder(inputs.folder)
    sections = get_study(name, "page").build(inputs)
    tables = list(_tables(sections))
    folder.tables_path.mkdir(
        parents=True, exist_ok=True
    )  # the workflow rule expects this folder even if there are no tables
    written = {table.id: write_table(table, folder.tables_path, name) for table in tables}
    write_json(folder.numbers_path, _numbers(sections))
    with atomic(folder.markdown_path) as partial:
        partial.write_text(_markdown(package.TITLE, package.PUBLICATION, sections), encoding="utf-8")
    page: dict[str, Any] = {"name": name, "title": package.TITLE, "publication": package.PUBLICATION}
    page["models"] = inputs.models
    page["sections"] = [_section(section) for section in sections]
    write_sealed(folder.page_path, page)
    return [path for table in tables if not table.timed for path in written[table.id]]


def _tables(sections: Sequence[PageSection]) -> Iterator[Table]:
    for section in sections:
        for item in section.content:
            yield item.table if isinstance(item, Figure) else item


def _section(section: PageSection) -> dict[str, Any]:
    """Return a section as plain data for page.json."""
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
    """Return the rows of the tables. The keys are the ids of the tables.

    The tables behind the figures (plots) are left out, because their values are in CSV files. Tables of times are left
    out as well.
    """
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
