"""Write the plots of the report as self-contained SVG files in light colours, for papers and slides."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from markupsafe import Markup

from gradrank.base.files import atomic

STYLES = Path(__file__).parents[1] / "pages" / "plots.css"
MARGIN = 10
FONT = "text { font-family: Helvetica, Arial, sans-serif; } .name { font-size: 12px; fill: var(--ink); }"


def write_figures(figures: Mapping[str, Markup], folder: Path) -> None:
    """Write each drawing as `folder`/<name>.svg.

    A name may contain folders. If a figure has several drawings, the files are <name>-1.svg, <name>-2.svg, and so on.
    """
    for name, drawing in figures.items():
        drawings = list(_outermost(drawing))
        for number, single in enumerate(drawings, start=1):
            with atomic(folder / f"{name}{f'-{number}' if len(drawings) > 1 else ''}.svg") as partial:
                partial.write_text(standalone(single), encoding="utf-8")


def _outermost(drawing: str) -> Iterator[str]:
    """Yield the outermost svg elements. They may contain nested svg elements."""
    depth = start = 0
    for tag in re.finditer("<svg |</svg>", drawing):
        start = start if depth else tag.start()
        depth += 1 if tag[0] == "<svg " else -1
        if not depth:
            yield drawing[start : tag.end()]


def standalone(drawing: str) -> str:
    """Return the text of an SVG file with explicit size, styles and a white background.

    drawing: as returned by `svg.drawing`. Raises ValueError if the text is not such a drawing.
    """
    width, height, rest, content = _groups(r'<svg viewBox="0 0 ([\d.]+) ([\d.]+)" ([^>]*)>(.*)</svg>', drawing)
    size = f'width="{float(width) + 2 * MARGIN:g}" height="{float(height) + 2 * MARGIN:g}"'
    place = f'x="{-MARGIN}" y="{-MARGIN}" {size}'
    view = f'viewBox="{-MARGIN} {-MARGIN} {float(width) + 2 * MARGIN:g} {float(height) + 2 * MARGIN:g}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} {rest}>\n<style>\n{_styles()}\n</style>\n'
        f'<rect {place} fill="#fff"/>{content}</svg>\n'
    )


def _styles() -> str:
    """Return the styles with CSS variables replaced by their values, because few SVG programs support variables."""
    text = STYLES.read_text(encoding="utf-8")
    light, rules = _groups(r":root \{(.*?)\}.*?\n\}\n(.*)", text)
    colours = dict(re.findall(r"(--[\w-]+): ([^;]+);", light))
    rules = f"{FONT}\n{rules}"
    while "var(" in rules:
        rules = re.sub(r"var\((--[\w-]+)\)", lambda name: colours[name[1]], rules)
    return rules.strip()


def _groups(pattern: str, text: str) -> tuple[str, ...]:
    """Return the groups of a pattern that must match the whole text. Raises ValueError if it does not match."""
    match = re.fullmatch(pattern, text, re.DOTALL)
    if match is None:
        raise ValueError(f"{text[:60]!r} does not match {pattern!r}")
    return match.groups()
