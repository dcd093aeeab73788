"""Trees in the formats of search engines: every float32 value takes the branch that it takes in gradrank."""

from dataclasses import replace

import gradrank

gradrank.pin()

# isort: split
import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.normalisation import Normaliser
from gradrank.export.format import ExportedModel, NotExpressible
from gradrank.export.lookup import find_format
from gradrank.training.form_scores import form_scores
from gradrank.training.scoring_form import Combined, LinearForm, Tree, TreesForm
from random_forms import WIDTH, random_forms, random_tree, random_trees

ENGINES = ["ranklib", "xgboost-json", "solr"]
NAMES = ("bm25", "a, b", 'say "x"', "größe", "<last> & \\ first")
LARGEST = float(np.finfo(np.float32).max)
EDGES = [
    0.0,
    1e-35,
    -1e-35,
    float(np.float32(1e-35)),
    1e-6,
    2e-6,
    0.1,
    1 / 3,
    -1.0,
    -0.99999994,
    -32.0,
    64.0,
    1e7 + 0.3,
]
EXTREMES = [5e-324, 1e-45, -1e-45, 1.2e-38, LARGEST, -LARGEST, 3.5e38, -3.5e38, 1e300, -1e300, np.inf, 1.0]
THRESHOLDS = {"ranklib": EDGES + EXTREMES, "xgboost-json": EDGES + EXTREMES, "solr": [*EDGES, 1e300, -1e300, np.inf]}


def whole_number_trees(seed, thresholds, count=6):
    """Return trees with small whole numbers in their leaves, whose float32 sums are exact."""
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, int(leaves), thresholds) for leaves in (1, *rng.integers(2, 12, count - 1))]
    return TreesForm(tuple(replace(tree, value=rng.integers(-99, 99, len(tree.value)) * 1.0) for tree in trees), 7.0)


def values_next_to(thresholds, seed=0, rows=400):
    """Return (rows, WIDTH) float32 features at the thresholds, and one float32 below and above them."""
    with np.errstate(over="ignore"):
        at = np.clip(np.array(thresholds), -LARGEST, LARGEST).astype(np.float32)
        next_to = [np.nextafter(at, np.float32(end)) for end in (-np.inf, np.inf)]
    pool = np.concatenate([at, *next_to, np.array([0.0, -0.0, LARGEST, -LARGEST, 1e-45], np.float32)])
    pool = pool[np.isfinite(pool)]
    return np.random.default_rng(seed).choice(pool, (rows, WIDTH)).astype(np.float32)


def exported_scores(name, model, features, folder):
    """Return the scores that the reader of a format computes from the file that its writer wrote."""
    model_format = find_format(name)
    path, *_ = model_format.write(model, folder / f"model{model_format.extension}")
    reader = model_format.read(path)
    columns = range(WIDTH) if reader.names is None else [model.names.index(name) for name in reader.names]
    return reader.scores(np.ascontiguousarray(features[:, columns]), np.array([0, len(features)]))


def gradrank_scores(form, features):
    return form_scores(form, features, np.array([0, len(features)]))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("engine", ENGINES)
def test_every_value_takes_its_branch(engine, seed, tmp_path):
    thresholds = THRESHOLDS[engine] + np.random.default_rng(seed).normal(0.0, 10.0, 5).tolist()
    form, features = whole_number_trees(seed, thresholds), values_next_to(thresholds, seed)
    found = exported_scores(engine, ExportedModel(form, NAMES), features, tmp_path)
    np.testing.assert_array_equal(found, gradrank_scores(form, features))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("engine", ENGINES)
def test_a_normalisation_becomes_a_part_of_the_thresholds(engine, seed, tmp_path):
    normaliser = Normaliser("global", np.array([5.0, -1e-3, 2.0, 1e6, 0.0]), np.array([1e-3, 2.0, 0.0, 1e5, 1.0]))
    thresholds = [0.0, -0.5, 0.1, 1 / 3, 2.0, -1.0]
    form, near = whole_number_trees(seed, thresholds), values_next_to(thresholds, seed).clip(-9.0, 9.0)
    features = (normaliser.mean + near.astype(np.float64) * normaliser.deviation).astype(np.float32)
    features[::2] = np.nextafter(features[::2], np.float32(np.inf))
    found = exported_scores(engine, ExportedModel(form, NAMES, normaliser), features, tmp_path)
    normalised = normaliser(features, np.array([0, len(features)]))
    np.testing.assert_array_equal(found, gradrank_scores(form, normalised))


