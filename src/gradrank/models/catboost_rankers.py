"""The ranking losses of CatBoost (Prokhorenkova et al. 2018), with CatBoost's symmetric trees.

`yetirank` is YetiRank (Gulin, Kuralenok & Pavlov 2011). `querysoftmax` is the softmax cross-entropy of a query.
`yetiloss` is YetiLoss (Lyzhin et al. 2023). `stochasticrank` is StochasticRank (Ustimenko & Prokhorenkova 2020).

The saved models consist of trees in the JSON format of CatBoost's models. CatBoost checks little of a text, and ends
the process if the text is wrong. So it reads only texts that this module wrote from checked trees.
"""

# pyright: reportMissingImports=false
# catboost is an optional extra and may not be installed.

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
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
from gradrank.training.scoring_form import Tree, TreesForm
from gradrank.training.search_space import Choice, Dimension, Integer, LogUniform
from gradrank.training.selection import CRITERION
from gradrank.training.solvers.feature_constraints import MONOTONE, ConstrainedParams, Monotone, monotone_signs
from gradrank.training.training_queries import with_grades_to_order

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


TREES_FILE = "trees.json"


class CatBoostParams(ConstrainedParams):
    """The parameters of CatBoost under their CatBoost names, except that `rounds` is `iterations` in CatBoost."""

    rounds: int = param(300, "number of trees; the best number on validation is usually much smaller", ge=1)
    learning_rate: float = param(
        0.1, "validation NDCG@10 on MQ2007 differs from that with 0.05 by less than between seeds", gt=0, le=1
    )
    depth: int = param(4, "validation NDCG@10 of YetiRank on MQ2007 .4602; .4553 with CatBoost's 6", ge=1, le=16)
    l2_leaf_reg: float = param(3.0, "CatBoost's default", ge=0)
    select_by: str = param("ndcg@10", "validation measure that selects the number of trees", pattern=CRITERION)


class MonotoneParams(CatBoostParams):
    """The parameters of losses with monotone constraints. Trees of YetiRank and YetiLoss violate such constraints."""

    monotone: Monotone = MONOTONE


TREES: dict[str, Dimension] = {
    "learning_rate": LogUniform(0.01, 0.3, "around CatBoost's usual values"),
    "depth": Integer(3, 8, "around CatBoost's 6"),
    "l2_leaf_reg": LogUniform(0.3, 30.0, "a decade on either side of CatBoost's default"),
}


