"""Constraints by feature name: from params.yaml, in a training job on a table, and in `Ranker`."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from sklearn.base import clone

import gradrank
from gradrank.base.errors import GradrankError
from gradrank.bench.config.params import check
from gradrank.bench.folds.job import train
from gradrank.bench.provenance.records import dataset_settings, short_digest
from gradrank.data.parse import parse
from gradrank.training.fold_folder import FoldFolder
from gradrank.training.trained_fold import TrainedFold

SHIPPED = yaml.safe_load((Path(__file__).parents[3] / "params.yaml").read_text())
CONSTRAINED = {"monotone": {"price": -1, 2: 1}, "interactions": [["price", 2], ["age"]]}
QUICK = {"rounds": 20, "min_data_in_leaf": 5}


def table(columns=("price", "stock", "age")):
    """Return 60 queries of 10 documents whose grades rise with the first feature."""
    rng = np.random.default_rng(0)
    features = rng.uniform(size=(600, 3))
    grades = np.digitize(features @ [1.0, -0.5, 0.3] + rng.normal(0, 0.1, 600), [0.2, 0.5])
    frame = pl.DataFrame(features, schema=list(columns))
    return frame.with_columns(qid=np.repeat(np.arange(60), 10), label=grades)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    table().write_csv(folder / "shop.csv")
    parse(folder / "shop.csv", folder / "shop", seed=1, dataset="shop")
    return folder / "shop"


def scores_by_price(score):
    """Return the scores of five documents while their price rises."""
    documents = table().head(5).select("price", "stock", "age").to_numpy().astype(np.float32)
    prices = np.linspace(0, 1, 41)
    swept = np.repeat(documents[:, None], len(prices), axis=1)
    swept[:, :, 0] = prices
    return score(swept.reshape(-1, 3)).reshape(5, -1)


def test_a_training_job_reads_the_names_of_the_table(stored, tmp_path):
    train("lambdamart", stored, 1, QUICK | CONSTRAINED, 7, tmp_path / "fold1")
    spec = FoldFolder(tmp_path / "fold1").spec()
    assert spec["params"]["monotone"] == {"price": -1, "2": 1}
    assert spec["params"]["interactions"] == [["price", "2"], ["age"]]
    fold = TrainedFold.load(tmp_path / "fold1")
    assert (np.diff(scores_by_price(lambda rows: fold.score(rows, np.array([0, len(rows)])))) <= 0).all()
    with pytest.raises(GradrankError, match=r"unknown feature 'cost' \(valid: age, price, stock\)"):
        train("lambdamart", stored, 1, {"monotone": {"cost": -1}}, 7, tmp_path / "fold2")
    assert not (tmp_path / "fold2").exists()


def test_a_ranker_reads_the_names_of_a_frame(tmp_path):
    data = table()
    ranker = gradrank.Ranker(random_state=1, **QUICK, **CONSTRAINED)
    X, y, qid = data.select("price", "stock", "age"), data["label"], data["qid"]
    ranker.fit(X, y, qid=qid)
    ranker.save(tmp_path / "ranker")
    loaded = gradrank.load(tmp_path / "ranker")
    for each in (ranker, loaded, clone(loaded).fit(X, y, qid=qid)):
        assert np.array_equal(each.predict(X), ranker.predict(X))
    assert (np.diff(scores_by_price(lambda rows: ranker.predict(pl.DataFrame(rows, schema=X.columns)))) <= 0).all()
    with pytest.raises(GradrankError, match="the features of these data have no names"):
        ranker.fit(X.to_numpy(), y, qid=qid)


def test_digits_are_names_if_a_feature_has_such_a_name():
    data, qid = table(("1", "0", "2")), np.repeat(np.arange(60), 10)
    X = data.select("1", "0", "2")
    ranker = gradrank.Ranker(random_state=1, monotone={"0": -1}, **QUICK).fit(X, data["label"], qid=qid)
    by_number = gradrank.Ranker(random_state=1, monotone={2: -1}, **QUICK).fit(X.to_numpy(), data["label"], qid=qid)
    assert np.array_equal(ranker.predict(X), by_number.predict(X.to_numpy()))
    with pytest.raises(GradrankError, match="unknown feature '3'"):
        gradrank.Ranker(monotone={3: 1}, **QUICK).fit(X, data["label"], qid=qid)


def test_params_yaml_takes_constraints_and_a_model_without_them_keeps_its_digest():
    own = {"datasets": ["mq2007"], "models": ["lambdamart", "priced"]}
    models = {"lambdamart": {"rounds": 9}, "priced": {"model": "lambdamart", **CONSTRAINED}}
    settings = check(SHIPPED | {"models": models, "run": own, "studies": {}})
    recorded = dataset_settings(settings, "mq2007")["models"]
    assert recorded["priced"]["params"] == {
        "monotone": {"price": -1, "2": 1},
        "interactions": [["price", "2"], ["age"]],
    }
    plain = settings.models["lambdamart"].params
    assert {"monotone", "interactions"}.isdisjoint(plain)
    assert recorded["lambdamart"]["digest"] == short_digest({"model": "lambdamart", "params": {"rounds": 9}})


def test_params_yaml_names_the_models_that_take_a_constraint():
    own = {"datasets": ["mq2007"], "models": ["ranksvm"]}
    with pytest.raises(
        GradrankError, match=r"models\.ranksvm\.monotone: unknown key \(a parameter of .*dart, .*mart, "
    ):
        check(SHIPPED | {"models": {"ranksvm": {"monotone": {3: 1}}}, "run": own, "studies": {}})


def test_a_ranker_names_the_methods_that_take_a_constraint():
    with pytest.raises(GradrankError, match=r"monotone: lambdarank has no such parameter \(a parameter of .*dart, "):
        gradrank.Ranker("lambdarank", monotone={"price": -1}).fit([[1.0], [2.0]], [0, 1], qid=[1, 1])
