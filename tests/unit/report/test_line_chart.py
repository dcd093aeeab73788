"""A line chart of many series: their names stand at their ends."""

import numpy as np
import pytest

from gradrank.report.plots.chart import apart


@pytest.mark.parametrize("wanted", [[50.0], [20.0, 21.0, 22.0, 90.0], [99.0] * 5, [0.0, 0.0, 50.0, 55.0, 100.0]])
def test_names_are_moved_apart_and_stay_in_their_order(wanted):
    placed = apart(wanted, 10, 10, 100)
    assert min(np.diff(placed), default=10) >= 10 - 1e-9
    assert placed[0] >= 10 and placed[-1] <= 100
    assert apart([20.0, 60.0], 10, 10, 100) == [20, 60], "none is moved that has room"