@pytest.mark.parametrize("engine", ENGINES)
def test_scores_and_order_are_within_the_tolerance(engine, tmp_path):
    form = random_trees(np.random.default_rng(3), 1000)
    features = np.random.default_rng(4).normal(size=(300, WIDTH)).astype(np.float32)
    expected = gradrank_scores(form, features)
    found = exported_scores(engine, ExportedModel(form, NAMES), features, tmp_path)
    allowed = find_format(engine).tolerance * np.abs(expected).max()
    assert np.abs(found - expected).max() <= allowed
    clearly_above = expected[:, None] > expected + allowed
    assert clearly_above.any()
    assert (found[:, None] > found)[clearly_above].all()


@pytest.mark.parametrize("form", [TreesForm((), 0.25), TreesForm(()), whole_number_trees(1, [0.5], 1)])
@pytest.mark.parametrize("engine", ENGINES)
def test_constant_scores(engine, form, tmp_path):
    features = np.zeros((3, WIDTH), np.float32)
    found = exported_scores(engine, ExportedModel(form, NAMES), features, tmp_path)
    np.testing.assert_array_equal(found, gradrank_scores(form, features))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_weighted_sum_of_trees_is_one_sum_of_trees(engine, tmp_path):
    inner = Combined((whole_number_trees(1, EDGES), whole_number_trees(2, EDGES)), np.array([2.0, -0.25]))
    form, features = Combined((inner, whole_number_trees(3, EDGES)), np.array([0.5, 4.0])), values_next_to(EDGES)
    found = exported_scores(engine, ExportedModel(form, NAMES), features, tmp_path)
    np.testing.assert_array_equal(found, gradrank_scores(form, features))


@pytest.mark.parametrize("engine", ["xgboost-json", "solr"])
@pytest.mark.parametrize("deviation", [None, 2.0])
def test_missing_values_take_their_branch(engine, deviation, tmp_path):
    normaliser = deviation and Normaliser("global", np.full(WIDTH, 0.5), np.full(WIDTH, deviation))
    form, features = whole_number_trees(5, THRESHOLDS[engine], 20), values_next_to(EDGES).clip(-100, 100)
    features[np.random.default_rng(0).random(features.shape) < 0.3] = np.nan
    found = exported_scores(engine, ExportedModel(form, NAMES, normaliser, takes_missing=True), features, tmp_path)
    normalised = normaliser(features, np.array([0, len(features)])) if normaliser else features
    np.testing.assert_array_equal(found, gradrank_scores(form, normalised))


def as_zero(form):
    """Return the trees, but with the branch of 0 as the branch of missing values."""
    return replace(form, trees=tuple(replace(tree, missing_left=tree.threshold >= 0.0) for tree in form.trees))


@pytest.mark.parametrize("engine", ENGINES)
def test_missing_values_may_always_count_as_zero(engine, tmp_path):
    form, features = as_zero(whole_number_trees(5, EDGES)), values_next_to(EDGES)
    features[::3, 1:3] = np.nan
    found = exported_scores(engine, ExportedModel(form, NAMES, takes_missing=True), features, tmp_path)
    np.testing.assert_array_equal(found, gradrank_scores(form, features))


def test_ranklib_has_no_branches_for_missing_values(tmp_path):
    with pytest.raises(NotExpressible, match="missing"):
        exported_scores(
            "ranklib", ExportedModel(random_trees(np.random.default_rng(0)), NAMES, None, True), None, tmp_path
        )


