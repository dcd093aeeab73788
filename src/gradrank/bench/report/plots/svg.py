"""Build SVG drawings as text: scales, ticks and lines. Colours come from CSS, so that plots adapt to dark mode."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape


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
