"""A page of the report, and the rendering of its template."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gradrank.base.text_tables import MINUS, number, p_value
from gradrank.bench.report.tables.summary_tables import SEEDS
from gradrank.bench.report.tables.table import (
    MARKS,
    MEANINGS,
    POWER,
    TEXT,
    VERDICT,
    format_value,
    microseconds,
    seconds,
    size,
)
from gradrank.cli.family_names import family_name
from gradrank.measures.metrics import metric_label

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Page:
    """A page of the report.

    id: anchor that the navigation links to. body: rendered HTML. figures: the drawings. The keys are the file names
    without the suffix. group: name of the menu of the navigation that lists the page; empty if no menu does.
    """

    id: str
    title: str
    body: Markup
    figures: dict[str, Markup] = field(default_factory=dict)
    group: str = ""


def navigation(pages: Iterable[Page]) -> list[tuple[str, list[Page]]]:
    """Return the items of the navigation: (title, pages). An item with several pages is a menu."""
    items: list[tuple[str, list[Page]]] = []
    for page in pages:
        if page.group and items and items[-1][0] == page.group:
            items[-1][1].append(page)
        else:
            items.append((page.group or page.title, [page]))
    return [(title if len(members) > 1 else members[0].title, members) for title, members in items]


def render_page(template: str, **values: Any) -> Markup:
    """Render a template of this folder or of `gradrank.bench.diff`. Values that are not Markup are escaped."""
    return Markup(_environment().get_template(template).render(values))


def prose(text: str) -> Markup:
    """Return text as HTML. Parts in backquotes become `<code>` elements."""
    pieces = enumerate(text.split("`"))
    return Markup("").join(Markup("<code>{}</code>").format(piece) if i % 2 else piece for i, piece in pieces)


def method(name: str, linked: Collection[str]) -> Markup:
    """Return the name of a method as HTML, with a link to the method's description if `linked` has the name.

    On narrow screens, the name is broken after an underscore.
    """
    text = Markup.escape(name).replace("_", Markup("_<wbr>"))
    return Markup('<a href="#method-{}">{}</a>').format(name, text) if name in linked else text


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader([FOLDER, FOLDER.parents[1] / "diff"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        metric=metric_label,
        number=lambda value, form=".4f": format_value(value, form, MINUS),
        signed=lambda x: number(x, "+.4f"),
        p_value=p_value,
        seconds=seconds,
        microseconds=microseconds,
        size=size,
        prose=prose,
        method=method,
        family=family_name,
        css_class=lambda words: words.replace(" ", "-"),
    )
    environment.globals.update(
        TEXT=TEXT, VERDICT=VERDICT, MARKS=MARKS, MEANINGS=MEANINGS, POWER=POWER, navigation=navigation
    )
    environment.globals["SEEDS"] = SEEDS
    environment.globals["asset"] = lambda name: Markup((FOLDER / name).read_text(encoding="utf-8"))
    return environment
