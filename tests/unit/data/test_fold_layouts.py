"""Generated fold layouts give the queries, scores and values of a script that reads them and calls LightGBM itself."""

import pytest

from fold_check import check_layout
from fold_layouts import KINDS, generate


@pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
def test_a_generated_layout_equals_an_independent_script(tmp_path, number):
    check_layout(generate(tmp_path / "data", number), tmp_path)
