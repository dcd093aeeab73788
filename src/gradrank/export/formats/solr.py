"""The model files of Solr's module for learning to rank.

A model is written as two files: the model, and a feature store with one `FieldValueFeature` per feature. The store is a
template: edit the class and `params` of each feature, upload the store first, and then the model. Solr computes with
float32 numbers. A missing feature is 0. But if a tree sends missing values to another child than 0, the trees are
written with the setting `isNullSameAsZero` = false, which needs Solr 9.2 or later.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.export.format import ExportedModel, ModelFormat
from gradrank.export.read_json import parsed_json
from gradrank.export.read_trees import Malformed
from gradrank.export.solr_layers import Layers
from gradrank.export.solr_reader import SolrReader
from gradrank.export.solr_thresholds import solr_trees
from gradrank.export.tree_nodes import check_depth, folded
from gradrank.export.writable_forms import as_float32, float32_trees, has_missing_branches, shortest, trees_of
from gradrank.training.scoring_form import Tree

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
