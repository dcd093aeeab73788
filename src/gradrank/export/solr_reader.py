"""Scores of model files of Solr, computed as Solr's module for learning to rank does, with float32 numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradrank.export.format import Reader
from gradrank.export.read_trees import Malformed, ReadLeaf, ReadSplit, ReadTree, finite_float32, float32_of, shown

ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identity": lambda x: x,
    "relu": lambda x: np.where(x < 0, np.float32(0.0), x),
    "leakyrelu": lambda x: np.where(x < 0, np.float32(0.01) * x, x),
    "tanh": lambda x: np.tanh(x.astype(np.float64)).astype(np.float32),
    "sigmoid": lambda x: (1.0 / (1.0 + np.exp(-x.astype(np.float64)))).astype(np.float32),
}
PACKAGE = "org.apache.solr.ltr"


@dataclass(frozen=True)
class _Linear:
    weights: np.ndarray

    def scores(self, x: np.ndarray) -> np.ndarray:
        total = np.zeros(len(x), np.float32)
        for column, weight in zip(x.T, self.weights, strict=True):
            total += column * weight
        return total


@dataclass(frozen=True)
class _Trees:
    trees: Sequence[ReadTree]
    weights: Sequence[np.float32]

    def scores(self, x: np.ndarray) -> np.ndarray:
        total = np.zeros(len(x), np.float32)
        for tree, weight in zip(self.trees, self.weights, strict=True):
            total += weight * tree.outputs(x, np.less_equal)
        return total


@dataclass(frozen=True)
class _Net:
    layers: Sequence[tuple[np.ndarray, np.ndarray, str]]

    def scores(self, x: np.ndarray) -> np.ndarray:
        for matrix, bias, activation in self.layers:
            total = np.tile(bias, (len(x), 1))
            for column, weights in zip(x.T, matrix.T, strict=True):
                total += weights * column[:, None]
            x = ACTIVATIONS[activation](total)
        return x[:, 0]


@dataclass(frozen=True)
class SolrReader(Reader):
    """A model of Solr.

    features: the names of the features. shift, divisor: (d,) float32 numbers of the normalizers. null_is_zero: False if
    trees have a branch for missing values.
    """

    features: tuple[str, ...]
    shift: np.ndarray
    divisor: np.ndarray
    model: _Linear | _Trees | _Net
    null_is_zero: bool = True

    @staticmethod
    def of(entry: Any) -> "SolrReader":
        """Build from the parsed JSON: a model, or a list with one model. Raises Malformed."""
        if isinstance(entry, list) and len(entry) == 1:
            entry = entry[0]
        entry = _of_type(entry, dict, "the model")
        kind = _of_type(entry.get("class"), str, "the class")
        features = [
            _of_type(feature, dict, "a feature") for feature in _of_type(entry.get("features"), list, "features")
        ]
        names = tuple(_of_type(feature.get("name"), str, "the name of a feature") for feature in features)
        if not names or len(set(names)) < len(names):
            raise Malformed("no features" if not names else "two features have the same name")
        params = _of_type(entry.get("params"), dict, "params")
        norms = np.array([_normalizer(feature.get("norm")) for feature in features], np.float32)
        null_is_zero = _of_type(params.get("isNullSameAsZero", True), bool, "isNullSameAsZero")
        if kind == f"{PACKAGE}.model.MultipleAdditiveTreesModel":
            model = _read_trees(params, {name: i for i, name in enumerate(names)}, null_is_zero)
        elif kind == f"{PACKAGE}.model.LinearModel":
            model, null_is_zero = _read_linear(params, names), True
        elif kind == f"{PACKAGE}.model.NeuralNetworkModel":
            model, null_is_zero = _read_net(params, len(names)), True
        else:
            raise Malformed(f"the class is {kind!r}, not one of Solr's three model classes")
        return SolrReader(names, norms[:, 0], norms[:, 1], model, null_is_zero)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return self.features

    def scores(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the scores of Solr. A missing feature is 0, or takes the branch `missing` of trees that have it."""
        known = np.where(np.isnan(features), np.float32(0.0), features) if self.null_is_zero else features
        with np.errstate(over="ignore", under="ignore"):
            return self.model.scores((known - self.shift) / self.divisor).astype(np.float64)


def _of_type(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind):
        raise Malformed(f"{what} is {shown(value)}, not a {kind.__name__}")
    return value