@register("yetirank")
class YetiRank(Model[CatBoostParams]):
    Params = CatBoostParams
    reads_labels = "gains"
    summary = "Symmetric trees on randomised orders of each query (Gulin et al. 2011), CatBoost"
    space: ClassVar[Mapping[str, Dimension]] = TREES
    published: ClassVar = {"learning_rate": 0.03, "depth": 6}  # the defaults of CatBoost
    takes_missing = True
    uses_threads = True
    uses_weights = "queries"
    requires = ("catboost",)
    extra = "catboost"
    loss: ClassVar[str] = "YetiRank"

    def __init__(self, trees) -> None:
        self.trees = trees

    @classmethod
    def loss_function(cls, params: CatBoostParams) -> str:
        """Return the loss and its settings in the notation of CatBoost, such as `StochasticRank:metric=NDCG;top=10`."""
        settings = params.model_dump(exclude=set(MonotoneParams.model_fields))
        text = ";".join(f"{name}={value}" for name, value in settings.items())
        return f"{cls.loss}:{text}" if text else cls.loss

    @classmethod
    def targets(cls, train: Collection) -> np.ndarray:
        """Return the (n,) targets: the grades, or the given gains. The gains of CatBoost's NDCG are its targets."""
        return train.labels if train.gains is None else train.gains[train.labels]

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: CatBoostParams, seed: int, callback: Callback) -> Self:
        """Train all trees, then keep only the first trees, up to the number that is best on validation.

        Early stopping is not used, because CatBoost supports it only for CatBoost's own measures. Raises GradrankError
        if CatBoost reports an error.
        """
        import catboost

        train = with_grades_to_order(train, cls.name)
        settings = params.model_dump(include=set(CatBoostParams.model_fields) - {"rounds", "select_by"})
        if isinstance(params, MonotoneParams) and params.monotone:
            settings["monotone_constraints"] = monotone_signs(params.monotone, train)
        trees = catboost.CatBoost(
            settings
            | {
                "loss_function": cls.loss_function(params),
                "iterations": params.rounds,
                "random_seed": seed,
                "thread_count": thread_count(),
                "allow_writing_files": False,  # otherwise CatBoost writes catboost_info/ to the working folder
                "logging_level": "Silent",
            }
        )
        pool = catboost.Pool(
            train.features, cls.targets(train), group_id=train.query_of_row, group_weight=train.weights
        )
        try:
            trees.fit(pool)
        except catboost.CatBoostError as error:
            raise GradrankError(
                f"{cls.name}: CatBoost failed: {error}. Fix: check the data and the parameters {', '.join(settings)}"
            ) from None
        staged = enumerate(trees.staged_predict(vali.features, thread_count=thread_count()), start=1)
        prefixes = (Candidate(number, scores=scores) for number, scores in staged)
        trees.shrink(ntree_end=best_of(prefixes, vali, params.select_by, callback).kept)
        return cls(trees)

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return self.trees.predict(features, thread_count=thread_count())

    def scoring_form(self, features: int) -> TreesForm:
        """Return the symmetric trees of CatBoost as ordinary trees, which are larger."""
        model = json.loads(self._content().text())
        # A missing value exceeds the borders of these features, and no border of other features.
        columns = model["features_info"]["float_features"]
        high = {column["feature_index"] for column in columns if column["nan_value_treatment"] == "AsTrue"}
        scale, (bias,) = model["scale_and_bias"]
        return TreesForm(tuple(tree_form(tree, scale, high) for tree in model["oblivious_trees"]), float(bias))

    def _content(self) -> CatBoostTrees:
        with TemporaryDirectory() as folder:
            path = Path(folder, TREES_FILE)
            self.trees.save_model(str(path), format="json")
            return CatBoostTrees.of(path.read_bytes())

    def save(self, folder: Path) -> None:
        with atomic(folder / TREES_FILE) as partial:
            partial.write_text(self._content().text(), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Self:
        from catboost import CatBoost

        content = CatBoostTrees.read(folder / TREES_FILE)
        with TemporaryDirectory() as copies:
            path = Path(copies, TREES_FILE)
            path.write_text(content.text(), encoding="utf-8")
            trees = CatBoost().load_model(str(path), format="json")
        trees.set_leaf_values(content.leaf_values())
        trees.set_scale_and_bias(content.scale, content.bias)
        return cls(trees)

    def check_width(self, features: int) -> None:
        check_width(TREES_FILE, len(self.trees.feature_names_), features)


def tree_form(tree: dict[str, Any], scale: float, high: set[int]) -> Tree:
    """Return a symmetric tree of CatBoost's JSON format as a complete binary tree, with leaves multiplied by `scale`.

    All nodes of a level have the same split. Bit k of the number of a leaf is 1 if the value of the feature exceeds the
    border of split k, so the last split is at the root.

    high: the features whose missing values exceed every border.
    """
    splits = tree["splits"][::-1]
    inner, leaves = 2 ** len(splits) - 1, 2 ** len(splits)

    def per_node(values: list, leaf: float) -> np.ndarray:
        """Return one value per node, from one value per level and the value of all leaves."""
        return np.concatenate([*(np.repeat(value, 2**level) for level, value in enumerate(values)), [leaf] * leaves])

    numbers = np.arange(inner + leaves)
    return Tree(
        feature=per_node([split["float_feature_index"] for split in splits], -1),
        threshold=per_node([np.float64(np.float32(split["border"])) for split in splits], 0.0),
        left=np.where(numbers < inner, 2 * numbers + 1, -1),
        right=np.where(numbers < inner, 2 * numbers + 2, -1),
        missing_left=per_node([split["float_feature_index"] not in high for split in splits], False),
        value=np.concatenate([np.zeros(inner), scale * np.array(tree["leaf_values"], np.float64)]),
    )


@register("querysoftmax")
class QuerySoftMax(YetiRank):
    Params = MonotoneParams
    reads_labels = "numbers"
    summary = "Symmetric trees on the cross entropy of a query's softmax (after Cao et al. 2007), CatBoost"
    loss = "QuerySoftMax"

    @classmethod
    def targets(cls, train: Collection) -> np.ndarray:
        """Return the (n,) targets: the labels as numbers."""
        return train.numbers


class YetiLossParams(CatBoostParams):
    mode: Literal["DCG", "NDCG", "MRR", "MAP", "ERR"] = param(
        "NDCG", "Lyzhin et al. 2023: the measure of the evaluation"
    )


@register("yetiloss")
class YetiLoss(YetiRank):
    Params = YetiLossParams
    summary = "YetiRank's pairs with weights by the measure, YetiLoss (Lyzhin et al. 2023), CatBoost"


class StochasticRankParams(MonotoneParams):
    metric: Literal["DCG", "NDCG", "ERR"] = param(
        "NDCG", "the measure of the evaluation; CatBoost 1.2.10 crashes with MRR of the first ranks"
    )
    top: int = param(10, "the cutoff of NDCG@10 in LETOR's tables; all ranks take nine times as long", ge=1)
    sigma: float = param(1.0, "CatBoost's default: standard deviation of the noise", gt=0)
    mu: float = param(0.0, "CatBoost's default: penalty of ties", ge=0)
    num_estimations: int = param(1, "CatBoost's default: draws of the noise per round", ge=1, le=100)


@register("stochasticrank")
class StochasticRank(YetiRank):
    Params = StochasticRankParams
    summary = "StochasticRank: the measure itself, smoothed by noise (Ustimenko & Prokhorenkova 2020), CatBoost"
    loss = "StochasticRank"
    uses_weights = None  # with CatBoost 1.2.10, queries of weight 1e-6 influence these trees as much as the others
    space: ClassVar[Mapping[str, Dimension]] = TREES | {
        "sigma": LogUniform(0.1, 10.0, "a decade on either side of CatBoost's default"),
        "top": Choice((5, 10, 30), "the usual cutoffs of NDCG"),
    }
