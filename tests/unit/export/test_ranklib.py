"""The format ranklib: files in the shapes that RankLib writes, and files that are not of its format."""

import gradrank

gradrank.pin()

# isort: split
import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.normalisation import Normaliser
from gradrank.export.export import NotExpressible
from gradrank.export.format import ExportedModel
from gradrank.export.lookup import find_format
from gradrank.training.scoring_form import LinearForm, Tree, TreesForm

RANKLIB = find_format("ranklib")
OFFSETS = np.array([0, 3])
FEATURES = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 0.0], [np.nan, 0.25, 8.0]], np.float32)
SPLIT = """
    <split>
      <feature> 2 </feature> <threshold> 0.25 </threshold>
      <split pos="left"> <output> -1.5 </output> </split>
      <!-- a comment -->
      <split pos="right">
        <feature>1</feature><threshold>7.5E-1</threshold>
        <split pos="left"><output>4</output></split>
        <split pos="right"><output>0.5</output></split>
      </split>
    </split>"""
ENSEMBLE = f"""<ensemble>
  <tree id="1" weight="2.0">{SPLIT}</tree>
  <tree weight='0.5' id='2'><split><output> 3.0 </output></split></tree>
</ensemble>"""
HEAD = "## LambdaMART\n## No. of trees = 2\n## No. of leaves = 10\n\n"


def scores(text, tmp_path):
    path = tmp_path / "model.txt"
    path.write_text(text, encoding="utf-8")
    reader = RANKLIB.read(path)
    assert reader.names is None
    return reader.scores(FEATURES, OFFSETS).tolist()


@pytest.mark.parametrize("head", [HEAD, "## MART\n", "## lambdamart \n"])
def test_an_ensemble_is_a_weighted_sum(head, tmp_path):
    # Document 1 goes right and right, documents 2 and 3 go left.
    assert scores(head + ENSEMBLE, tmp_path) == [2.0 * 0.5 + 1.5, 2.0 * -1.5 + 1.5, 2.0 * -1.5 + 1.5]


def test_random_forests_are_the_mean_of_ensembles(tmp_path):
    other = '<ensemble><tree id="1" weight="1.0"><split><output> 7.5 </output></split></tree></ensemble>'
    text = f"## Random Forests\n## No. of bags = 2\n\n{ENSEMBLE}\n\n{other}\n"
    assert scores(text, tmp_path) == [5.0, 3.0, 3.0]


def test_sums_are_rounded_to_float32_after_each_tree(tmp_path):
    outputs = [1e8, 1.0, 1.0, 1.0, 1.0]
    trees = "".join(f'<tree id="1" weight="1"><split><output>{x}</output></split></tree>' for x in outputs)
    assert scores(f"{HEAD}<ensemble>{trees}</ensemble>", tmp_path)[0] == 1e8  # the float64 sum is 100000004


def test_coordinate_ascent_is_a_weighted_sum_without_a_constant(tmp_path):
    text = "## Coordinate Ascent\n## Restart = 5\n## Slack = 0.001\n3:0.5 1:-2.0   2:0.25 # a note\n"
    assert scores(text, tmp_path) == [1.5 - 2.0 + 0.5, -1.0 - 0.25, 4.0 + 0.0625]


def test_linear_regression_has_a_constant(tmp_path):
    assert scores("## Linear Regression\n## Lambda = 1.0E-10\n0:10 2:-1 3:1e1\n", tmp_path) == [38.0, 11.0, 89.75]


@pytest.mark.parametrize("deviation", [None, np.array([2.0, 0.0, 0.1])])
def test_linear_models_are_computed_in_float64(deviation, tmp_path):
    form, features = LinearForm(np.array([0.1, -1e-7, 1e9]), 1 / 3), np.nan_to_num(FEATURES)
    normaliser = None if deviation is None else Normaliser("global", np.array([1.0, 5.0, -0.5]), deviation)
    (path,) = RANKLIB.write(ExportedModel(form, ("a", "b", "c"), normaliser), tmp_path / "model.txt")
    shifted = features - (0.0 if normaliser is None else normaliser.mean)
    ratio = shifted if deviation is None else np.divide(shifted, deviation, out=np.zeros((3, 3)), where=deviation > 0)
    expected = ratio.astype(np.float64) @ form.weights + form.intercept
    np.testing.assert_allclose(RANKLIB.read(path).scores(features, OFFSETS), expected, rtol=1e-14)


