"""The model files of Solr's module for learning to rank: trees, linear models and neural nets.

A model is written as two files: the model, and a feature store with one `FieldValueFeature` per feature. The store is a
template: edit the class and `params` of each feature, upload the store first, and then the model. Solr computes with
float32 numbers. A missing feature is 0. But if a tree sends missing values to another child than 0, the trees are
written with the setting `isNullSameAsZero` = false, which needs Solr 9.2 or later.

Solr's MultipleAdditiveTreesModel adds 1e-6 to each threshold (as float32 numbers), so other thresholds are written.
Linear models and neural nets are layers of Solr's NeuralNetworkModel.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradrank.data.normalisation import Normaliser
from gradrank.export.format import ExportedModel, ModelFormat, NotExpressible, has_missing_branches
from gradrank.export.read_trees import Malformed, parsed_json
from gradrank.export.solr_reader import SolrReader
from gradrank.export.writable_forms import (
    LARGEST,
    as_float32,
    check_depth,
    float32_trees,
    folded,
    linear_of,
    shortest,
    trees_of,
)
from gradrank.training.scoring_form import Combined, NetForm, ScoringForm, Tree

if TYPE_CHECKING:
    from gradrank.training.nets.net import Net


SLACK = np.float32(1e-6)
SMALLEST_EXPONENT = -149  # of a power of two that is a float32


def solr_trees(trees: Sequence[Tree], names: Sequence[str]) -> tuple[list[Tree], np.ndarray]:
    """Return trees with the thresholds of Solr's files, and the (d,) float32 divisors of the features.

    Every float32 value takes the same branch as before. Solr's sum reaches most float32 numbers, but not all: for
    example, no float32 plus 1e-6 is 1e-35, which LightGBM uses as a threshold next to 0. The values of such a feature
    are divided by a power of two, which is exact, so that the sum reaches all thresholds of the feature. Raises
    NotExpressible if the thresholds are too far apart for that.
    """
    divisors = np.ones(len(names), np.float32)
    thresholds = [tree.threshold.astype(np.float32) for tree in trees]
    for feature, name in enumerate(names):
        used = np.concatenate([part[tree.feature == feature] for part, tree in zip(thresholds, trees, strict=True)])
        divisors[feature] = _divisor(used, name)
    written = []
    for part, tree in zip(thresholds, trees, strict=True):
        divided = _divided(part, np.where(tree.feature < 0, np.float32(1.0), divisors[tree.feature]))
        written.append(replace(tree, threshold=_before_slack(divided)))
    return written, divisors


def _divisor(thresholds: np.ndarray, name: str) -> np.float32:
    """Return the largest power of two, at most 1, after division by which Solr's sum reaches all thresholds."""
    thresholds = np.unique(thresholds[thresholds < LARGEST])  # LARGEST is written as infinity
    for exponent in range(0, SMALLEST_EXPONENT - 1, -1):
        divisor = np.float32(2.0**exponent)
        divided = _divided(thresholds, divisor)
        if np.isinf(divided).any():
            break
        if (_before_slack(divided) + SLACK == divided).all():
            return divisor
    sizes = np.abs(thresholds[thresholds != 0.0])
    extremes = f"absolute values from {sizes.min():.3g} to {sizes.max():.3g}"
    raise NotExpressible(f"the thresholds of feature {name} have {extremes}, and Solr adds 1e-6 to each threshold")


def _divided(thresholds: np.ndarray, divisors: np.ndarray | np.float32) -> np.ndarray:
    with np.errstate(over="ignore"):
        return thresholds / divisors


def _before_slack(thresholds: np.ndarray) -> np.ndarray:
    """Return float32 numbers to which Solr adds 1e-6. The sums are the thresholds, where this is possible."""
    return np.where(thresholds >= LARGEST, np.float32(np.inf), thresholds - SLACK)  # all finite values go left


@dataclass(frozen=True)
class Layer:
    """The layer x -> activation(matrix x + bias). matrix: (outputs, inputs) float64. bias: (outputs,) float64."""

    matrix: np.ndarray
    bias: np.ndarray
    activation: str = "identity"


