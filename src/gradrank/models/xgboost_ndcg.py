"""LambdaMART as XGBoost implements it, with the objective `rank:ndcg` (Burges 2010; Chen & Guestrin 2016).

The saved models consist of trees in the JSON format of XGBoost's models. XGBoost checks little of a text, and ends the
process if the text is wrong. So it reads only texts that this module wrote from checked trees.
"""

# pyright: reportMissingImports=false
# xgboost is an optional extra and may not be installed.

import json
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.base.processor import thread_count
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, Model, param, register
from gradrank.training.model_files import Content, LibraryText, check_width
from gradrank.training.scoring_form import NoScoringForm, Tree, TreesForm
from gradrank.training.search_space import Integer, LogUniform, Uniform
from gradrank.training.selection import CRITERION
from gradrank.training.solvers.feature_constraints import (
    INTERACTIONS,
    MONOTONE,
    ConstrainedParams,
    Interactions,
    Monotone,
    interaction_groups,
    monotone_signs,
)

NO_PARENT = 2**31 - 1  # XGBoost's number for the parent of the root
LARGEST = float(np.finfo(np.float32).max)
Float32 = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
Category = Annotated[int, Field(ge=0, lt=2**24)]  # float32 does not have all larger integers


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
    # The nodes that split by categories, in ascending order, and the categories that go to the right child. Node
    # categories_nodes[i] has the categories from categories_segments[i] on, categories_sizes[i] of them.
    categories: list[Category]
    categories_nodes: list[int]
    categories_segments: list[int]
    categories_sizes: list[Annotated[int, Field(ge=1)]]
    split_type: list[Literal[0, 1]]  # 1: by categories

    @model_validator(mode="after")
    def _check_nodes(self) -> Self:
        """Check that the nodes form one binary tree, whose root is node 0."""
        nodes = len(self.base_weights)
        for key in PER_NODE:
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
        by_category = [node for node, kind in enumerate(self.split_type) if kind]
        starts = [0, *accumulate(self.categories_sizes)]
        if (
            self.categories_nodes != by_category
            or any(self.left_children[node] < 0 for node in by_category)
            or len(starts) != len(by_category) + 1
            or self.categories_segments != starts[:-1]
            or starts[-1] != len(self.categories)
        ):
            raise ValueError("the categories do not belong to the nodes that split by categories")
        return self

    def parents(self) -> list[int]:
        """Return the number of the parent of each node."""
        parents = [NO_PARENT] * len(self.left_children)
        for node, children in enumerate(zip(self.left_children, self.right_children, strict=True)):
            for child in children:
                if child >= 0:
                    parents[child] = node
        return parents


# The keys of arrays with one value per node, and those of categories, which have the same names in XGBoost's text.
PER_NODE = ("base_weights", "default_left", "left_children", "loss_changes", "right_children", "split_conditions")
PER_NODE += ("split_indices", "sum_hessian", "split_type")


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
        **tree.model_dump(exclude={"split_type"}),
        "id": number,
        "parents": tree.parents(),
        "split_type": tree.split_type,
        "tree_param": {"num_deleted": "0", "num_feature": features, "num_nodes": str(nodes), "size_leaf_vector": "1"},
    }


TREES_FILE = "trees.json"
HIGHEST = 31  # the largest grade whose gain, 2^grade - 1, XGBoost accepts


class XGBoostParams(ConstrainedParams):
    """The parameters of XGBoost under their XGBoost names, and the parameters of early stopping."""

    learning_rate: float = param(0.05, "the default of lambdamart", gt=0)
    max_depth: int = param(4, "validation NDCG@10 on MQ2007 .4499; .4476 with XGBoost's 6", ge=1, le=16)
    min_child_weight: float = param(5.0, "validation NDCG@10 on MQ2007 .4518; .4511 with XGBoost's 1", ge=0)
    subsample: float = param(
        0.7, "the default of lambdamart; validation NDCG@10 on MQ2007 .4511; .4499 with 1", gt=0, le=1
    )
    reg_lambda: float = param(1.0, "XGBoost's default", ge=0)
    rounds: int = param(1000, "an upper bound; early stopping usually ends the training before", ge=1)
    patience: int = param(100, "training ends after this many rounds without a better validation value", ge=1)
    select_by: str = param("ndcg@10", "validation measure that selects the number of rounds", pattern=CRITERION)
    monotone: Monotone = MONOTONE
    interactions: Interactions = INTERACTIONS


