"""Fusion: what is added up, by definition, and that a job reads the right scores of the right members."""

import json
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata, zscore

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json
from gradrank.base.stamps import read_sealed, write_sealed, write_stamp
from gradrank.bench.folds.job import reproducible_files, train
from gradrank.data.collection import Collection
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from gradrank.models.fusion import comparable_scores as fusing
from gradrank.models.fusion import cross_validated_scores, learned_weights
from gradrank.models.fusion.comparable_scores import borda, reciprocal_rank, z_score
from gradrank.training.fold_folder import FoldFolder
from gradrank.training.registry import get_model
from gradrank.training.selection import measure
from gradrank.training.trained_fold import TrainedFold

MEMBERS = ("single_feature", "ranksvm")

# Few different values, so that ties are frequent.
scores_of_a_query = arrays(np.float64, st.integers(1, 12), elements=st.sampled_from([-3.0, 0.1, 0.25, 7.0]))
queries = st.lists(scores_of_a_query, min_size=1, max_size=4)


def joined(queries):
    return np.concatenate(queries), np.cumsum([0, *map(len, queries)])


@given(queries)
@settings(deadline=None)  # compiled at its first call
def test_z_score_is_scipys_and_zero_where_all_are_equal(queries):
    expected = [zscore(own) if np.ptp(own) > 0 else np.zeros(len(own)) for own in queries]
    np.testing.assert_allclose(z_score(*joined(queries)), np.concatenate(expected), atol=1e-12)


@given(queries, st.floats(0, 100))
@settings(deadline=None)
def test_points_of_ranks_are_made_of_scipys_average_rank(queries, k):
    ranks = [rankdata(-own, method="average") for own in queries]
    points = {
        "reciprocal_rank": [1 / (k + own) for own in ranks],
        "inverse_square_rank": [1 / own**2 for own in ranks],
        "borda": [len(own) + 1 - own for own in ranks],
    }
    for name, expected in points.items():
        given = getattr(fusing, name)(*joined(queries), *([k] if name == "reciprocal_rank" else []))
        np.testing.assert_allclose(given, np.concatenate(expected), rtol=1e-14)


@pytest.mark.parametrize("value", [0.1, 1e-300, -1e300])
def test_a_member_without_an_opinion_has_none(value):
    """The mean of seven 0.1 is not 0.1, and a deviation of 1e-300 squared is 0."""
    assert not z_score(np.full(7, value), np.array([0, 7])).any()
    np.testing.assert_allclose(z_score(np.array([0, value]), np.array([0, 2])), np.sign([-value, value]))


def drawn(seed=0, sizes=(10, 1, 19), models=3):
    """(n, m) scores with ties, and their queries' offsets."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(sum(sizes), models)).round(1).astype(np.float32), np.cumsum([0, *sizes])


def fitted(name, scores, labels, offsets, **params):
    """A fusion of `scores`, of a validation part with these labels; its training part has other ones."""
    qids = np.arange(len(offsets) - 1)
    vali = Collection(scores, np.asarray(labels, np.int32), np.asarray(offsets, np.int64), qids)
    train = Collection(-scores, vali.labels[::-1].copy(), vali.offsets, qids)
    cls = get_model(name)
    return cls.fit(train, vali, cls.Params(**params), 1, lambda step, **values: None)


EQUAL = {"combsum": z_score, "rrf": lambda scores, offsets: reciprocal_rank(scores, offsets, 5.0), "borda": borda}


@pytest.mark.parametrize("name", EQUAL)
def test_score_is_the_sum_over_models(name):
    scores, offsets = drawn()
    expected = sum(EQUAL[name](column.astype(np.float64), offsets) for column in scores.T)
    model = fitted(name, scores, np.arange(30) % 3, offsets, k=5.0)
    np.testing.assert_allclose(model.score(scores, offsets), expected, rtol=1e-12)


def test_isr_by_hand():
    scores, offsets = np.array([[3, 1], [2, 9], [1, 0]], np.float32), [0, 3]
    whole = fitted("isr", scores, [2, 1, 0], offsets).score(scores, np.array(offsets))
    np.testing.assert_allclose(whole, [2 * (1 + 1 / 4), 2 * (1 / 4 + 1), 2 * (1 / 9 + 1 / 9)])
    listed = fitted("isr", scores, [2, 1, 0], offsets, depth=1).score(scores, np.array(offsets))
    np.testing.assert_allclose(listed, [1, 1, 0])


def test_combmnz_counts_the_models_that_list_a_document():
    scores = np.array([[4, 2], [3, 0], [2, 4], [0, 1]], np.float32)
    model = fitted("combmnz", scores, [2, 1, 0, 0], [0, 4], depth=2)
    np.testing.assert_allclose(model.score(scores, np.array([0, 4])), [2 * 1.5, 0.75, 1.0, 0.0])


def planted(seed, weights, noise, sizes=(20,) * 40):
    """Models' scores, and grades by thirds of their weighted sum and noise."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(sum(sizes), len(weights))).astype(np.float32)
    value = scores @ weights + rng.normal(0, noise, len(scores))
    return scores, np.digitize(value, np.quantile(value, [1 / 3, 2 / 3])), np.cumsum([0, *sizes])