def chain(depth):
    """Return a tree in which every left child is an inner node, but the last one."""
    inner = np.arange(2 * depth + 1) < depth
    number = np.arange(2 * depth + 1)
    left, right = np.where(inner, number + 1, -1), np.where(inner, depth + 1 + number, -1)
    threshold = np.where(inner, -number.astype(np.float64), 0.0)
    return Tree(np.where(inner, 0, -1), threshold, left, right, inner, np.where(inner, 0.0, number * 1.0))


@pytest.mark.parametrize(("engine", "depth"), [("ranklib", 500), ("xgboost-json", 300), ("solr", 300)])
def test_deep_trees(engine, depth, tmp_path):
    form, features = TreesForm((chain(depth),)), np.zeros((depth + 2, WIDTH), np.float32)
    features[:, 0] = 0.5 - np.arange(depth + 2)
    found = exported_scores(engine, ExportedModel(form, NAMES), features, tmp_path)
    np.testing.assert_array_equal(found, gradrank_scores(form, features))


@pytest.mark.parametrize("engine", ["xgboost-json", "solr"])
def test_trees_that_are_too_deep_for_json_parsers_are_refused(engine, tmp_path):
    with pytest.raises(NotExpressible, match="301 levels"):
        exported_scores(engine, ExportedModel(TreesForm((chain(301),)), NAMES), None, tmp_path)


@pytest.mark.parametrize("engine", ENGINES)
def test_too_large_leaves_are_refused(engine, tmp_path):
    form = TreesForm((replace(chain(1), value=np.array([0.0, 1.0, 1e39])),))
    with pytest.raises(NotExpressible, match="leaf"):
        exported_scores(engine, ExportedModel(form, NAMES), None, tmp_path)


EXPRESSIBLE = {
    "ranklib": {"linear", "quadratic of one row", "linear net", "trees", "one leaf", "no trees"},
    "xgboost-json": {"trees", "one leaf", "no trees", "logistic of one ensemble"},
    "solr": {"linear", "quadratic of one row", "linear net", "trees", "one leaf", "no trees", "net", "float64 net"},
}


@pytest.mark.parametrize("kind", random_forms())
@pytest.mark.parametrize("engine", ENGINES)
def test_a_form_is_written_with_its_scores_or_refused(engine, kind, tmp_path):
    form = random_forms()[kind]
    features = np.random.default_rng(1).normal(size=(50, WIDTH)).astype(np.float32)
    if kind in EXPRESSIBLE[engine]:
        found = exported_scores(engine, ExportedModel(form, NAMES), features, tmp_path)
        expected = gradrank_scores(form, features)
        np.testing.assert_allclose(found, expected, rtol=0, atol=find_format(engine).tolerance * np.abs(expected).max())
    else:
        with pytest.raises(NotExpressible):
            exported_scores(engine, ExportedModel(form, NAMES), features, tmp_path)
        assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("form", [whole_number_trees(0, EDGES), LinearForm(np.ones(WIDTH))])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_normalisation_within_queries_is_refused(engine, form, tmp_path):
    with pytest.raises(NotExpressible):
        exported_scores(engine, ExportedModel(form, NAMES, Normaliser("query")), None, tmp_path)


@pytest.mark.parametrize("engine", ENGINES)
def test_damaged_files_are_refused_or_read(engine, tmp_path):
    model_format, rng = find_format(engine), np.random.default_rng(0)
    path, *_ = model_format.write(ExportedModel(whole_number_trees(2, EDGES, 3), NAMES), tmp_path / "model")
    whole, refused = path.read_bytes(), 0
    for _ in range(300):
        start, length = rng.integers(len(whole)), rng.integers(1, 40)
        new = rng.choice([b"", b"9", b'"', b"}", b"<", b"null", b"-1e999", b"NaN", b"[[", b"\xff", b"<!--"])
        path.write_bytes(whole[:start] + bytes(new) + whole[start + length :])
        try:
            reader = model_format.read(path)
            reader.scores(np.zeros((2, len(reader.names or NAMES)), np.float32), np.array([0, 2]))
        except GradrankError as error:
            refused += 1
            assert str(path) in str(error) or "the data have" in str(error)
    assert refused > 100