@register("xgboost_ndcg")
class XGBoostNDCG(Model[XGBoostParams]):
    Params = XGBoostParams
    space: ClassVar = {
        "learning_rate": LogUniform(0.02, 0.5, "around XGBoost's .3; smaller rates need more than 1,000 rounds"),
        "max_depth": Integer(2, 8, "around XGBoost's 6"),
        "min_child_weight": LogUniform(0.1, 30.0, "around XGBoost's 1"),
        "subsample": Uniform(0.5, 1.0, "XGBoost's 1 and smaller values"),
        "reg_lambda": LogUniform(0.01, 30.0, "around XGBoost's 1"),
    }
    published: ClassVar = {"learning_rate": 0.3, "max_depth": 6, "min_child_weight": 1.0, "subsample": 1.0}  # defaults
    reads_labels = "gains"
    summary = "LambdaMART by XGBoost's rank:ndcg (Burges 2010; Chen & Guestrin 2016)"
    takes_missing = True
    takes_categories = True
    uses_threads = True
    uses_weights = "queries"
    requires = ("xgboost",)
    extra = "xgboost"

    def __init__(self, booster: Any) -> None:
        self.booster = booster

    @classmethod
    def uses_seed(cls, params: XGBoostParams) -> bool:
        return params.subsample < 1.0

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: XGBoostParams, seed: int, callback: Callback) -> Self:
        """Train until early stopping and return the model of the best round.

        Raises GradrankError if a grade exceeds 31, because XGBoost does not accept larger grades. Also raises
        GradrankError for an unknown feature in a constraint, and for a feature in two groups of `interactions`, because
        a branch of XGBoost's trees would then combine both groups.
        """
        import xgboost

        gains = train.gains
        labels = train.labels if gains is None else gains[train.labels]
        if gains is None and train.labels.max() > HIGHEST:
            raise GradrankError(
                f"{cls.name}: grade {train.labels.max()} in the training part, but XGBoost's rank:ndcg accepts at most "
                f"{HIGHEST}. Fix: map the grades to 0 to {HIGHEST}"
            )
        settings = params.model_dump(exclude={"rounds", "patience", "select_by", "monotone", "interactions"})
        if params.monotone:
            settings["monotone_constraints"] = tuple(monotone_signs(params.monotone, train))
        if params.interactions:
            groups = interaction_groups(params.interactions, train, may_overlap=False)
            settings["interaction_constraints"] = json.dumps(groups)
        settings |= {"objective": "rank:ndcg", "seed": seed, "nthread": thread_count(), "tree_method": "hist"}
        settings |= {} if gains is None else {"ndcg_exp_gain": False}
        data = _matrix(train.features, train.categorical, label=labels)
        data.set_group(np.diff(train.offsets))
        if train.query_weights is not None:
            data.set_weight(train.query_weights)
        held_out = _matrix(vali.features, vali.categorical)
        booster = xgboost.Booster(settings, [data, held_out])  # the booster caches its predictions for both data sets

        def rounds() -> Iterator[Candidate]:
            for number in range(1, params.rounds + 1):
                booster.update(data, number - 1)
                yield Candidate(number, scores=booster.predict(held_out))

        return cls(booster[: best_of(rounds(), vali, params.select_by, callback, params.patience).kept])

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return self.booster.predict(_matrix(features)).astype(np.float64)

    def scoring_form(self, features: int) -> TreesForm:
        """Return the trees of the booster. XGBoost adds the values of their leaves in float32.

        Raises NoScoringForm if a tree splits by categories.
        """
        learner = json.loads(self.booster.save_raw("json"))["learner"]
        trees = tuple(map(tree_form, learner["gradient_booster"]["model"]["trees"]))
        return TreesForm(trees, float(learner["learner_model_param"]["base_score"].strip("[]")))

    def save(self, folder: Path) -> None:
        with atomic(folder / TREES_FILE) as partial:
            partial.write_text(XGBoostTrees.of(self.booster.save_raw("json")).text(), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Self:
        from xgboost import Booster

        text = XGBoostTrees.read(folder / TREES_FILE).text()
        return cls(Booster({"nthread": thread_count()}, model_file=bytearray(text, "utf-8")))

    def check_width(self, features: int) -> None:
        check_width(TREES_FILE, self.booster.num_features(), features)


def _matrix(features: np.ndarray, categorical: Sequence[int] = (), label: np.ndarray | None = None) -> Any:
    """Return XGBoost's matrix of (n, d) features. categorical: the columns with codes of categories."""
    from xgboost import DMatrix

    types = ["c" if column in categorical else "q" for column in range(features.shape[1])] if categorical else None
    return DMatrix(features, label, nthread=thread_count(), feature_types=types, enable_categorical=bool(categorical))


def tree_form(tree: dict[str, Any]) -> Tree:
    """Return a tree of XGBoost's JSON format. For leaves, the format has the value in the place of the threshold.

    In XGBoost, a document goes to the left child if x < t. For float32 numbers, this is x <= the number before t.
    """
    if any(tree["split_type"]):
        raise NoScoringForm("a tree has a split of a categorical feature")
    conditions = np.array(tree["split_conditions"], np.float32)
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    is_leaf = left < 0
    return Tree(
        feature=np.where(is_leaf, -1, tree["split_indices"]),
        threshold=np.where(is_leaf, 0.0, np.nextafter(conditions, np.float32(-np.inf))).astype(np.float64),
        left=left,
        right=right,
        missing_left=~is_leaf & np.array(tree["default_left"], bool),
        value=np.where(is_leaf, conditions, 0.0).astype(np.float64),
    )