def test_a_planted_combination_is_learned():
    truth = np.array([1.0, 0.5, 0.0, -0.5])
    model = fitted("fusion", *planted(1, truth, 0.3))
    learned = model.weights / np.linalg.norm(model.weights)
    assert learned @ truth / np.linalg.norm(truth) > 0.98
    scores, labels, offsets = planted(2, truth, 0.3)
    equal = fitted("combsum", scores, labels, offsets)
    ndcg = [measure("ndcg@10", each.score(scores, offsets), labels, offsets) for each in (model, equal)]
    assert ndcg[0] > ndcg[1] + 0.1


def test_from_chance_alone_the_least_is_learned():
    """With thirty random models, the held-out cost selects the largest l2, the training cost the smallest."""
    told, grid = [], [100.0, 0.1, 1e-3]
    scores, labels, offsets = planted(3, np.zeros(30), 1.0, (12,) * 12)
    weak, strong = (fitted("fusion", scores, labels, offsets, l2=l2).weights for l2 in ([1e-3], [100.0]))
    np.testing.assert_allclose(fitted("fusion", scores, labels, offsets, l2=grid).weights, strong, rtol=1e-6)
    assert np.linalg.norm(weak) > 100 * np.linalg.norm(strong)
    vali = Collection(scores, labels.astype(np.int32), offsets, np.arange(12))
    learned_weights(vali, grid, 5, lambda step, **values: told.append((step, values)))
    assert [(step, values["l2"]) for step, values in told] == [(1, 100.0), (2, 0.1), (3, 1e-3)]
    costs = [values["vali_loss"] for _, values in told]
    assert costs[0] < costs[1] < costs[2]


def test_the_held_out_scores_of_a_query_do_not_know_its_labels():
    """The first half is scored by weights from the second half, so its scores do not depend on its labels."""
    scores, labels, offsets = planted(4, np.array([1.0, 0.0]), 0.5, (10,) * 8)
    vali = Collection(scores, labels.astype(np.int32), offsets, np.arange(8))
    even = np.repeat(np.arange(8) % 2 == 0, 10)
    others = replace(vali, labels=np.where(even, vali.labels[::-1], vali.labels))
    first, second = (cross_validated_scores(each, [1.0, 0.01], 2) for each in (vali, others))
    np.testing.assert_array_equal(first[:, even], second[:, even])
    assert (first[:, ~even] != second[:, ~even]).all()


def test_queries_without_an_order_count_in_the_validation_measures_only():
    """The validation value of learned weights is comparable with that of equal weights."""
    told = []
    scores, labels, offsets = planted(5, np.array([1.0, 0.5]), 0.5, (10,) * 8)
    empty = np.repeat(np.arange(8) % 4 == 1, 10)
    labels = np.where(empty, 0, labels).astype(np.int32)
    whole = Collection(scores, labels, offsets, np.arange(8))
    part = whole.select_queries(np.arange(8) % 4 != 1)
    first, second = (
        learned_weights(each, [1.0, 0.01], 3, lambda step, **values: told.append(values)) for each in (whole, part)
    )
    np.testing.assert_array_equal(first, second)
    for in_all, in_part in zip(told[:2], told[2:], strict=True):
        assert in_all["vali_loss"] == in_part["vali_loss"]
        assert in_all["vali_map"] == pytest.approx(in_part["vali_map"] * 6 / 8)