@dataclass(frozen=True)
class Layers:
    """Layers on the inputs (x - mean) / scale, for (d,) features x before the normalisation of the data set.

    Inputs without a standardisation have the mean 0 and the scale 1.
    """

    layers: list[Layer]
    mean: np.ndarray
    scale: np.ndarray

    @staticmethod
    def of(form: ScoringForm, normaliser: Normaliser | None) -> "Layers":
        """Build from a linear model or a net. Raises NotExpressible."""
        parts = form.forms if isinstance(form, Combined) and form.rule in ("sum", "logistic") else (form,)
        if len(parts) == 1 and isinstance(parts[0], NetForm):
            net = parts[0].net
            layers, mean, scale = _net_layers(net), net.mean.astype(np.float64), net.scale.astype(np.float64)
        else:
            linear = [linear_of(part) for part in parts]
            if any(part is None for part in linear):
                raise NotExpressible("Solr has sums of trees, linear models and one neural net only")
            known = [part for part in linear if part is not None]
            layers = [Layer(np.array([part.weights for part in known]), np.array([part.intercept for part in known]))]
            mean, scale = np.zeros(len(known[0].weights)), np.ones(len(known[0].weights))
        layers = _combined(layers, form)
        return Layers(layers, mean, scale).without_normaliser(normaliser)

    def without_normaliser(self, normaliser: Normaliser | None) -> "Layers":
        """Return the layers on features before the normalisation. Their means and scales are float32 numbers.

        The first layer makes up for the rounding of the means.
        """
        mean, scale, first = self.mean, self.scale, self.layers[0]
        matrix, bias = first.matrix, first.bias
        if normaliser is not None:
            assert normaliser.mean is not None and normaliser.deviation is not None
            constant = normaliser.deviation == 0.0  # such a feature is 0 after the normalisation
            bias = bias + matrix @ np.where(constant, -mean / scale, 0.0)
            matrix = np.where(constant, 0.0, matrix)
            mean, scale = normaliser.mean + normaliser.deviation * mean, normaliser.deviation * scale
            mean, scale = np.where(constant, 0.0, mean), np.where(constant, 1.0, scale)
        rounded_mean = as_float32(mean, "the mean of a feature").astype(np.float64)
        rounded_scale = as_float32(scale, "the standard deviation of a feature").astype(np.float64)
        if not (rounded_scale > 0.0).all():
            raise NotExpressible("the standard deviation of a feature is too small for float32")
        bias = bias + matrix @ ((rounded_mean - mean) / scale)
        layers = [Layer(matrix, bias, first.activation), *self.layers[1:]]
        return Layers(layers, rounded_mean, rounded_scale)


def _net_layers(net: "Net") -> list[Layer]:
    if net.log_limit is not None:
        raise NotExpressible("the net replaces its inputs by sign(x) ln(1 + |x|), and Solr has no such normalizer")
    if net.layers is None:
        raise NotExpressible("the net has other steps than layers with relu or tanh, and Solr's nets have none")
    return [
        Layer(weights.T.astype(np.float64), biases.astype(np.float64), activation or "identity")
        for weights, biases, activation in net.layers
    ]


def _combined(layers: list[Layer], form: ScoringForm) -> list[Layer]:
    """Return layers with one output: the score of a `Combined` of the outputs, or the only output."""
    if not isinstance(form, Combined):
        return layers
    weights, last = np.asarray(form.weights, np.float64)[None, :], layers[-1]
    if form.rule == "logistic":
        return [*layers[:-1], Layer(last.matrix, last.bias, "sigmoid"), Layer(weights, np.zeros(1))]
    return [*layers[:-1], Layer(weights @ last.matrix, weights @ last.bias)]


PACKAGE = "org.apache.solr.ltr"


