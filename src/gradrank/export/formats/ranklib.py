"""The model files of RankLib, which the learning-to-rank plug-ins of Elasticsearch and OpenSearch read, too.

The files have no names of features: feature 1 is the first column of the data. For the plug-ins, it is the first
feature of the feature set (type `model/ranklib`). A missing feature is 0. RankLib converts features, thresholds and the
values of leaves to float32, and it rounds the sum to float32 after each tree. Linear models are computed in float64.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from gradrank.export.format import ExportedModel, ModelFormat, NotExpressible, Reader, has_missing_branches
from gradrank.export.read_trees import NUMBER, Malformed, ReadLeaf, ReadSplit, ReadTree, float32_of
from gradrank.export.writable_forms import (
    exact,
    float32_trees,
    folded,
    linear_of,
    linear_without_normaliser,
    shortest,
    trees_of,
)
from gradrank.training.scoring_form import LinearForm, Tree

FEATURE = re.compile(r"[+]?\d{1,9}")


class RankLib(ModelFormat):
    """Sums of trees and linear models, as RankLib writes them."""

    name = "ranklib"
    summary = "RankLib's text, for RankLib and the plug-ins of Elasticsearch and OpenSearch: trees and linear models"
    tolerance = 1e-5
    extension = ".txt"

    def write(self, model: ExportedModel, out: Path) -> list[Path]:
        """Write sums of trees as LambdaMART and linear models as Linear Regression."""
        normaliser = model.normaliser_of_documents()
        if (trees := trees_of(model.form)) is not None:
            if model.takes_missing and has_missing_branches(trees.trees):
                raise NotExpressible("the trees have branches for missing values, and in RankLib a missing value is 0")
            text = _ensemble_text(float32_trees(trees, normaliser))
        elif (linear := linear_of(model.form)) is not None:
            text = _linear_text(linear_without_normaliser(linear, normaliser))
        else:
            raise NotExpressible("RankLib's files have sums of trees and linear models only")
        out.write_text(text, "ascii")
        return [out]

    def read(self, path: Path) -> "RankLibReader":
        """Read the models LambdaMART, MART, Random Forests, Coordinate Ascent and Linear Regression of RankLib."""
        return RankLibReader.of(path.read_text("utf-8", errors="replace"), str(path))


def _ensemble_text(trees: tuple[Tree, ...]) -> str:
    leaves = max(int((tree.feature < 0).sum()) for tree in trees)
    head = f"## LambdaMART\n## No. of trees = {len(trees)}\n## No. of leaves = {leaves}\n\n"
    body = (f'\t<tree id="{i}" weight="1.0">\n{_tree_text(tree)}\t</tree>\n' for i, tree in enumerate(trees, 1))
    return f"{head}<ensemble>\n{''.join(body)}</ensemble>\n"


def _tree_text(tree: Tree) -> str:
    """Return the nodes of one tree. Every element begins on a line of its own, which RankLib requires."""

    def leaf(node: int, depth: int) -> str:
        return f"{_tabs(depth)}<output> {shortest(tree.value[node])} </output>\n"

    def split(node: int, depth: int, left: str, right: str) -> str:
        tabs, threshold = _tabs(depth), exact(tree.threshold[node])
        head = f"{tabs}<feature> {tree.feature[node] + 1} </feature>\n{tabs}<threshold> {threshold} </threshold>\n"
        children = zip(("left", "right"), (left, right), strict=True)
        return head + "".join(f'{tabs}<split pos="{pos}">\n{child}{tabs}</split>\n' for pos, child in children)

    return f"\t\t<split>\n{folded(tree, leaf, split)}\t\t</split>\n"


def _tabs(depth: int) -> str:
    return "\t" * (depth + 3)


def _linear_text(linear: LinearForm) -> str:
    pairs = [f"{i}:{float(weight)!r}" for i, weight in enumerate((linear.intercept, *linear.weights))]
    return f"## Linear Regression\n{' '.join(pairs)}\n"


@dataclass(frozen=True)
class _Linear:
    intercept: float
    features: np.ndarray
    weights: np.ndarray

    def scores(self, features: np.ndarray) -> np.ndarray:
        total = np.full(len(features), self.intercept, np.float64)
        for feature, weight in zip(self.features, self.weights, strict=True):
            total += weight * features[:, feature].astype(np.float64)
        return total


@dataclass(frozen=True)
class _Ensemble:
    trees: Sequence[ReadTree]
    weights: Sequence[np.float32]

    def scores(self, features: np.ndarray) -> np.ndarray:
        total = np.zeros(len(features), np.float32)
        for tree, weight in zip(self.trees, self.weights, strict=True):
            output = tree.outputs(features, np.less_equal).astype(np.float64)
            total = (total + output * np.float64(weight)).astype(np.float32)
        return total.astype(np.float64)


@dataclass(frozen=True)
class RankLibReader(Reader):
    """A model of RankLib: the mean of its parts. Random Forests have several parts, the other models one.

    width: the largest number of a feature.
    """

    parts: Sequence[_Linear | _Ensemble]
    width: int

    @staticmethod
    def of(text: str, path: str) -> "RankLibReader":
        """Build from the text of a model file. Raises GradrankError."""
        try:
            return _parse(text)
        except Malformed as error:
            raise Malformed(f"{path}: {error}. Fix: export the model again, or save it with RankLib") from None

    @property
    def names(self) -> None:
        """None, because RankLib's files have no names of features."""
        return None

    def scores(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the scores of RankLib. A missing feature is 0."""
        if features.shape[1] < self.width:
            raise Malformed(f"the model has feature {self.width}, but the data have {features.shape[1]} features")
        known = np.where(np.isnan(features), np.float32(0.0), features)
        return np.mean([part.scores(known) for part in self.parts], axis=0)


def _parse(text: str) -> RankLibReader:
    lines = text.splitlines()
    head = lines[0].replace("## ", "").strip().upper() if lines else ""
    body = "\n".join(line for line in lines if not line.startswith("#"))
    if head in ("LAMBDAMART", "MART", "RANDOM FORESTS"):
        ensembles = [_parse_ensemble(f"{part}</ensemble>") for part in _split_ensembles(body)]
        if len(ensembles) != 1 and head != "RANDOM FORESTS":
            raise Malformed(f"{len(ensembles)} ensembles, but a model of this kind has one")
        used = [int(tree.feature.max()) for ensemble in ensembles for tree in ensemble.trees]
        return RankLibReader(ensembles, max(used, default=-1) + 1)
    if head in ("COORDINATE ASCENT", "LINEAR REGRESSION"):
        linear = _parse_linear(body, has_intercept=head == "LINEAR REGRESSION")
        return RankLibReader([linear], int(linear.features.max(initial=-1)) + 1)
    raise Malformed(
        f"the first line is {lines[0][:60]!r}, not '## LambdaMART' or another readable model"
        if lines
        else "the file is empty"
    )


def _split_ensembles(body: str) -> list[str]:
    *ensembles, rest = body.split("</ensemble>")
    if rest.strip() or not ensembles:
        raise Malformed("the text does not end with </ensemble>")
    return ensembles


class _Builder(ElementTree.TreeBuilder):
    def doctype(self, name: str, pubid: str, system: str) -> None:
        raise Malformed("a document type declaration (<!DOCTYPE>), which RankLib's files do not have")


def _parse_ensemble(xml: str) -> _Ensemble:
    parser = ElementTree.XMLParser(target=_Builder())
    try:
        parser.feed(xml.strip())
        root = parser.close()
    except ElementTree.ParseError as error:
        raise Malformed(f"the trees are not well-formed XML ({error})") from None
    if root.tag != "ensemble":
        raise Malformed(f"<{root.tag}> instead of <ensemble>")
    trees, weights = [], []
    for tree in root:
        if tree.tag != "tree" or [child.tag for child in tree] != ["split"]:
            raise Malformed(f"<{tree.tag}> is not a <tree> with one <split>")
        weights.append(float32_of(tree.get("weight", "").strip(), "the weight of a tree"))
        trees.append(ReadTree.of(tree[0], _parse_node))
    return _Ensemble(trees, weights)


def _parse_node(node: ElementTree.Element) -> ReadLeaf | ReadSplit:
    match [child.tag for child in node]:
        case ["output"]:
            return ReadLeaf(float32_of(_text(node[0]), "an <output>"))
        case ["feature", "threshold", "split", "split"]:
            if [child.get("pos", pos) for child, pos in zip(node[2:], ("left", "right"), strict=True)] != [
                "left",
                "right",
            ]:
                raise Malformed("the children of a <split> are not left and right, in this order")
            threshold = float32_of(_text(node[1]), "a <threshold>")
            return ReadSplit(_feature(_text(node[0])), threshold, node[2], node[3])
        case tags:
            raise Malformed(
                f"a <split> has the elements {tags}, neither <output> nor <feature>, <threshold> and 2 <split>"
            )


def _text(element: ElementTree.Element) -> str:
    return (element.text or "").strip()


def _feature(text: str) -> int:
    """Return the column of a feature, from 0."""
    if not FEATURE.fullmatch(text) or int(text) < 1:
        raise Malformed(f"a feature is {text!r}, not a number from 1")
    return int(text) - 1


def _parse_linear(body: str, has_intercept: bool) -> _Linear:
    line = next((line for line in body.splitlines() if line.strip()), "")
    intercept, weights = [], {}
    for pair in line.rpartition("#")[0].split() if "#" in line else line.split():
        key, colon, value = pair.partition(":")
        if not colon or not NUMBER.fullmatch(value) or not np.isfinite(number := float(value.rstrip("fFdD"))):
            raise Malformed(f"{pair!r} is not a feature and its weight, such as 1:0.5")
        if has_intercept and key == "0":
            intercept.append(number)
        elif (feature := _feature(key)) in weights:
            raise Malformed(f"duplicate feature {key}")
        else:
            weights[feature] = number
    if len(intercept) != has_intercept or not weights:
        raise Malformed("no weights" if not weights else "a linear regression without exactly one constant 0:")
    return _Linear(sum(intercept, 0.0), np.array([*weights]), np.array([*weights.values()]))
