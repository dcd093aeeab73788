"""What `gradrank study NAME` writes: page.json for the report, page.md, a CSV a table, and numbers.json.

numbers.json and page.md hold no times: equal results give equal bytes, and they are in git.
"""

import csv
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gradrank.files import atomic, read_json, write_json
from gradrank.pipeline.studies import get_study
from gradrank.report.tables.markdown import MARKS, markdown_table
from gradrank.studies.kit.study import FOLDER, Column, Figure, Inputs, Section, Table

DIGITS = 6  # of the numbers in numbers.json


def write_study(name: str, inputs: Inputs) -> None:
    """Build the study `name` into `inputs.folder`; page.json, which the report looks for, is written last.

    Raises GradrankError for an unknown study or results that are missing.
    """
    study, folder = get_study(name), inputs.folder
    sections = get_study(name, "page").build(inputs)
    tables = list(_tables(sections))
    (folder / "tables").mkdir(
        parents=True, exist_ok=True
    )  # an output of the rule, of a study without tables too
    for table in tables:
        _write_csv(folder / "tables" / f"{table.id}.csv", table)
    write_json(folder / "numbers.json", _numbers(sections))
    with atomic(folder / "page.md") as partial:
        partial.write_text(_markdown(study.TITLE, study.PUBLICATION, sections), encoding="utf-8")
    page: dict[str, Any] = {"name": name, "title": study.TITLE, "publication": study.PUBLICATION}
    page["models"] = inputs.models
    page["sections"] = [_section(section) for section in sections]
    write_json(folder / "page.json", page)


def read_pages(results: Path) -> list[dict[str, Any]]:
    """Every finished study under `results`, by name; of one that is not its reduced form, where that is."""
    pages = []
    for folder in sorted((results / FOLDER).glob("*/")):
        found = [path for path in (folder / "page.json", folder / "reduced" / "page.json") if path.is_file()]
        pages += [read_json(path) for path in found[:1]]
    return pages


def _tables(sections: Sequence[Section]) -> Iterator[Table]:
    for section in sections:
        for item in section.content:
            yield item.table if isinstance(item, Figure) else item


def _section(section: Section) -> dict[str, Any]:
    """As plain data: a cell that is no finite number becomes null."""
    content = [
        dataclasses.asdict(item) | {"kind": "figure" if isinstance(item, Figure) else "table"}
        for item in section.content
    ]
    for item in content:
        table = item["table"] if item["kind"] == "figure" else item
        table["rows"] = [{key: _finite(value) for key, value in row.items()} for row in table["rows"]]
    return {
        "id": section.id,
        "title": section.title,
        "paragraphs": list(section.paragraphs),
        "content": content,
    }


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value


def _numbers(sections: Sequence[Section]) -> dict[str, list[dict[str, Any]]]:
    """The rows of every table by its id; those behind figures are in their CSV files alone."""
    return {
        item.id: [
            {
                key: round(value, DIGITS) if isinstance(value, float) else value
                for key, value in ((column.key, _finite(row.get(column.key))) for column in item.columns)
            }
            for row in item.rows
        ]
        for section in sections
        for item in section.content
        if isinstance(item, Table) and not item.timed
    }


def _write_csv(path: Path, table: Table) -> None:
    with atomic(path) as partial, partial.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(
            stream, [column.key for column in table.columns], lineterminator="\n", extrasaction="ignore"
        )
        writer.writeheader()
        for row in table.rows:
            writer.writerow({key: _finite(value) for key, value in row.items()})


def _markdown(title: str, publication: str, sections: Sequence[Section]) -> str:
    parts = [f"# {title}", publication]
    for section in sections:
        parts += [f"## {section.title}", *section.paragraphs]
        for item in section.content:
            if isinstance(item, Figure):
                parts += [
                    f"### {item.title}",
                    f"{item.alt} (drawn in the report; values: tables/{item.table.id}.csv)",
                ]
            elif not item.timed:
                parts += [f"### {item.title}", *([item.note] if item.note else []), _table(item)]
    return "\n\n".join(parts) + "\n"


def _table(table: Table) -> str:
    rows = [[_cell(row.get(column.key), column) for column in table.columns] for row in table.rows]
    return markdown_table([column.title for column in table.columns], rows)


def _cell(value: Any, column: Column) -> str:
    if _finite(value) is None:
        return "–"
    if column.key == "verdict":
        return f"{MARKS[value]} {value}" if value else ""
    return format(value, column.form)
