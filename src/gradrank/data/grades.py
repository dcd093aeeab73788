"""Relevance grades: their range, and grades from continuous labels. Importing this module is fast."""

import math
from collections.abc import Sequence
from itertools import pairwise

HIGHEST_GRADE = 31  # the gain of a grade is 2^grade - 1; LightGBM's table of gains has the same limit


def edges_fault(edges: Sequence[float]) -> str | None:
    """Return the reason why `edges` do not divide the numbers into grades, or None if they do.

    The grade of a label is the number of edges that are less than or equal to the label.
    """
    if not all(map(math.isfinite, edges)):
        return "expected finite numbers"
    if any(a >= b for a, b in pairwise(edges)):
        return "expected strictly increasing numbers"
    if len(edges) > HIGHEST_GRADE:
        return f"{len(edges)} edges, but the highest grade is {HIGHEST_GRADE}"
    return None
