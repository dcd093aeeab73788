"""Trees in the JSON format of XGBoost's models, from which the saved models of gradrank consist.

XGBoost checks little of a text, and ends the process if the text is wrong. So it reads only texts that this module
wrote from checked trees.
"""

import json
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from gradrank.training.model_files import Content, LibraryText

NO_PARENT = 2**31 - 1  # XGBoost's number for the parent of the root
LARGEST = float(np.finfo(np.float32).max)
Float32 = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]


class XGBoostTree(Content):
    """The arrays of one tree under XGBoost's names, with one value per node. A leaf has the children -1."""

    base_weights: list[Float32] = Field(min_length=1)
    default_left: list[Literal[0, 1]]
    left_children: list[int]
    loss_changes: list[Float32]
    right_children: list[int]
    split_conditions: list[Float32]
    split_indices: list[int]
    sum_hessian: list[Float32]

    @model_validator(mode="after")
    def _check_nodes(self) -> Self:
        """Check that the nodes form one binary tree, whose root is node 0."""
        nodes = len(self.base_weights)
        for key in XGBoostTree.model_fields:
            if len(getattr(self, key)) != nodes:
                raise ValueError(f"{key} has another length than base_weights")
        child_of = [0] * nodes
        for node, (left, right) in enumerate(zip(self.left_children, self.right_children, strict=True)):
            if left == right == -1:
                continue
            for child in (left, right):  # XGBoost gives larger numbers to children, so there is no circle
                if not node < child < nodes:
                    raise ValueError(f"node {node} has the child {child}")
                child_of[child] += 1
        if child_of[0] or any(count != 1 for count in child_of[1:]):
            raise ValueError("a node has no parent or several parents")
        return self

    def parents(self) -> list[int]:
        """Return the number of the parent of each node."""
        parents = [NO_PARENT] * len(self.left_children)
        for node, children in enumerate(zip(self.left_children, self.right_children, strict=True)):
            for child in children:
                if child >= 0:
                    parents[child] = node
        return parents


class XGBoostTrees(LibraryText):
    """A sum of trees. num_feature, base_score: as in XGBoost's text, where they are strings."""

    num_feature: str = Field(pattern=r"^[1-9][0-9]{0,8}$")
    base_score: str = Field(pattern=r"^\[-?[0-9](\.[0-9]{1,9})?E-?[0-9]{1,2}\]$")
    trees: list[XGBoostTree] = Field(min_length=1)

    library: ClassVar = "XGBoost"

    @model_validator(mode="after")
    def _check_features(self) -> Self:
        for number, tree in enumerate(self.trees):
            if not 0 <= min(tree.split_indices) <= max(tree.split_indices) < int(self.num_feature):
                raise ValueError(f"tree {number} has a split_index outside of the {self.num_feature} features")
        return self

    @classmethod
    def values(cls, model: Any) -> dict[str, Any]:
        learner = model["learner"]
        trees = learner["gradient_booster"]["model"]["trees"]
        return {
            "num_feature": learner["learner_model_param"]["num_feature"],
            "base_score": learner["learner_model_param"]["base_score"],
            "trees": [{key: tree[key] for key in XGBoostTree.model_fields} for tree in trees],
        }

    def text(self) -> str:
        trees = [_tree_values(number, tree, self.num_feature) for number, tree in enumerate(self.trees)]
        boosted = {
            "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
            "iteration_indptr": list(range(len(trees) + 1)),
            "tree_info": [0] * len(trees),
            "trees": trees,
        }
        learner = {
            "attributes": {},
            "feature_names": [],
            "feature_types": [],
            "gradient_booster": {"model": boosted, "name": "gbtree"},
            "learner_model_param": {
                "base_score": self.base_score,
                "boost_from_average": "1",
                "num_class": "0",
                "num_feature": self.num_feature,
                "num_target": "1",
            },
            "objective": {"name": "rank:ndcg"},
        }
        return json.dumps({"learner": learner, "version": [3, 2, 0]})


def _tree_values(number: int, tree: XGBoostTree, features: str) -> dict[str, Any]:
    nodes = len(tree.base_weights)
    return {
        **tree.model_dump(),
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "id": number,
        "parents": tree.parents(),
        "split_type": [0] * nodes,
        "tree_param": {"num_deleted": "0", "num_feature": features, "num_nodes": str(nodes), "size_leaf_vector": "1"},
    }
