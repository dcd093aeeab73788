"""A line chart of many series: their names stand at their ends."""

import re

import numpy as np
import pytest

from gradrank.report.plots.chart import END_LINE, FRAME, Series, apart, line_chart


@pytest.mark.parametrize(
    "wanted", [[50.0], [20.0, 21.0, 22.0, 90.0], [99.0] * 5, [0.0, 0.0, 50.0, 55.0, 100.0]]
)
def test_names_are_moved_apart_and_stay_in_their_order(wanted):
    placed = apart(wanted, 10, 10, 100)
    assert min(np.diff(placed), default=10) >= 10 - 1e-9
    assert placed[0] >= 10 and placed[-1] <= 100
    assert apart([20.0, 60.0], 10, 10, 100) == [20, 60], "none is moved that has room"


def test_many_series_have_their_names_at_their_ends():
    levels = {f"method{i}": 0.4 + 0.0001 * (i * 7 % 20) for i in range(20)} | {"far": 0.1}
    drawing = str(line_chart([Series(name, (1, 2), (0.2, y)) for name, y in levels.items()], "n", "y", "alt"))
    found = re.findall(r'y="([\d.]+)"[^>]*>(method\d+|far)<', drawing)
    assert [name for _, name in found] == sorted(levels, key=lambda name: -levels[name])
    heights = [float(y) for y, _ in found]
    assert min(np.diff(heights)) >= END_LINE - 0.1 and heights[0] >= FRAME.top
