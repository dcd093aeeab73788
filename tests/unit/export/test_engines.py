"""Search engines: the rules for missing features of each version, rewritten trees, refusals, and failed checks."""

import json

import gradrank

gradrank.pin()

# isort: split
import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.export.engines import engine_names, targets
from gradrank.export.export import checked_export
from gradrank.export.formats.xgboost_json import XGBoostJson, XGBoostJsonReader
from gradrank.export.writable_forms import float32_trees, with_missing_right
from gradrank.training.scoring_form import TreesForm
from gradrank.training.trained_fold import TrainedFold
from made_folds import Formula, random_tree

ZERO, NO, BRANCH = {"zero"}, {"no"}, {"branch"}


@pytest.mark.parametrize(
    ("engine", "rules"),
    [
        ("elasticsearch", ZERO | BRANCH),
        ("opensearch@2.19", ZERO),
        ("opensearch@3.1", ZERO),
        ("opensearch@3.2", ZERO | NO),
        ("opensearch@3.3", NO),
        ("opensearch@3.5.0", NO),
        ("opensearch@3.6", NO | BRANCH),
        ("opensearch@4", NO | BRANCH),
        ("opensearch@3", ZERO | NO | BRANCH),
        ("opensearch", ZERO | NO | BRANCH),
        ("solr@8.11", ZERO),
        ("solr@9", ZERO | BRANCH),
        ("solr@9.2", BRANCH),
        ("solr@10", BRANCH),
        ("vespa", BRANCH),
    ],
)
def test_the_rules_of_a_version_are_those_of_all_versions_that_begin_with_it(engine, rules):
    assert targets(engine)[0].missing == rules


@pytest.mark.parametrize(
    ("engine", "message"),
    [("lucene", "unknown engine 'lucene'"), ("solr@nine", "'nine' is not a version"), ("solr@", "'' is not a version")],
)
def test_an_unknown_engine_or_version_is_refused(engine, message):
    with pytest.raises(GradrankError, match=message):
        targets(engine)


def scores(trees, features, rule=None):
    """Return the sums of the trees by walking each one, with a rule for missing features."""
    total = np.zeros(len(features))
    for row, values in enumerate(features):
        for tree in trees:
            node = 0
            while tree.feature[node] >= 0:
                value = values[tree.feature[node]]
                if np.isnan(value):
                    value = 0.0 if rule == "zero" else value
                if np.isnan(value):
                    left = False if rule == "no" else tree.missing_left[node]
                else:
                    left = value <= tree.threshold[node]
                node = tree.left[node] if left else tree.right[node]
            total[row] += np.float32(tree.value[node])
    return total


def trees_and_rows(seed, missing=0.4):
    rng = np.random.default_rng(seed)
    trees = tuple(random_tree(rng, range(3), 5) for _ in range(4))
    features = rng.normal(size=(200, 3)).astype(np.float32)
    features[rng.random(features.shape) < missing] = np.nan
    return trees, features


@pytest.mark.parametrize("seed", range(20))
def test_rewritten_trees_send_missing_values_right_and_have_the_same_scores(seed):
    trees, features = trees_and_rows(seed)
    rounded = float32_trees(TreesForm(trees), None)
    rewritten = tuple(map(with_missing_right, rounded))
    assert not any(tree.missing_left.any() for tree in rewritten)
    expected = scores(rounded, features)
    for rule in ("no", None):
        np.testing.assert_allclose(scores(rewritten, features, rule), expected, rtol=0, atol=1e-6)
    if any((tree.missing_left & (tree.feature >= 0)).any() for tree in rounded):
        assert not np.allclose(scores(rounded, features, "no"), expected)


class Trees(Formula):
    """A model without files, which formats of search engines do not need."""

    def save(self, folder):
        pass


class Rows:
    def __init__(self, features):
        self.features, self.offsets = features, np.array([0, len(features)])
        self.qids, self.docids = ["shoes"], [None] * len(features)


def trained(trees):
    form = TreesForm(trees)
    model = Trees(lambda features, offsets: scores(trees, features), form, False)
    return TrainedFold(model, {"features": 3, "names": ["a", "b", "c"], "missing": "keep"})