def test_too_few_queries_with_an_order_leave_the_weights_equal():
    scores, offsets = drawn()
    assert (fitted("fusion", scores, np.r_[np.arange(10), np.zeros(20)], offsets).weights == 1).all()


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A small artificial collection with both members trained on fold 2, their sum, and their learned fusion."""
    folder = tmp_path_factory.mktemp("study")
    generate("net", 20, 10, 1, folder / "raw")
    trained(folder)
    return folder


def trained(folder):
    data = folder / "synthetic_net"
    parse(folder / "raw", data, seed=1, dataset="synthetic_net")
    for member in MEMBERS:
        train(member, data, 2, {}, 7, folder / "results/methods" / member / "fold2")
    for name in ("combsum", "fusion"):
        fuse(folder, name, model=name)


def fuse(folder, out, members="results", model="combsum", **changes):
    values = {"models": list(MEMBERS)} | changes
    where = folder / members if members else None
    train(model, folder / "synthetic_net", 2, values, 7, folder / "results/methods" / out / "fold2", None, where)


def test_a_fused_score_adds_the_members_scores_of_that_document(study):
    columns = [pl.read_parquet(study / "results/methods" / name / "fold2/scores.parquet") for name in MEMBERS]
    fused = pl.read_parquet(study / "results/methods/combsum/fold2/scores.parquet")
    assert fused["split"].equals(columns[0]["split"])
    for split, queries in (("train", 12), ("vali", 4), ("test", 4)):
        offsets = np.arange(0, 10 * queries + 1, 10)
        own = [column.filter(split=split)["score"].to_numpy() for column in columns]
        expected = sum(z_score(scores.astype(np.float32).astype(np.float64), offsets) for scores in own)
        np.testing.assert_allclose(fused.filter(split=split)["score"], expected, rtol=1e-12)


def test_a_trained_fusion_ranks_new_data_without_the_study(study, tmp_path):
    """A downloaded fold contains its members."""
    shutil.copytree(study / "results/methods/fusion/fold2", tmp_path / "downloaded")
    frame = pl.read_parquet(study / "synthetic_net/part1.parquet")  # the test part of fold 2
    features = frame.select(f"f{i}" for i in range(1, 51)).to_numpy()
    scores = TrainedFold.load(tmp_path / "downloaded").score(features, np.arange(0, len(frame) + 1, 10))
    stored = pl.read_parquet(study / "results/methods/fusion/fold2/scores.parquet").filter(split="test")["score"]
    np.testing.assert_array_equal(scores, stored)


def test_a_member_that_is_not_trained_is_an_error_with_the_command(study):
    command = r"gradrank train --model lambdamart --data \S+ --fold 2 --seed 7 --out \S*lambdamart/fold2"
    with pytest.raises(GradrankError, match=f"lambdamart/fold2.*{command}"):
        fuse(study, "other", models=["ranksvm", "lambdamart"])
    with pytest.raises(GradrankError, match="--members results/synthetic_net"):
        fuse(study, "other", members=None)
    assert not (study / "results/methods/other").exists()


@pytest.mark.parametrize(("key", "value"), [("data_sha256", "0" * 64), ("fold", 3), ("model", "prank")])
def test_a_member_of_another_job_is_refused(study, tmp_path, key, value):
    shutil.copytree(study, tmp_path / "study")
    path = tmp_path / "study/results/methods/ranksvm/fold2/spec.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(GradrankError, match=rf"ranksvm/fold2.*{key}.*{value}"):
        fuse(tmp_path / "study", "other")


def test_members_are_of_the_jobs_own_seed_where_they_have_several(study, tmp_path):
    """The first member has two seeds, the second one has one. A seed folder with other parameters is ignored."""
    shutil.copytree(study, tmp_path / "study")
    results = tmp_path / "study/results"
    further = results / "methods" / MEMBERS[0] / "fold2/seed7"
    shutil.copytree(results / "methods" / MEMBERS[0] / "fold2", tmp_path / "own")
    shutil.copytree(tmp_path / "own", further)
    first = results / "methods" / MEMBERS[0] / "fold2/spec.json"
    write_sealed(first, read_sealed(first) | {"seed": 3})  # a seed that is not that of the job

    def read() -> str:
        fuse(tmp_path / "study", "again")
        return read_json(results / "methods/again/fold2/model/members/1/spec.json")["seed"]

    assert read() == 7
    write_sealed(further / "spec.json", read_sealed(further / "spec.json") | {"params": {"old": 1}})
    assert read() == 3
    shutil.rmtree(further)
    assert read() == 3


def test_scores_of_another_length_are_refused(study, tmp_path):
    shutil.copytree(study, tmp_path / "study")
    path = tmp_path / "study/results/methods/ranksvm/fold2/scores.parquet"
    pl.read_parquet(path)[:-1].write_parquet(path)
    with pytest.raises(GradrankError, match=r"scores\.parquet"):
        fuse(tmp_path / "study", "other")
    fold = FoldFolder(path.parent)
    write_stamp(fold.spec_path, read_sealed(fold.spec_path), reproducible_files(fold))
    with pytest.raises(GradrankError, match=r"ranksvm/fold2.*39.*40"):
        fuse(tmp_path / "study", "other")
