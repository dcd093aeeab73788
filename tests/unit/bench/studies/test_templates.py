"""Pages as templates: sections, joined lines, tables in their place, and errors with file and line."""

import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.study import Figure
from gradrank.bench.studies.templates import fill_template

ROWS = [{"x": 1.5}, {"x": -2.0}]
COLUMNS = (Column("x", "x", ".1f"),)
TEMPLATE = """\
## On {{ name }} {: #one_{{ name }} }

Two lines
of one   paragraph: {{ rows[1].x | number }}.
{% if rows %}
{{ rows | length }} rows.
{% endif %}

{{ table("first", "A title
    on two lines", COLUMNS, rows, "A note
    on two lines") }}
{{ ready }}
A second {{ number_of }} paragraph <with> `{code}` & "quotes".
{% if absent %}

## Absent {: #absent }
{% endif %}

## Empty {: #empty }
"""


@pytest.fixture
def fill(tmp_path):
    def fill(text, **facts):
        path = tmp_path / "page.md.jinja"
        path.write_text(text)
        return fill_template(path, **facts)

    return fill


def test_a_template_gives_sections_with_paragraphs_and_content(fill):
    ready = Figure("drawn", "Drawn", "<svg/>", "in words", Table("points", "Points", COLUMNS, ROWS))
    first, empty = fill(
        TEMPLATE, name="mq2007", rows=ROWS, COLUMNS=COLUMNS, ready=ready, number_of="{{ table }}", absent=False
    )
    assert (first.id, first.title) == ("one_mq2007", "On mq2007")
    assert list(first.paragraphs) == [
        "Two lines of one paragraph: \N{MINUS SIGN}2.0000. 2 rows.",
        'A second {{ table }} paragraph <with> `{code}` & "quotes".',
    ]
    table, figure = first.content
    assert (table.id, table.title, table.note) == ("first", "A title on two lines", "A note on two lines")
    assert table.rows == ROWS and figure is ready
    assert (empty.id, empty.paragraphs, empty.content) == ("empty", [], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("## A {: #a }\n\n{{ absent }}\n", r"page\.md\.jinja, line 3: 'absent' is undefined"),
        ("## A {: #a }\n\n{{ rows.absent }}\n", r"page\.md\.jinja, line 3: .*no attribute 'absent'"),
        ("## A {: #a }\n\n{{ 1 | absent }}\n", r"page\.md\.jinja, line 3: No filter named 'absent'"),
        ("## A {: #a }\n{% if rows %}\n", r"page\.md\.jinja, line 2"),
        ("Text before a section.\n", "'Text before a section.' is not in a section"),
        ("## A section without an id\n", "'## A section without an id' is not in a section"),
        ("## A {: #a }\n\n### B {: #b }\n", "'### B {: #b }' is not in a section"),
        ("{{ ready }}\n\n## A {: #a }\n", "'points' is not in a section"),
        ("## A {: #a }\n\n## B {: #a }\n", "two sections have the id 'a'"),
    ],
)
def test_a_faulty_template_is_refused_with_its_place_and_a_repair(fill, text, message):
    with pytest.raises(GradrankError, match=message) as error:
        fill(text, rows=ROWS, ready=Table("points", "Points", COLUMNS, ROWS))
    assert "page.md.jinja" in str(error.value) and "Fix: " in str(error.value)


def test_a_template_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(GradrankError, match=r"my_study\.md\.jinja: no such file"):
        fill_template(tmp_path / "my_study.md.jinja")
