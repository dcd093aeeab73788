"""A page of the report, and the templates that make one."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gradrank.evaluation.metrics import metric_label
from gradrank.report.tables.numbers import TEXT, VERDICT, number, p_value, seconds

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Page:
    """`id` is the anchor that the navigation links to; `body` is finished HTML."""

    id: str
    title: str
    body: Markup


def render_page(template: str, **values: Any) -> Markup:
    """A template of this folder, or of `gradrank.diff`, with `values`; everything that is not Markup is escaped."""
    return Markup(_environment().get_template(template).render(values))


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
        number=number,
        signed=lambda x: number(x, "+.4f"),
        p_value=p_value,
        seconds=seconds,
    )
    environment.globals.update(TEXT=TEXT, VERDICT=VERDICT)
    environment.globals["asset"] = lambda name: Markup((FOLDER / name).read_text(encoding="utf-8"))
    return environment