@pytest.mark.parametrize("engine", ["opensearch@3.3", "opensearch@3.6", "vespa", "solr@9.2"])
def test_an_engine_with_a_rule_for_missing_values_gets_a_file_with_the_right_scores(engine, tmp_path):
    trees, features = trees_and_rows(3)
    exported = checked_export(trained(trees), None, tmp_path / "m.json", engine=engine, rows=[Rows(features)])
    assert exported.agreement.rows == 200 and exported.files[0].is_file()


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch@2.19", "opensearch", "solr@8.11", "solr@9"])
def test_an_engine_that_may_put_zero_in_place_of_a_missing_value_refuses_branches(engine, tmp_path):
    trees, _ = trees_and_rows(3)
    with pytest.raises(GradrankError, match=rf"{engine} \(.*a missing feature is 0.*Fix: name the exact version"):
        checked_export(trained(trees), None, tmp_path / "m.json", engine=engine)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("engine", engine_names())
def test_a_model_whose_missing_values_are_those_of_zero_is_right_in_every_version(engine, tmp_path):
    trees, features = trees_and_rows(5)
    as_zero = []
    for tree in trees:
        tree.missing_left[:] = tree.threshold >= 0.0
        as_zero.append(tree)
    for missing in (features, np.nan_to_num(features)):
        rows = [Rows(missing)]
        exported = checked_export(trained(tuple(as_zero)), None, tmp_path / "m.json", engine=engine, rows=rows)
        assert exported.agreement.rows == 200


def test_a_check_simulates_the_engine_and_a_failed_one_leaves_no_file(tmp_path, monkeypatch):
    """The plain dump ranks otherwise where all missing values take the child `no`."""
    trees, features = trees_and_rows(3)
    monkeypatch.setattr("gradrank.export.formats.xgboost_json.with_missing_right", lambda tree: tree)
    with pytest.raises(GradrankError, match=r"if a missing feature takes the child `no`.*query shoes, document"):
        checked_export(trained(trees), None, tmp_path / "m.json", engine="opensearch@3.3", rows=[Rows(features)])
    (tmp_path / "m.json").write_text("earlier\n")
    with pytest.raises(GradrankError, match="if a missing feature takes"):
        checked_export(trained(trees), None, tmp_path / "m.json", engine="opensearch@3.3", rows=[Rows(features)])
    assert (tmp_path / "m.json").read_text() == "earlier\n" and len([*tmp_path.iterdir()]) == 1


def test_the_reader_follows_each_rule(tmp_path):
    trees, features = trees_and_rows(7)
    rounded = float32_trees(TreesForm(trees), None)
    checked_export(trained(trees), "xgboost-json", tmp_path / "m.json")
    reader = XGBoostJson().read(tmp_path / "m.json")
    assert isinstance(reader, XGBoostJsonReader)
    columns = [["a", "b", "c"].index(name) for name in reader.names]
    for rule in ("zero", "branch"):
        found = reader.scores_under(rule, features[:, columns], np.array([0, 200]))
        np.testing.assert_allclose(found, scores(rounded, features, rule), rtol=0, atol=1e-5)


def test_what_an_engine_does_not_read_is_refused(tmp_path):
    trees, _ = trees_and_rows(3)
    with pytest.raises(GradrankError, match=r"solr@9.2 does not read onnx. Fix: give one of its formats \(solr\)"):
        checked_export(trained(trees), "onnx", tmp_path / "m", engine="solr@9.2")
    with pytest.raises(GradrankError, match="--to: missing"):
        checked_export(trained(trees), None, tmp_path / "m")


def test_an_onnx_file_names_its_producer_its_features_and_its_data(tmp_path):
    onnx = pytest.importorskip("onnx")
    trees, _ = trees_and_rows(3)
    model = trained(trees)
    model.spec["data_sha256"] = "ab" * 32
    checked_export(model, "onnx", tmp_path / "m.onnx")
    read = onnx.load(tmp_path / "m.onnx")
    metadata = {entry.key: entry.value for entry in read.metadata_props}
    assert (read.producer_name, read.producer_version) == ("gradrank", gradrank.__version__)
    assert json.loads(metadata["feature_names"]) == ["a", "b", "c"] and metadata["data_sha256"] == "ab" * 32
