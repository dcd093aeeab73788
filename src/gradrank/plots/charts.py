"""Charts with matplotlib in one style: lines over steps, intervals, and bars with a sign.

matplotlib is imported when a chart is drawn. Each function draws into the axes that it gets, or into those of a new
figure, and returns the axes. The style is set for the new figure only, so other figures of the caller do not change.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradrank.base.errors import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import RcKeyType

BLUE, ORANGE, GREY = "#1f5f99", "#c65d00", "#8a8a8a"  # distinguishable with every common kind of colour blindness
STYLE: "dict[RcKeyType, Any]" = {
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
}
WIDTH, ROW = 6.0, 0.26  # inches: width of a figure, height of a row with a name


def line_chart(
    steps: np.ndarray, lines: Mapping[str, np.ndarray], mark: int | None, needed_by: str, ax: "Axes | None"
) -> "Axes":
    """Draw lines over training steps.

    steps: (n,) numbers of the steps. lines: (n,) values by label. mark: the step with a vertical line; None for no
    line. needed_by: what the error names if matplotlib is missing. ax: axes; None for those of a new figure.
    """
    ax = _axes(needed_by, 3.2, ax)
    for (label, values), colour in zip(lines.items(), (BLUE, ORANGE, GREY) * len(lines), strict=False):
        ax.plot(steps, values, color=colour, linewidth=1.4, label=label)
    if mark is not None:
        ax.axvline(mark, color=GREY, linestyle="--", linewidth=1, label=f"selected: step {mark}")
    ax.set_xlabel("training step")
    ax.legend(frameon=False)
    return ax


def interval_chart(
    names: Sequence[str], intervals: np.ndarray, label: str, needed_by: str, ax: "Axes | None"
) -> "Axes":
    """Draw one row per name: a dot at the value and a bar over its interval. The first name is at the top.

    intervals: (n, 3) value, lower and upper bound; a nan is left out. label: text below the axis. needed_by, ax: see
    `line_chart`.
    """
    ax = _axes(needed_by, 1 + ROW * len(names), ax)
    rows = np.arange(len(names))
    ax.hlines(rows, intervals[:, 1], intervals[:, 2], color=BLUE, linewidth=2)
    ax.plot(intervals[:, 0], rows, "o", color=BLUE, markersize=4.5)
    return _named_rows(ax, names, label)


def bar_chart(names: Sequence[str], values: np.ndarray, label: str, needed_by: str, ax: "Axes | None") -> "Axes":
    """Draw one horizontal bar per name, positive and negative ones in two colours. The first name is at the top.

    values: (n,) lengths of the bars. label: text below the axis. needed_by, ax: see `line_chart`.
    """
    ax = _axes(needed_by, 1 + ROW * len(names), ax)
    ax.barh(np.arange(len(names)), values, height=0.7, color=[BLUE if value >= 0 else ORANGE for value in values])
    return _named_rows(ax, names, label)


def sorted_chart(values: np.ndarray, label: str, needed_by: str, ax: "Axes | None") -> "Axes":
    """Draw one vertical bar per value, the largest first, positive and negative ones in two colours.

    values: (n,) values without nan. label: text beside the axis. needed_by, ax: see `line_chart`.
    """
    ax = _axes(needed_by, 3.2, ax)
    ordered = np.sort(values)[::-1]
    colours = [BLUE if value >= 0 else ORANGE for value in ordered]
    ax.bar(np.arange(1, len(ordered) + 1), ordered, width=1.0, color=colours)
    ax.axhline(0, color="black", linewidth=0.8)
    ax.grid(visible=False, axis="x")
    ax.set_xlabel("query, sorted by the difference")
    ax.set_ylabel(label)
    return ax


def _axes(needed_by: str, height: float, ax: "Axes | None") -> "Axes":
    """Return `ax`, or the axes of a new figure in the style of gradrank. height: of the figure, in inches."""
    if ax is not None:
        return ax
    require("matplotlib", extra="plots", needed_by=needed_by)
    import matplotlib.pyplot as plt

    # The first figure selects matplotlib's backend. In rc_context, Jupyter's backend would lose its interactive mode.
    figure = plt.figure(figsize=(WIDTH, height), layout="constrained")
    with plt.rc_context(STYLE):
        return figure.subplots()


def _named_rows(ax: "Axes", names: Sequence[str], label: str) -> "Axes":
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(np.arange(len(names)), labels=names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(label)
    return ax
