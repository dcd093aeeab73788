"""The queries that are held out for validation where a user's own data have no validation file.

`gradrank.Ranker.fit`, parsing and `gradrank inspect` use the same default share and the same draw.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

HELD_OUT = 0.2  # share of the training queries
DRAWN, TEST_PART, ONE_PART = "drawn", "test_part", "one_part"  # how the validation part was chosen


def draw_held_out(queries: int, seed: int, share: float = HELD_OUT) -> np.ndarray:
    """Return a (q,) mask of the queries that are held out: at least one, and not all.

    queries: the number of training queries, at least 2. share: the share to hold out, between 0 and 1.
    """
    mask = np.zeros(queries, dtype=bool)
    count = min(queries - 1, max(1, round(share * queries)))
    mask[np.random.default_rng(seed).permutation(queries)[:count]] = True
    return mask


def describe_held_out(
    choice: str, folds: Sequence[int], held: Sequence[int], trained: Sequence[int], share: float | None = None
) -> dict[str, Any]:
    """Return the entry `held_out` of collection.json.

    choice: DRAWN, TEST_PART or ONE_PART. folds: the numbers of the folds without a validation file. held, trained: for
    each of these folds, the numbers of queries that are held out and that are left for training. share: the requested
    share; None if no share was requested.
    """
    shares = [round(count / (count + left), 4) for count, left in zip(held, trained, strict=True)]
    described = {"choice": choice, "folds": list(folds), "queries": list(held), "shares": shares}
    return described if share is None else described | {"share": share}


def held_out_sentence(description: Mapping[str, Any] | None) -> str | None:
    """Return a sentence about the queries that are held out for validation; None if no queries are held out.

    description: the content of collection.json, or None.
    """
    held = (description or {}).get("held_out")
    if held is None:
        return None
    queries, shares = held["queries"], held["shares"]
    folds = len((description or {})["folds"])
    count = f"{_span([f'{count:,}' for count in queries], queries)} {'query' if queries == [1] else 'queries'}"
    share = f"{_span([f'{share:.0%}' for share in shares], shares)} of the training queries"
    per_fold = f" of each of {len(queries)} folds" if len(queries) > 1 else ""
    if held["choice"] == TEST_PART:
        how = "each fold validates on the part that the fold before tests on"
    elif held["choice"] == ONE_PART:
        how = f"each fold validates on one of the {folds} parts of the file"
    else:
        how = "they are drawn with the seed"
    which = f" (folds {', '.join(map(str, held['folds']))})" if len(held["folds"]) < folds else ""
    return f"No validation file{which}: {share}{per_fold} are held out for validation ({count}); {how}."


def _span(texts: Sequence[str], values: Sequence[float]) -> str:
    """Return the text of the lowest and of the highest value, or one text if both are equal."""
    low, high = texts[values.index(min(values))], texts[values.index(max(values))]
    return low if low == high else f"{low} to {high}"
