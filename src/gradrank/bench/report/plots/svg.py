"""Build SVG drawings as text: scales, lines, the frame of a plot, strips with one row per method, and files for papers.

Colours come from CSS, so that plots adapt to dark mode. The files are self-contained and have light colours. Positions
in strips are percentages, so that a row fits any width without distortion.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from gradrank.base.files import atomic
from gradrank.base.text_tables import number


@dataclass(frozen=True)
class Scale:
    """A linear map from [low, high] in data units to [start, end] in drawing units."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, steps: int = 5, least: float = 0.0) -> list[tuple[float, str]]:
        """Return (value, label) ticks at round values within the scale.

        There are at most `steps` intervals between ticks, each at least `least` wide.
        """
        step = _round_step(max((self.high - self.low) / steps, least))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        return [(i * step, f"{i * step:,.{decimals}f}") for i in range(first, last + 1)]


def padded(values: Sequence[float], start: float, end: float, share: float = 0.06) -> Scale:
    """Return a Scale over `values` with a margin on both sides, so that the range of the Scale is never empty."""
    low, high = min(values), max(values)
    room = (high - low) * share or abs(low) * share or 1.0
    return Scale(low - room, high + room, start, end)


def _round_step(least: float) -> float:
    """Return the smallest number of the form 1, 2 or 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= least * (1 - 1e-9))


def element(name: str, content: object = "", **attributes: object) -> Markup:
    """Return the element `<name ...>content</name>`.

    Floats are written with one decimal. In attribute names, `_` becomes `-`, and a trailing `_` is dropped (`class_`).
    Content that is not Markup is escaped.
    """
    parts = []
    for key, value in attributes.items():
        text = f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value
        parts.append(Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), text))
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), Markup("").join(parts), escape(content))


def drawing(parts: Iterable[Markup], width: int, height: float, label: str, class_: str) -> Markup:
    """Return a drawing of `width` by `height` units, which scales with the page. label: description as text."""
    view = f"0 0 {width} {height}"
    return element("svg", Markup("").join(parts), viewBox=view, role="img", aria_label=label, class_=class_)


def line(xs: Sequence[float], ys: Sequence[float], class_: str, model: str | None = None) -> Markup:
    """Return a polyline through the points. model: the method of this line, by which the page can filter lines."""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    attributes = {} if model is None else {"data_model": model}
    return element("polyline", points=points, class_=class_, **attributes)


def thin(count: int, most: int) -> list[int]:
    """Return at most `most` evenly spaced indices of range(count), including the first and the last."""
    if count <= most:
        return list(range(count))
    return [int(i * (count - 1) / (most - 1) + 0.5) for i in range(most)]


class Frame(NamedTuple):
    """The edges of the plotting area in drawing units. Tick labels are to the left of the area and below it."""

    left: float
    right: float
    top: float
    bottom: float

    def horizontal_line(self, up: Scale, value: float, class_: str) -> Markup:
        """Return a horizontal line across the frame at a value of the scale `up`."""
        y = up(value)
        return element("line", x1=self.left, x2=self.right, y1=y, y2=y, class_=class_)

    def y_axis(self, up: Scale, ticks: Iterable[tuple[float, str]], title: str = "") -> list[Markup]:
        """Return a grid line and a label for each tick (value, text), and the title, which is above the frame."""
        parts = [element("text", title, x=0, y=self.top - 12, class_="tick")] if title else []
        for value, text in ticks:
            parts.append(self.horizontal_line(up, value, "grid"))
            parts.append(element("text", text, x=self.left - 4, y=up(value) + 3, class_="tick end"))
        return parts

    def x_axis(self, across: Scale, ticks: Iterable[tuple[float, str]], title: str = "") -> list[Markup]:
        """Return a label below the frame for each tick (value, text), and the title, which is below the labels."""
        parts = [
            element("text", text, x=across(value), y=self.bottom + 13, class_="tick middle") for value, text in ticks
        ]
        if title:
            middle = (self.left + self.right) / 2
            parts.append(element("text", title, x=middle, y=self.bottom + 28, class_="tick middle"))
        return parts


HEIGHT = 22
MIDDLE = HEIGHT / 2
STEPS = 5  # the most intervals between the ticks of an axis
NAMES, PLOT, NUMBERS = 200, 420, 60  # column widths in a drawing of `stacked`, in drawing units


@dataclass(frozen=True)
class Strip:
    """The row of one method: its mean and its drawing."""

    model: str
    mean: float
    drawing: Markup


def percent(scale: Scale, value: float) -> str:
    """Return the position of a value, on a scale from 0 to 100, as a percentage."""
    return f"{scale(value):.2f}%"


def strip(
    scale: Scale, parts: Iterable[Markup], label: str, class_: str = "strip", height: float = HEIGHT, steps: int = STEPS
) -> Markup:
    """Return one row: grid lines with `parts` on top.

    label: description of the row as text. steps: the most intervals between grid lines.
    """
    grid = [vertical_line(scale, value, "grid", height=height) for value, _ in scale.ticks(steps)]
    drawing = Markup("").join([*grid, *parts])
    return element("svg", drawing, width="100%", height=height, role="img", aria_label=label, class_=class_)


def vertical_line(scale: Scale, value: float, class_: str, margin: int = 0, height: float = HEIGHT) -> Markup:
    """Return a vertical line at a value, with `margin` drawing units above and below."""
    at = percent(scale, value)
    return element("line", x1=at, x2=at, y1=margin, y2=height - margin, class_=class_)


def bar(scale: Scale, low: float, high: float, class_: str = "interval", y: float = MIDDLE) -> Markup:
    """Return a horizontal bar from `low` to `high`."""
    return element("line", x1=percent(scale, low), x2=percent(scale, high), y1=y, y2=y, class_=class_)


def diamond(scale: Scale, entry: Mapping[str, Any]) -> Markup:
    """Return a diamond at a published value. entry: a row of the table published."""
    title = element("title", f"published: {entry['published']:.4f} ({entry['method']}, {entry['source']})")
    # The position of a path cannot be in percent, so the path is inside a nested svg element.
    path = element("path", title, d="M0 -5.5L5.5 0L0 5.5L-5.5 0Z", class_="published")
    return element("svg", path, x=percent(scale, entry["published"]), y=MIDDLE, overflow="visible")


def axis(scale: Scale) -> Markup:
    """Return the tick labels below the rows."""
    texts = [
        element("text", text, x=percent(scale, value), y=12, class_="tick middle") for value, text in scale.ticks(STEPS)
    ]
    return element("svg", Markup("").join(texts), width="100%", height=16, aria_hidden="true", class_="strip")


def stacked(strips: Sequence[Strip], below: Markup, form: str, shaded: Collection[str] = ()) -> Markup:
    """Return all rows as one drawing. Each row shows the method name, the strip and the mean.

    below: the axis. form: format specification of the means. shaded: the methods whose rows are shaded.
    """
    parts = []
    for index, row in enumerate(strips):
        y = index * HEIGHT
        if row.model in shaded:
            shade = {"x": -4, "y": y, "width": NAMES + PLOT + NUMBERS + 8, "height": HEIGHT}
            parts.append(element("rect", **shade, class_="shaded"))
        parts.append(element("text", row.model, x=0, y=y + MIDDLE + 4, class_="name"))
        parts.append(element("svg", row.drawing, x=NAMES, y=y, width=PLOT, height=HEIGHT))
        place = {"x": NAMES + PLOT + NUMBERS, "y": y + MIDDLE + 4}
        parts.append(element("text", number(row.mean, form), **place, class_="name end"))
    parts.append(element("svg", below, x=NAMES, y=len(strips) * HEIGHT, width=PLOT, height=16))
    height = len(strips) * HEIGHT + 18
    return drawing(parts, NAMES + PLOT + NUMBERS, height, "One row per method", "strips")


STYLES = Path(__file__).parents[1] / "pages" / "plots.css"
MARGIN = 10
FONT = "text { font-family: Helvetica, Arial, sans-serif; } .name { font-size: 12px; fill: var(--ink); }"


def write_figures(figures: Mapping[str, Markup], folder: Path) -> None:
    """Write each drawing as `folder`/<name>.svg.

    A name may contain folders. If a figure has several drawings, the files are <name>-1.svg, <name>-2.svg, and so on.
    """
    for name, drawing in figures.items():
        drawings = list(_outermost(drawing))
        for place, single in enumerate(drawings, start=1):
            with atomic(folder / f"{name}{f'-{place}' if len(drawings) > 1 else ''}.svg") as partial:
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