BOMB = '<!DOCTYPE e [<!ENTITY a "1"><!ENTITY b "&a;&a;&a;">]><ensemble><tree weight="&b;"/></ensemble>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("<ensemble></ensemble>", "first line"),
        ("## RankNet\n1\n", "first line"),
        (HEAD, "</ensemble>"),
        (HEAD + ENSEMBLE[:-5], "</ensemble>"),
        (HEAD + ENSEMBLE + ENSEMBLE, "2 ensembles"),
        (HEAD + ENSEMBLE + "<tree/>", "</ensemble>"),
        (HEAD + BOMB, "DOCTYPE"),
        (HEAD + ENSEMBLE.replace("<output> 3.0", "<output> &x;"), "entity"),
        (HEAD + ENSEMBLE.replace("</tree>", "", 1), "XML"),
        (HEAD + ENSEMBLE.replace("ensemble", "forest").replace("</forest>", "</forest></ensemble>"), "XML"),
        (HEAD + ENSEMBLE.replace(' weight="2.0"', ""), "weight"),
        (HEAD + ENSEMBLE.replace('weight="2.0"', 'weight="NaN"'), "weight"),
        (HEAD + ENSEMBLE.replace("<output> -1.5 </output>", ""), "<split>"),
        (HEAD + ENSEMBLE.replace("<output> -1.5 </output>", "<output/>"), "<output>"),
        (HEAD + ENSEMBLE.replace("-1.5", "nan"), "<output>"),
        (HEAD + ENSEMBLE.replace("-1.5", "1e39"), "float32"),
        (HEAD + ENSEMBLE.replace("-1.5", "1_0"), "<output>"),
        (HEAD + ENSEMBLE.replace("> 0.25 <", "> Infinity <"), "<threshold>"),
        (HEAD + ENSEMBLE.replace("<feature> 2", "<feature> 0"), "feature"),
        (HEAD + ENSEMBLE.replace("<feature> 2", "<feature> -2"), "feature"),
        (HEAD + ENSEMBLE.replace("<feature> 2", "<feature> 99999999999999999999"), "feature"),
        (HEAD + ENSEMBLE.replace('pos="left"', 'pos="right"', 1), "left and right"),
        ("## Coordinate Ascent\n", "no weights"),
        ("## Coordinate Ascent\n1:0.5 1:0.5\n", "duplicate"),
        ("## Coordinate Ascent\n0:0.5 1:0.5\n", "feature"),
        ("## Coordinate Ascent\n1=0.5\n", "1:0.5"),
        ("## Coordinate Ascent\n1:1e999\n", "1:0.5"),
        ("## Linear Regression\n1:0.5\n", "constant"),
        ("## Linear Regression\n0:1 0:2 1:0.5\n", "constant"),
    ],
)
def test_a_malformed_file_is_refused(text, message, tmp_path):
    with pytest.raises(GradrankError, match=message):
        scores(text, tmp_path)


def test_data_without_a_feature_of_the_model_are_refused(tmp_path):
    with pytest.raises(GradrankError, match="feature 4"):
        scores(HEAD + ENSEMBLE.replace("<feature>1<", "<feature>4<"), tmp_path)


@pytest.mark.parametrize(("threshold", "missing_left", "is_written"), [(0.5, True, True), (0.5, False, False)])
def test_trees_that_treat_a_missing_value_like_0_are_written_and_others_refused(
    threshold, missing_left, is_written, tmp_path
):
    leaf = np.array([-1, -1])
    splits = [np.array([first, *leaf]) for first in (0, 1, 2)]
    missing, values = np.array([missing_left, False, False]), np.array([0.0, -1.0, 1.0])
    tree = Tree(splits[0], np.array([threshold, 0.0, 0.0]), splits[1], splits[2], missing, values)
    model, out = ExportedModel(TreesForm((tree,)), ("title",), None, takes_missing=True), tmp_path / "model.txt"
    if is_written:
        assert RANKLIB.write(model, out) == [out]
    else:
        with pytest.raises(NotExpressible, match="missing"):
            RANKLIB.write(model, out)
