"""Two hundred generated fold layouts with 40, 400 and 4,000 queries against an independent script.

About 6 minutes on two cores. tests/unit/data/test_fold_layouts.py does the same for one layout per kind.
"""

import pytest

from fold_check import check_layout
from fold_layouts import generate

LAYOUTS = 200


def queries(number: int) -> int:
    """Return the number of queries: 4,000 for ten layouts, one per kind, 400 for 20 layouts, and 40 for the others."""
    return 4_000 if 100 <= number < 110 else 400 if 110 <= number < 130 else 40


@pytest.mark.parametrize("number", range(LAYOUTS))
def test_a_generated_layout_equals_an_independent_script(tmp_path, number):
    check_layout(generate(tmp_path / "data", number, queries(number)), tmp_path)