def _float32(value: Any, what: str) -> np.float32:
    """Return a JSON number, or a text with a number, as float32."""
    if isinstance(value, str):
        return np.float32(np.inf) if value == "Infinity" else float32_of(value.strip(), what)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise Malformed(f"{what} is {shown(value)}, not a number")
    return finite_float32(value, what)


def _normalizer(norm: Any) -> tuple[np.float32, np.float32]:
    """Return a and b of the normalizer (x - a) / b."""
    if norm is None:
        return np.float32(0.0), np.float32(1.0)
    kind = _of_type(_of_type(norm, dict, "norm").get("class"), str, "the class of a normalizer")
    kind = kind.removeprefix(f"{PACKAGE}.norm.")
    params = _of_type(norm.get("params") or {}, dict, "the params of a normalizer")
    if kind == "IdentityNormalizer":
        return np.float32(0.0), np.float32(1.0)
    if kind == "StandardNormalizer":
        avg, std = _float32(params.get("avg", 0.0), "avg"), _float32(params.get("std", 1.0), "std")
        if std <= 0.0:
            raise Malformed(f"std is {std}, not positive")
        return avg, std
    if kind == "MinMaxNormalizer":
        low, high = _float32(params.get("min"), "min"), _float32(params.get("max"), "max")
        if low == high:
            raise Malformed("min and max of a normalizer are equal")
        return low, high - low
    raise Malformed(f"unknown normalizer {kind!r}")


def _read_linear(params: dict[str, Any], names: Sequence[str]) -> _Linear:
    weights = _of_type(params.get("weights"), dict, "weights")
    if lacking := [name for name in names if name not in weights]:
        raise Malformed(f"no weight of feature {lacking[0]!r}")
    return _Linear(np.array([_float32(weights[name], "a weight") for name in names]))


def _read_net(params: dict[str, Any], width: int) -> _Net:
    layers = []
    for layer in _of_type(params.get("layers"), list, "layers"):
        rows = [
            _of_type(row, list, "a row")
            for row in _of_type(_of_type(layer, dict, "a layer").get("matrix"), list, "matrix")
        ]
        bias = np.array(
            [_float32(number, "a bias") for number in _of_type(layer.get("bias"), list, "bias")], np.float32
        )
        if len(rows) != len(bias) or not rows or any(len(row) != width for row in rows):
            raise Malformed(f"layer {len(layers)} does not have one row of {width} numbers per bias")
        if (activation := _of_type(layer.get("activation"), str, "activation")) not in ACTIVATIONS:
            raise Malformed(f"unknown activation {shown(activation)}")
        matrix = np.array([[_float32(number, "a number of a matrix") for number in row] for row in rows], np.float32)
        layers.append((matrix, bias, activation))
        width = len(rows)
    if width != 1 or not layers:
        raise Malformed(f"the last layer has {width} outputs, not 1")
    return _Net(layers)


def _read_trees(params: dict[str, Any], columns: dict[str, int], null_is_zero: bool) -> _Trees:
    trees, weights = [], []
    for tree in _of_type(params.get("trees"), list, "trees"):
        weights.append(_float32(_of_type(tree, dict, "a tree").get("weight"), "the weight of a tree"))
        trees.append(ReadTree.of(tree.get("root"), lambda node: _parse_node(node, columns, null_is_zero)))
    return _Trees(trees, weights)


def _parse_node(node: Any, columns: dict[str, int], null_is_zero: bool) -> ReadLeaf | ReadSplit:
    node = _of_type(node, dict, "a node of a tree")
    name = node.get("feature")
    if name is None:
        if "left" in node or "right" in node:
            raise Malformed("a node of a tree has children but no feature")
        return ReadLeaf(_float32(node.get("value", 0.0), "value"))
    with np.errstate(over="ignore"):
        threshold = _float32(node.get("threshold"), "threshold") + np.float32(1e-6)
    children = [_of_type(node.get(side), dict, f"the {side} child of a node") for side in ("left", "right")]
    if not null_is_zero and node.get("missing") not in ("left", "right"):
        raise Malformed("a node has no branch `missing`, although isNullSameAsZero is false")
    if (column := columns.get(_of_type(name, str, "the feature of a node"))) is None:
        return ReadLeaf(np.float32(0.0))  # as in Solr
    return ReadSplit(column, threshold, *children, missing_left=node.get("missing") == "left")