class Solr(ModelFormat):
    """MultipleAdditiveTreesModel, LinearModel and NeuralNetworkModel of Solr."""

    name = "solr"
    summary = (
        "Solr's model and feature store: trees, linear models, and nets without layer norm, log inputs or embeddings"
    )
    tolerance = 1e-5
    extension = ".json"

    def write(self, model: ExportedModel, out: Path) -> list[Path]:
        """Write the model to `out` and the feature store to a file with the suffix .features.json."""
        normaliser, takes_missing = model.normaliser_of_documents(), False
        if (form := trees_of(model.form)) is not None:
            trees = float32_trees(form, normaliser)
            model.check_missing_as_zero(trees)
            takes_missing = model.takes_missing and has_missing_branches(trees)
            content = _trees_content(trees, model.names, takes_missing)
        else:
            content = _layers_content(Layers.of(model.form, normaliser), model.names)
        store = out.with_name(f"{out.stem}.features.json")
        _write(out, {"store": out.stem, "name": out.stem} | content)
        _write(store, [_feature(out.stem, name, takes_missing) for name in model.names])
        return [out, store]

    def read(self, path: Path) -> SolrReader:
        """Read one model of the three classes."""
        try:
            return SolrReader.of(parsed_json(path))
        except Malformed as error:
            raise Malformed(f"{path}: {error}. Fix: export the model again") from None


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, allow_nan=False) + "\n", "utf-8")


def _feature(store: str, name: str, takes_missing: bool) -> dict[str, Any]:
    params = {"field": name} | ({"defaultValue": "NaN"} if takes_missing else {})
    return {"store": store, "name": name, "class": f"{PACKAGE}.feature.FieldValueFeature", "params": params}


def _content(kind: str, features: list[dict[str, Any]], params: dict[str, Any]) -> dict[str, Any]:
    return {"class": f"{PACKAGE}.model.{kind}", "features": features, "params": params}


def _named_features(names: tuple[str, ...], mean: np.ndarray, scale: np.ndarray) -> list[dict[str, Any]]:
    """Return the list of features. A feature with the mean 0 and the scale 1 has no normalizer."""
    features = []
    for name, avg, std in zip(names, mean.astype(np.float32), scale.astype(np.float32), strict=True):
        norm = {"class": f"{PACKAGE}.norm.StandardNormalizer", "params": {"avg": shortest(avg), "std": shortest(std)}}
        features.append({"name": name} | ({"norm": norm} if avg != 0.0 or std != 1.0 else {}))
    return features


def _trees_content(trees: tuple[Tree, ...], names: tuple[str, ...], takes_missing: bool) -> dict[str, Any]:
    check_depth(trees)
    written, divisors = solr_trees(trees, names)
    roots = [{"weight": "1.0", "root": _root(tree, names, takes_missing)} for tree in written]
    settings = {"isNullSameAsZero": False} if takes_missing else {}
    features = _named_features(names, np.zeros(len(names)), divisors)
    return _content("MultipleAdditiveTreesModel", features, settings | {"trees": roots})


def _root(tree: Tree, names: tuple[str, ...], takes_missing: bool) -> dict[str, Any]:
    def leaf(node: int, depth: int) -> dict[str, Any]:
        return {"value": shortest(tree.value[node])}

    def split(node: int, depth: int, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        missing = {"missing": "left" if tree.missing_left[node] else "right"} if takes_missing else {}
        threshold = np.float32(tree.threshold[node])
        text = "Infinity" if np.isinf(threshold) else shortest(threshold)
        head = {"feature": names[tree.feature[node]], "threshold": text}
        return head | missing | {"left": left, "right": right}

    return folded(tree, leaf, split)


def _layers_content(net: Layers, names: tuple[str, ...]) -> dict[str, Any]:
    """Return a LinearModel, or a NeuralNetworkModel if there is a constant or a hidden layer."""
    features = _named_features(names, net.mean, net.scale)
    if len(net.layers) == 1 and net.layers[0].bias[0] == 0.0:
        weights = _numbers(net.layers[0].matrix[0])
        return _content("LinearModel", features, {"weights": dict(zip(names, weights, strict=True))})
    layers = [
        {
            "matrix": [_numbers(row) for row in layer.matrix],
            "bias": _numbers(layer.bias),
            "activation": layer.activation,
        }
        for layer in net.layers
    ]
    return _content("NeuralNetworkModel", features, {"layers": layers})


def _numbers(values: np.ndarray) -> list[float]:
    """Return float32 numbers as short decimal numbers. JSON numbers always have a point, which Solr requires."""
    return [float(shortest(value)) for value in as_float32(values, "a weight")]
