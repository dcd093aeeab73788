"""The heat map of one collection: the mean of every combination of a scorer and a loss."""

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from gradrank.base.numbers import number
from gradrank.bench.report.plots import svg

LEFT, TOP, BOTTOM = 110, 24, 8  # width of the names, height of the headings, margin below the cells
WIDTH, HEIGHT = 74, 26  # size of a cell


def heat_map(scorers: Sequence[str], losses: Sequence[str], means: np.ndarray, alt: str) -> Markup:
    """Return a drawing with one row per scorer and one column per loss, with the means of both at the margins.

    means: (R, C). A higher mean has a darker cell. alt: description as text.
    """
    low, high = float(means.min()), float(means.max())
    rows = [*scorers, "mean"]
    columns = [*losses, "mean"]
    table = np.block(
        [[means, means.mean(axis=1, keepdims=True)], [means.mean(axis=0, keepdims=True), means.mean()[None, None]]]
    )
    parts = [
        svg.element("text", name, x=LEFT + (j + 0.5) * WIDTH, y=TOP - 8, class_="tick middle")
        for j, name in enumerate(columns)
    ]
    for i, name in enumerate(rows):
        middle = TOP + (i + 0.5) * HEIGHT
        parts.append(svg.element("text", name, x=LEFT - 6, y=middle + 4, class_="tick end"))
        for j in range(len(columns)):
            share = 0.0 if high == low else (float(table[i, j]) - low) / (high - low)
            parts.append(_cell(j, i, share, float(table[i, j])))
    return svg.drawing(parts, LEFT + len(columns) * WIDTH, TOP + len(rows) * HEIGHT + BOTTOM, alt, "chart")


def _cell(column: int, row: int, share: float, value: float) -> Markup:
    x, y = LEFT + column * WIDTH, TOP + row * HEIGHT
    shape = svg.element(
        "rect",
        x=x + 1,
        y=y + 1,
        width=WIDTH - 2,
        height=HEIGHT - 2,
        class_="part s1",
        fill_opacity=f"{0.05 + 0.55 * share:.2f}",
    )
    text = svg.element("text", number(value), x=x + WIDTH / 2, y=y + HEIGHT / 2 + 4, class_="tick value middle")
    return Markup("").join([shape, text])
