"""The page of a study as a Markdown template with Jinja expressions, in a file next to the study's code.

Each section of the template begins with a line `## Title {: #id }`. Blank lines separate paragraphs; the line breaks
inside a paragraph become spaces. An expression whose value is a Table or Figure, such as `{{ means }}` or
`{{ table("means", "Means over folds", columns, rows) }}`, adds it to its section, after the paragraphs.

Filters of the templates, besides those of Jinja: `number` (as `gradrank.base.text_tables.number`), `verdicts` (the
sentence of `count_verdicts`) and `significant` (the sentence of `describe_significant`).
"""

import re
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, TemplateNotFound, select_autoescape

from gradrank.base.errors import GradrankError
from gradrank.base.text_tables import number
from gradrank.bench.report.tables.table import Column, Table, count_verdicts
from gradrank.bench.studies.study import Figure, PageSection
from gradrank.bench.studies.tables import describe_significant

HEADING = re.compile(r"## (?P<title>.+) \{: #(?P<id>[\w-]+) \}")
SHOWN = "\0"  # before the index of a table or figure; the text of a page has no null character


def fill_template(path: Path, **facts: Any) -> list[PageSection]:
    """Return the sections of a page. facts: the values that the expressions of the template use.

    Raises GradrankError with the file, and the line where it is known, if the template cannot be read or filled.
    """
    shown: list[Table | Figure] = []

    def show(value: Any) -> Any:
        if not isinstance(value, Table | Figure):
            return value
        shown.append(value)
        return f"\n\n{SHOWN}{len(shown) - 1}\n\n"

    environment = Environment(
        loader=FileSystemLoader(path.parent),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=show,
    )
    environment.filters.update(number=number, verdicts=count_verdicts, significant=describe_significant)
    environment.globals["table"] = _table
    try:
        text = environment.get_template(path.name).render(facts)
    except TemplateNotFound:
        raise GradrankError(f"{path}: no such file. Fix: write the text of the page to this file") from None
    except TemplateError as error:
        raise GradrankError(f"{path}{_line(error, path)}: {error.message}. Fix: correct the template") from None
    return _sections(path, text, shown)


def _table(
    id: str, title: str, columns: Sequence[Column], rows: Iterable[Any], note: str = "", timed: bool = False
) -> Table:
    """Return a table. The title and the note may have line breaks."""
    return Table(id, " ".join(title.split()), columns, rows, " ".join(note.split()), timed)


def _line(error: TemplateError, path: Path) -> str:
    """Return the line of an error as text. Jinja adds the lines of the template to the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    line = getattr(error, "lineno", None) or (lines[-1] if lines else None)
    return f", line {line}" if line else ""


def _sections(path: Path, text: str, shown: Sequence[Table | Figure]) -> list[PageSection]:
    """Return the sections of a filled template. shown: its tables and figures."""
    sections: list[PageSection] = []
    paragraphs: list[str] = []
    content: list[Table | Figure] = []
    for block in filter(None, (" ".join(block.split()) for block in re.split(r"\n\s*\n", text))):
        heading = HEADING.fullmatch(block)
        item = shown[int(block.removeprefix(SHOWN))] if block.startswith(SHOWN) else None
        if heading:
            if any(section.id == heading["id"] for section in sections):
                raise GradrankError(f"{path}: two sections have the id {heading['id']!r}. Fix: rename one of them")
            paragraphs, content = [], []
            sections.append(PageSection(heading["id"], heading["title"], paragraphs, content))
        elif not sections or block.startswith("#"):
            about = block[:60] if item is None else item.id
            raise GradrankError(f"{path}: {about!r} is not in a section. Fix: write `## Title {{: #id }}` before it")
        elif item is not None:
            content.append(item)
        else:
            paragraphs.append(block)
    return sections
