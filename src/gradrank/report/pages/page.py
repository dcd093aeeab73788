"""A page of the report, and the templates that make one."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gradrank.evaluation.published import metric_label

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
        p_value=lambda p: "<0.0001" if p is not None and p < 1e-4 else number(p),
        seconds=seconds,
    )
    environment.globals["asset"] = lambda name: Markup((FOLDER / name).read_text(encoding="utf-8"))
    return environment


def number(value: float | None, form: str = ".4f") -> str:
    """A number, or a dash where there is none; a true minus sign."""
    if value is None or value != value:
        return "–"
    return format(value, form).replace("-", "\N{MINUS SIGN}")


def setting(value: Any) -> str:
    """A parameter's value: 20, ndcg@10, 64 × 32."""
    return " × ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def seconds(value: float) -> str:
    """`0.42 s`, `12.3 s`, `2 min 05 s`, `1 h 02 min`: about three digits."""
    if value < 60:
        return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
