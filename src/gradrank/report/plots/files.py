"""A drawing of the report as an SVG file that needs nothing beside it, in the light colours, for papers and slides."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from markupsafe import Markup

from gradrank.base.files import atomic

STYLES = Path(__file__).parents[1] / "pages" / "plots.css"
MARGIN = 10
FONT = "text { font-family: Helvetica, Arial, sans-serif; } .name { font-size: 12px; fill: var(--ink); }"


def write_figures(figures: Mapping[str, Markup], folder: Path) -> None:
    """`folder`/<name>.svg of each drawing by its name, which may hold folders; of several in one <name>-1.svg, .."""
    for name, drawing in figures.items():
        drawings = list(_outermost(drawing))
        for number, each in enumerate(drawings, start=1):
            with atomic(folder / f"{name}{f'-{number}' if len(drawings) > 1 else ''}.svg") as partial:
                partial.write_text(standalone(each), encoding="utf-8")


def _outermost(drawing: str) -> Iterator[str]:
    """The drawings in it, which may hold others."""
    depth = start = 0
    for tag in re.finditer("<svg |</svg>", drawing):
        start = start if depth else tag.start()
        depth += 1 if tag[0] == "<svg " else -1
        if not depth:
            yield drawing[start : tag.end()]


def standalone(drawing: str) -> str:
    """A drawing with its size, its styles and a white ground."""
    width, height, rest, content = re.fullmatch(
        r'<svg viewBox="0 0 ([\d.]+) ([\d.]+)" ([^>]*)>(.*)</svg>', drawing, re.DOTALL
    ).groups()
    size = f'width="{float(width) + 2 * MARGIN:g}" height="{float(height) + 2 * MARGIN:g}"'
    place = f'x="{-MARGIN}" y="{-MARGIN}" {size}'
    view = f'viewBox="{-MARGIN} {-MARGIN} {float(width) + 2 * MARGIN:g} {float(height) + 2 * MARGIN:g}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} {rest}>\n<style>\n{_styles()}\n</style>\n'
        f'<rect {place} fill="#fff"/>{content}</svg>\n'
    )


def _styles() -> str:
    """The styles of drawings with the colours in place of their names, which few programs beside browsers know."""
    text = STYLES.read_text(encoding="utf-8")
    light, rules = re.fullmatch(r":root \{(.*?)\}.*?\n\}\n(.*)", text, re.DOTALL).groups()
    colours = dict(re.findall(r"(--[\w-]+): ([^;]+);", light))
    rules = f"{FONT}\n{rules}"
    while "var(" in rules:
        rules = re.sub(r"var\((--[\w-]+)\)", lambda found: colours[found[1]], rules)
    return rules.strip()
