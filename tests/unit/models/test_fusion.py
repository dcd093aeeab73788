"""Fusion: what is added up, by definition, and that a job reads the right scores of the right members."""

import json
import shutil

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata, zscore

from gradrank.data.parse import parse
from gradrank.data.synthetic import generate
from gradrank.errors import GradrankError
from gradrank.files import read_json, sha256, write_json
from gradrank.learning.fusing import reciprocal_rank, z_score
from gradrank.learning.job import train
from gradrank.learning.model import models
from gradrank.models.fusion import Fusion, FusionParams
from gradrank.pipeline import params
from gradrank.predict import Ranker

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
def test_reciprocal_rank_is_scipys_average_rank(queries, k):
    expected = [1 / (k + rankdata(-own, method="average")) for own in queries]
    np.testing.assert_allclose(reciprocal_rank(*joined(queries), k), np.concatenate(expected), rtol=1e-14)


@given(queries, st.floats(0.01, 1e6), st.floats(-100, 100))
@settings(deadline=None)
def test_a_members_scale_does_not_matter(queries, factor, shift):
    scores, offsets = joined(queries)
    np.testing.assert_allclose(z_score(factor * scores + shift, offsets), z_score(scores, offsets), atol=1e-6)


@pytest.mark.parametrize("value", [0.1, 1e-300, -1e300])
def test_a_member_without_an_opinion_has_none(value):
    """The mean of seven 0.1 is not 0.1, and a deviation of 1e-300 squared is 0."""
    assert not z_score(np.full(7, value), np.array([0, 7])).any()
    np.testing.assert_allclose(z_score(np.array([0, value]), np.array([0, 2])), np.sign([-value, value]))


@pytest.mark.parametrize("method", ["combsum", "rrf"])
def test_score_is_the_sum_over_members(method):
    rng = np.random.default_rng(0)
    features, offsets = rng.normal(size=(30, 3)).astype(np.float32), np.array([0, 10, 11, 30])
    each = {"combsum": z_score, "rrf": lambda scores, offsets: reciprocal_rank(scores, offsets, 5.0)}[method]
    expected = sum(each(features[:, m].astype(np.float64), offsets) for m in range(3))
    model = Fusion(FusionParams(method=method, k=5.0))
    np.testing.assert_allclose(model.score(features, offsets), expected, rtol=1e-12)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A small artificial collection with both members trained on fold 2, and their fusion."""
    folder = tmp_path_factory.mktemp("study")
    generate("net", 20, 10, 1, folder / "raw")
    data = folder / "synthetic_net"
    parse(folder / "raw", data, seed=1, dataset="synthetic_net")
    for member in MEMBERS:
        train(member, data, 2, {}, 7, folder / "results" / member / "fold2")
    fuse(folder, "fusion")
    return folder


def fuse(folder, out, members="results", **changes):
    values = {"models": list(MEMBERS)} | changes
    where = folder / members if members else None
    train(
        "fusion",
        folder / "synthetic_net",
        2,
        values,
        7,
        folder / "results" / out / "fold2",
        None,
        where,
    )


def test_a_fused_score_adds_the_members_scores_of_that_document(study):
    columns = [pl.read_parquet(study / "results" / name / "fold2/scores.parquet") for name in MEMBERS]
    fused = pl.read_parquet(study / "results/fusion/fold2/scores.parquet")
    assert fused["split"].equals(columns[0]["split"])
    for split, queries in (("train", 12), ("vali", 4), ("test", 4)):
        offsets = np.arange(0, 10 * queries + 1, 10)
        own = [column.filter(split=split)["score"].to_numpy() for column in columns]
        expected = sum(z_score(scores.astype(np.float32).astype(np.float64), offsets) for scores in own)
        np.testing.assert_allclose(fused.filter(split=split)["score"], expected, rtol=1e-12)


def test_a_trained_fusion_ranks_new_data_without_the_study(study, tmp_path):
    """What a user downloads is the fold alone; its members came along."""
    shutil.copytree(study / "results/fusion/fold2", tmp_path / "downloaded")
    frame = pl.read_parquet(study / "synthetic_net/part1.parquet")  # the test part of fold 2
    features = frame.select(f"f{i}" for i in range(1, 51)).to_numpy()
    scores = Ranker.load(tmp_path / "downloaded").score(features, np.arange(0, len(frame) + 1, 10))
    stored = pl.read_parquet(study / "results/fusion/fold2/scores.parquet").filter(split="test")["score"]
    np.testing.assert_array_equal(scores, stored)


def test_a_member_that_is_not_trained_is_an_error_with_the_command(study):
    command = r"gradrank train --model lambdamart --data \S+ --fold 2 --seed 7 --out \S*lambdamart/fold2"
    with pytest.raises(GradrankError, match=f"lambdamart/fold2: .* not trained; first run: {command}"):
        fuse(study, "other", models=["ranksvm", "lambdamart"])
    with pytest.raises(GradrankError, match="--members results/synthetic_net"):
        fuse(study, "other", members=None)
    assert not (study / "results/other").exists()


@pytest.mark.parametrize(("key", "value"), [("data_sha256", "0" * 64), ("fold", 3), ("model", "prank")])
def test_a_member_of_another_job_is_refused(study, tmp_path, key, value):
    shutil.copytree(study, tmp_path / "study")
    path = tmp_path / "study/results/ranksvm/fold2/spec.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(GradrankError, match=rf"ranksvm/fold2: its {key} is '?{value}'?, expected"):
        fuse(tmp_path / "study", "other")


def test_members_are_of_the_jobs_own_seed_where_they_have_several(study, tmp_path):
    """One member has two seeds, chance plays no part in the other; a seed's folder of old parameters is none."""
    shutil.copytree(study, tmp_path / "study")
    results = tmp_path / "study/results"
    further = results / MEMBERS[0] / "fold2/seed7"
    shutil.copytree(results / MEMBERS[0] / "fold2", tmp_path / "own")
    shutil.copytree(tmp_path / "own", further)
    first = results / MEMBERS[0] / "fold2/spec.json"
    write_json(first, read_json(first) | {"seed": 3})  # so the first seed is another than the job's

    def read() -> str:
        fuse(tmp_path / "study", "again")
        return read_json(results / "again/fold2/model/members/1/spec.json")["seed"]

    assert read() == 7
    write_json(further / "spec.json", read_json(further / "spec.json") | {"params": {"old": 1}})
    assert read() == 3
    shutil.rmtree(further)
    assert read() == 3


