"""The choice of methods, queries and pairs that are explained, compared with an enumeration of all choices."""

from itertools import permutations

import numpy as np
import polars as pl
import pytest

from gradrank.bench.report.explanations import (
    MOST_METHODS,
    choose_methods,
    choose_opponents,
    kendall_tau,
    most_different,
    opposed_pair,
    over_folds,
)
from gradrank.bench.report.standings import Standing
from gradrank.training.literature import OTHERS


def ranked(*methods: tuple[str, bool]) -> list[Standing]:
    """Return methods, best first, from (family, is worse) pairs. They are called m0, m1, ..."""
    return [
        Standing(f"m{place}", family, 1 - place / 100, None, (), is_worse)
        for place, (family, is_worse) in enumerate(methods)
    ]


def chosen(*methods: tuple[str, bool]) -> tuple[list[str], list[str]]:
    """Return the names of the explained methods and of the two that are compared."""
    rows = ranked(*methods)
    return [row.model for row in choose_methods(rows)], [row.model for row in choose_opponents(rows)]


TREE, NET, WORSE_NET = ("trees", False), ("nets", False), ("nets", True)


@pytest.mark.parametrize(
    ("methods", "explained", "opponents"),
    [
        ((), [], []),
        ((TREE,), ["m0"], ["m0"]),
        ((TREE, TREE, ("trees", True)), ["m0", "m1"], ["m0", "m1"]),
        ((TREE, TREE, NET), ["m0", "m1", "m2"], ["m0", "m2"]),
        ((TREE, ("trees", True), WORSE_NET), ["m0", "m2"], ["m0", "m2"]),
        ((TREE, TREE, TREE, TREE, TREE, WORSE_NET, WORSE_NET), ["m0", "m1", "m2", "m5"], ["m0", "m5"]),
        (((OTHERS, False), (OTHERS, False), TREE), ["m0", "m1", "m2"], ["m0", "m1"]),
    ],
)
def test_the_best_method_another_family_and_methods_that_are_not_worse(methods, explained, opponents):
    assert chosen(*methods) == (explained, opponents)


def test_the_choice_has_these_properties_for_random_methods():
    random = np.random.default_rng(3)
    for _ in range(300):
        size = int(random.integers(1, 9))
        families = random.choice(["trees", "nets", OTHERS], size).tolist()
        rows = ranked(*zip(families, [False, *(random.random(size - 1) < 0.5)], strict=True))
        methods, opponents = choose_methods(rows), choose_opponents(rows)
        assert len(methods) <= MOST_METHODS and set(opponents) <= set(methods)
        assert methods == sorted(methods, key=lambda row: -row.mean)
        rest = [row for row in methods if row not in opponents]
        assert not any(row.is_worse for row in rest)
        left_out = [row for row in rows if row not in methods and not row.is_worse]
        assert all(row.mean > out.mean for row in rest for out in left_out)
        assert not left_out or len(methods) == MOST_METHODS


def test_the_queries_with_the_greatest_difference_come_first_and_once():
    random = np.random.default_rng(4)
    for _ in range(100):
        first, second = random.integers(0, 4, (2, 12)) / 4
        first[random.random(12) < 0.2] = np.nan
        qids = random.integers(0, 9, 12)
        positions = list(most_different(first, second, qids))
        gaps = np.abs(first - second)
        assert (gaps[positions] > 0).all() and (np.diff(gaps[positions]) <= 0).all()
        by_query = {qid: np.nanmax(np.append(gaps[qids == qid], 0)) for qid in {*qids.tolist()}}
        assert {qids[position]: gaps[position] for position in positions} == {
            qid: gap for qid, gap in by_query.items() if gap > 0
        }
        assert len({*qids[positions].tolist()}) == len(positions)


def ranks_of(scores: np.ndarray) -> np.ndarray:
    ranks = np.empty(len(scores), np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


def test_the_pair_is_the_best_of_all_pairs():
    random = np.random.default_rng(5)
    found = 0
    for _ in range(300):
        size = int(random.integers(1, 8))
        gains, right, wrong = 2.0 ** random.integers(0, 3, size) - 1, *random.integers(0, 5, (2, size)).astype(float)
        ranks = (ranks_of(right), ranks_of(wrong))
        opposed = [
            (high, low)
            for high, low in permutations(range(size), 2)
            if gains[high] > gains[low] and right[high] > right[low] and wrong[high] < wrong[low]
        ]

        def key(pair, gains=gains, ranks=ranks):
            high, low = pair
            return gains[high] - gains[low], sum(abs(rank[high] - rank[low]) for rank in ranks), -high, -low

        pair = opposed_pair(gains, right, wrong, ranks)
        assert pair == (max(opposed, key=key) if opposed else None)
        found += pair is not None
    assert 100 < found < 300


def frame(*drops: float, half: float = 0.02) -> pl.DataFrame:
    """Return the importance of the features f0, f1, ... in one fold, sorted as `Importance.frame` is."""
    rows = [{"feature": f"f{k}", "drop": drop, "low": drop - half, "high": drop + half} for k, drop in enumerate(drops)]
    return pl.DataFrame(rows).sort("drop", descending=True)


def test_the_importance_over_folds_is_the_mean_with_an_interval_that_shrinks_with_the_root_of_the_folds():
    one = frame(0.1, 0.4, 0.2)
    for folds, factor in ((1, 1), (4, 2)):
        for found, row in zip(over_folds([one] * folds), one.to_dicts(), strict=True):
            assert (found["feature"], found["drop"]) == (row["feature"], pytest.approx(row["drop"]))
            assert found["high"] - found["low"] == pytest.approx((row["high"] - row["low"]) / factor)
    other = frame(0.5, 0.0, 0.2, half=0.04)
    means = {row["feature"]: row["drop"] for row in over_folds([one, other])}
    assert means == pytest.approx({"f0": 0.3, "f1": 0.2, "f2": 0.2}) and next(iter(means)) == "f0"
    half = (0.02**2 + 0.04**2) ** 0.5 / 2
    assert over_folds([one, other])[0]["high"] == pytest.approx(0.3 + half)
    undefined = one.with_columns(low=pl.lit(None, pl.Float64))
    assert {row["high"] for row in over_folds([one, undefined])} == {None}


def test_kendalls_tau_is_1_for_equal_and_minus_1_for_opposite_orders():
    drops = (0.3, 0.1, 0.2, -0.1)
    first, same, opposite, constant = (
        over_folds([frame(*values)])
        for values in (drops, [2 * drop + 1 for drop in drops], [-drop for drop in drops], [0.1] * 4)
    )
    assert kendall_tau(first, same) == pytest.approx(1)
    assert kendall_tau(first, opposite) == pytest.approx(-1)
    assert kendall_tau(first, constant) is None
    swapped = over_folds([frame(0.3, 0.2, 0.1, -0.1)])  # one of the six pairs of features is in another order
    assert kendall_tau(first, swapped) == pytest.approx(4 / 6)
