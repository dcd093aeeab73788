"""Trees in the JSON format of CatBoost's models, from which the saved models of gradrank consist.

CatBoost checks little of a text, and ends the process if the text is wrong. So it reads only texts that this module
wrote from checked trees.
"""

import json
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from gradrank.training.model_files import Content, LibraryText

DEEPEST = 16  # levels of CatBoost's trees
LARGEST = float(np.finfo(np.float32).max)
Float32 = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]


class CatBoostFeature(Content):
    """The borders of one feature in increasing order, and the branch of its missing values, under CatBoost's names."""

    borders: list[Float32]
    has_nans: bool
    nan_value_treatment: Literal["AsIs", "AsFalse", "AsTrue"]

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if any(np.float32(low) >= np.float32(high) for low, high in pairwise(self.borders)):
            raise ValueError("the borders do not increase")
        return self


class CatBoostTree(Content):
    """One symmetric tree under CatBoost's names. splits: a border per level, as its number in all features' borders."""

    leaf_values: list[float]
    leaf_weights: list[float]
    splits: list[int] = Field(max_length=DEEPEST)

    @model_validator(mode="after")
    def _check_lengths(self) -> Self:
        if not len(self.leaf_values) == len(self.leaf_weights) == 2 ** len(self.splits):
            raise ValueError(f"expected {2 ** len(self.splits)} leaf_values and leaf_weights")
        return self


class CatBoostTrees(LibraryText):
    """The sum of trees, times `scale`, plus `bias`."""

    features: list[CatBoostFeature] = Field(min_length=1)
    trees: list[CatBoostTree] = Field(min_length=1)
    scale: float
    bias: float

    library: ClassVar = "CatBoost"

    @model_validator(mode="after")
    def _check_splits(self) -> Self:
        borders = sum(len(feature.borders) for feature in self.features)
        for number, tree in enumerate(self.trees):
            if any(not 0 <= split < borders for split in tree.splits):
                raise ValueError(f"tree {number} has a split_index outside of the {borders} borders")
        return self

    @classmethod
    def values(cls, model: Any) -> dict[str, Any]:
        scale, (bias,) = model["scale_and_bias"]
        features = model["features_info"]["float_features"]
        return {
            "features": [{key: feature[key] for key in CatBoostFeature.model_fields} for feature in features],
            "trees": [
                {
                    "leaf_values": tree["leaf_values"],
                    "leaf_weights": tree["leaf_weights"],
                    "splits": [split["split_index"] for split in tree["splits"]],
                }
                for tree in model["oblivious_trees"]
            ],
            "scale": scale,
            "bias": bias,
        }

    def text(self) -> str:
        features = [
            feature.model_dump() | {"feature_id": "", "feature_index": number, "flat_feature_index": number}
            for number, feature in enumerate(self.features)
        ]
        splits = [
            {"border": border, "float_feature_index": number, "split_index": 0, "split_type": "FloatFeature"}
            for number, feature in enumerate(self.features)
            for border in feature.borders
        ]
        splits = [split | {"split_index": number} for number, split in enumerate(splits)]
        trees = [tree.model_dump() | {"splits": [splits[split] for split in tree.splits]} for tree in self.trees]
        model = {"features_info": {"float_features": features}, "oblivious_trees": trees}
        return json.dumps(model | {"scale_and_bias": [self.scale, [self.bias]]})

    def leaf_values(self) -> np.ndarray:
        """Return the leaf values of all trees. CatBoost reads some of the text with an error of one digit."""
        return np.concatenate([tree.leaf_values for tree in self.trees])