def test_scores_of_another_length_are_refused(study, tmp_path):
    shutil.copytree(study, tmp_path / "study")
    path = tmp_path / "study/results/ranksvm/fold2/scores.parquet"
    pl.read_parquet(path)[:-1].write_parquet(path)
    with pytest.raises(GradrankError, match=r"scores.parquet: not the file that .*spec.json names"):
        fuse(tmp_path / "study", "other")
    spec = read_json(path.with_name("spec.json"))
    spec["files"]["scores.parquet"] = sha256(path)
    write_json(path.with_name("spec.json"), spec)
    with pytest.raises(GradrankError, match="39 scores of the test part, which has 40"):
        fuse(tmp_path / "study", "other")


def checked(listed, members):
    return params.check(
        {
            "seed": 1,
            "run": {"datasets": ["mq2007"], "models": listed},
            "datasets": {
                name: {"queries": 10, "documents": 10} for name in ("synthetic_net", "synthetic_poly")
            },
            "models": {"fusion": {"models": members}},
            "evaluation": {"metrics": ["map"]},
        }
    )


def test_a_study_with_fusion_names_its_members():
    assert checked(["fusion", *MEMBERS], list(MEMBERS)).members("fusion") == MEMBERS
    assert checked(list(MEMBERS), ["lambdamart", "xendcg"]).model_names() == sorted(MEMBERS)
    assert "fusion" in checked("all", list(FusionParams().models)).model_names()


@pytest.mark.parametrize(
    ("members", "said"),
    [
        (["ranksvm", "ranksvn"], "unknown model 'ranksvn'.*did you mean 'ranksvm"),
        (["ranksvm", "fusion"], "cannot be made of its own scores"),
    ],
)
def test_members_that_cannot_be_are_faults(members, said):
    with pytest.raises(GradrankError, match=f"models.fusion: .*{said}"):
        checked(["fusion", *MEMBERS], members)


def test_every_default_member_is_a_model_of_a_plain_install():
    assert all(not models()[name].requires for name in FusionParams().models)


def test_a_member_that_is_not_installed_is_a_fault(monkeypatch):
    monkeypatch.setattr(params, "missing_packages", lambda cls: ["trees"] * (cls.name == "lambdamart"))
    with pytest.raises(GradrankError, match="scores of 'lambdamart', which needs trees: install it"):
        checked(["fusion", "ranksvm"], ["ranksvm", "lambdamart"])
