"""Splits of LightGBM by categories, as comparisons of the codes of the levels with numbers.

Codes are whole numbers from 0. A split by categories sends the codes of a set to the left child. All other values and
missing values go to the right child. Most model files have no such splits. A chain of comparisons with numbers between
the codes has the same outcome. It repeats a child for each run of adjacent codes.
"""

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from gradrank.training.model import Model
from gradrank.training.scoring_form import NoScoringForm, ScoringForm
from gradrank.training.solvers.boosting import BoostedTrees, lightgbm_forms

MOST_SPLITS = 1_000_000  # per booster; a split is a Python object of about 1 kB
INFINITY = float("inf")
# For each feature, the interval of the codes that reach a node. Missing values are in intervals that end at infinity.
Intervals = Mapping[int, tuple[float, float]]


def numeric_form(model: Model, features: int) -> ScoringForm:
    """Return the form of the scores of a model, with comparisons of codes in place of LightGBM's splits by categories.

    features: the number of features that the model takes. Raises NoScoringForm as `Model.scoring_form` does, and if the
    trees would become too large.
    """
    if not isinstance(model, BoostedTrees):
        return model.scoring_form(features)
    return model.combine_forms([lightgbm_forms(_NumericDump(booster)) for booster in model.boosters])


class _NumericDump:
    """A LightGBM booster whose dump has no splits by categories."""

    def __init__(self, booster: Any) -> None:
        self._booster = booster
        self._splits = 0

    def dump_model(self) -> dict[str, Any]:
        """Return the dump of the booster. Raises NoScoringForm if it has more than MOST_SPLITS splits."""
        dump = self._booster.dump_model()
        for tree in dump["tree_info"]:
            if tree["num_cat"]:
                tree["tree_structure"] = self._numeric(tree["tree_structure"], {})
        return dump

    def _numeric(self, node: dict[str, Any], reached: Intervals) -> dict[str, Any]:
        """Return the tree below a node. reached: the codes that reach the node."""
        if "split_feature" not in node:
            return node
        self._count(1)
        if node["decision_type"] == "==":
            return self._chain(node, reached)
        return {**node, **{side: self._numeric(node[side], reached) for side in ("left_child", "right_child")}}

    def _chain(self, node: dict[str, Any], reached: Intervals) -> dict[str, Any]:
        """Return a split by categories as a chain of comparisons, each with the smaller codes in its left child."""
        feature, codes = node["split_feature"], [int(code) for code in node["threshold"].split("||")]
        # The set has the codes between bounds 0 and 1, between bounds 2 and 3, and so on.
        bounds = sorted({code - 0.5 for code in codes} ^ {code + 0.5 for code in codes})
        low, high = reached.get(feature, (-INFINITY, INFINITY))
        edges = [low, *(bound for bound in bounds if low < bound < high), high]
        self._count(len(edges))

        def child(start: float, end: float) -> dict[str, Any]:
            side = "left_child" if bisect_right(bounds, start) % 2 else "right_child"
            return self._numeric(node[side], {**reached, feature: (start, end)})

        chain = child(edges[-2], high)
        for start, bound in zip(reversed(edges[:-2]), reversed(edges[1:-1]), strict=True):
            comparison = {"split_feature": feature, "threshold": bound, "decision_type": "<="}
            comparison |= {"missing_type": "NaN", "default_left": False}
            chain = comparison | {"left_child": child(start, bound), "right_child": chain}
        return chain

    def _count(self, splits: int) -> None:
        self._splits += splits
        if self._splits > MOST_SPLITS:
            raise NoScoringForm(f"with splits by codes in place of categories, it has more than {MOST_SPLITS:,} splits")
