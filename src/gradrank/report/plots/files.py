"""A drawing of the report as an SVG file that needs nothing beside it, in the light colours, for papers and slides."""

import re
from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from gradrank.files import atomic

STYLES = Path(__file__).parents[1] / "pages" / "plots.css"
MARGIN = 10
FONT = "text { font-family: Helvetica, Arial, sans-serif; } .name { font-size: 12px; fill: var(--ink); }"


def write_figures(figures: Mapping[str, Markup], folder: Path) -> None:
    """`folder`/<name>.svg of each drawing by its name, which may hold folders."""
    for name, drawing in figures.items():
        with atomic(folder / f"{name}.svg") as partial:
            partial.write_text(standalone(drawing), encoding="utf-8")


def standalone(drawing: Markup) -> str:
    """The drawing with its size, its styles and a white ground."""
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
