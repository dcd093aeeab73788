"""The JSON dump of XGBoost, for the learning-to-rank plug-ins of Elasticsearch and OpenSearch, and for Vespa.

`booster.dump_model(path, dump_format="json")` writes such files. The type in the plug-ins is `model/xgboost+json`.
Features have names. A value goes to the first child if it is less than the threshold. A missing value has a branch of
its own, which is that of 0 if the model takes no missing values. The plug-ins compute with float32 numbers.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.export.engines import MissingRule
from gradrank.export.format import ExportedModel, ModelFormat, NotExpressible, Reader
from gradrank.export.read_trees import Malformed, ReadLeaf, ReadSplit, ReadTree, finite_float32, parsed_json, shown
from gradrank.export.writable_forms import (
    LARGEST,
    check_depth,
    exact,
    float32_trees,
    folded,
    shortest,
    trees_of,
    with_missing_right,
)
from gradrank.training.scoring_form import Combined, Tree

UNCHANGED = {"binary:logitraw", "rank:ndcg", "rank:map", "rank:pairwise", "reg:linear"}
LOGISTIC = {"binary:logistic", "reg:logistic"}
SPLIT_KEYS = {"nodeid", "depth", "split", "split_condition", "yes", "no", "missing", "children"}


class XGBoostJson(ModelFormat):
    """A JSON list of trees, or an object with the list and the name of the objective."""

    name = "xgboost-json"
    summary = "XGBoost's JSON dump, for the plug-ins of Elasticsearch and OpenSearch, and for Vespa: trees"
    tolerance = 1e-5
    extension = ".json"

    def write(self, model: ExportedModel, out: Path) -> list[Path]:
        """Write a list of trees, as `dump_model` of XGBoost does, or an object if the score is a probability."""
        form, is_probability = model.form, False
        if isinstance(form, Combined) and form.rule == "logistic" and len(form.forms) == 1 and form.weights[0] == 1.0:
            form, is_probability = form.forms[0], True
        if (trees := trees_of(form)) is None:
            raise NotExpressible("XGBoost's JSON dump has sums of trees only")
        if is_probability and model.target is not None and model.target.engine == "vespa":
            raise NotExpressible("the score is a probability, and Vespa reads lists of trees only")
        written = float32_trees(trees, model.normaliser_of_documents())
        model.check_missing_as_zero(written)
        if not model.takes_missing:  # a feature that the search engine does not find is 0 in the data
            written = tuple(replace(tree, missing_left=tree.threshold >= 0.0) for tree in written)
        if model.missing_is("no"):
            written = tuple(map(with_missing_right, written))
        check_depth(written)
        text = "[\n" + ",\n".join(_tree_text(tree, model.names) for tree in written) + "\n]"
        if is_probability:
            text = f'{{"objective": "binary:logistic", "splits": {text}}}'
        out.write_text(f"{text}\n", "utf-8")
        return [out]

    def read(self, path: Path) -> "XGBoostJsonReader":
        """Read a list of trees, or an object with the keys `splits` and `objective`."""
        try:
            return XGBoostJsonReader.of(parsed_json(path))
        except Malformed as error:
            raise Malformed(f"{path}: {error}. Fix: export again, or dump with_stats=False from XGBoost") from None


def _tree_text(tree: Tree, names: Sequence[str]) -> str:
    def leaf(node: int, depth: int) -> str:
        return f'{{"nodeid": {node}, "leaf": {shortest(tree.value[node])}}}'

    def split(node: int, depth: int, left: str, right: str) -> str:
        yes, no, missing_yes = int(tree.left[node]), int(tree.right[node]), bool(tree.missing_left[node])
        bound = np.float32(tree.threshold[node])
        if bound == LARGEST:  # no float32 is larger; no finite value is less than -LARGEST
            yes, no, left, right, missing_yes, bound = no, yes, right, left, not missing_yes, np.float32(-LARGEST)
        else:
            bound = np.nextafter(bound, np.float32(np.inf))
        return (
            f'{{"nodeid": {node}, "depth": {depth}, "split": {json.dumps(names[tree.feature[node]])}, '
            f'"split_condition": {exact(bound)}, "yes": {yes}, "no": {no}, '
            f'"missing": {yes if missing_yes else no}, "children": [{left}, {right}]}}'
        )

    return folded(tree, leaf, split)


@dataclass(frozen=True)
class XGBoostJsonReader(Reader):
    """The trees of a dump. The names are those of the features in the trees, in the order of their first use."""

    trees: Sequence[ReadTree]
    used: tuple[str, ...]
    is_logistic: bool = False
    missing_as_zero: bool = False

    @staticmethod
    def of(dump: Any) -> "XGBoostJsonReader":
        """Build from the parsed JSON. Raises Malformed."""
        objective, zero, trees = "rank:ndcg", False, dump
        if isinstance(dump, dict):
            if unknown := dump.keys() - {"objective", "splits", "missing_as_zero"}:
                raise Malformed(f"unknown keys {sorted(unknown)}")
            objective, zero = dump.get("objective", objective), dump.get("missing_as_zero", False)
            trees = dump.get("splits")
        if not isinstance(objective, str) or objective not in UNCHANGED | LOGISTIC:
            raise Malformed(f"the objective is {shown(objective)}, which the plug-ins do not read")
        if not isinstance(trees, list) or not trees or not isinstance(zero, bool):
            raise Malformed("not a list of trees, and not an object with a list of trees `splits`")
        columns: dict[str, int] = {}
        read = [ReadTree.of(tree, lambda node: _parse_node(node, columns)) for tree in trees]
        return XGBoostJsonReader(read, tuple(columns), objective in LOGISTIC, zero)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features in the trees."""
        return self.used

    def scores(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the scores of the plug-ins. A missing feature takes the branch `missing`."""
        if self.missing_as_zero:
            features = np.where(np.isnan(features), np.float32(0.0), features)
        total = np.zeros(len(features), np.float32)
        for tree in self.trees:
            total += tree.outputs(features, np.less)
        if self.is_logistic:
            total = (1.0 / (1.0 + np.exp(-total.astype(np.float64)))).astype(np.float32)
        return total.astype(np.float64)

    def scores_under(self, rule: MissingRule, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the scores of an engine that follows a rule for missing features."""
        if rule == "no":
            trees = [replace(tree, missing_left=np.zeros(len(tree.feature), bool)) for tree in self.trees]
            return replace(self, trees=trees).scores(features, offsets)
        return super().scores_under(rule, features, offsets)


def _parse_node(node: Any, columns: dict[str, int]) -> ReadLeaf | ReadSplit:
    if not isinstance(node, dict):
        raise Malformed(f"a node is {shown(node)}, not an object")
    if "leaf" in node:
        return ReadLeaf(_float32(node, "leaf"))
    if unknown := node.keys() - SPLIT_KEYS:
        raise Malformed(f"unknown keys {sorted(unknown)} of a node")
    for key in ("nodeid", "depth", "yes", "no"):
        if type(node.get(key)) is not int:
            raise Malformed(f"the {key} of a node is {shown(node.get(key))}, not an integer")
    children, name = node.get("children"), node.get("split")
    if not isinstance(name, str):
        raise Malformed(f"node {node['nodeid']} has no name of a feature in `split`")
    if not isinstance(children, list) or [_id(child) for child in children] != [node["yes"], node["no"]]:
        raise Malformed(f"the children of node {node['nodeid']} are not those of `yes` and `no`")
    if (missing := node.get("missing", node["no"])) not in (node["yes"], node["no"]):
        raise Malformed(f"`missing` of node {node['nodeid']} is {shown(missing)}, not one of its children")
    column = columns.setdefault(name, len(columns))
    return ReadSplit(column, _float32(node, "split_condition"), *children, missing_left=missing == node["yes"])


def _id(child: Any) -> Any:
    return child.get("nodeid") if isinstance(child, dict) else None


def _float32(node: dict, key: str) -> np.float32:
    if not isinstance(number := node.get(key), (int, float)) or isinstance(number, bool):
        raise Malformed(f"{key} is {shown(number)}, not a number")
    return finite_float32(number, key)
