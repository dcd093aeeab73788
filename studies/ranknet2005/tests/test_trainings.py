"""The jobs that train the methods of the 2005 study again: their results equal those of a direct fit."""

import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.stored import StoredCollection
from gradrank.measures.metrics import compute
from gradrank.training.registry import get_model
from gradrank.training.seeds import job_seed
from made_trainings import FOLDS, make_collection
from studies.ranknet2005.trainings import METRIC, kept_step, some_queries, train_again

LINEAR = {"model": "ranknet_2005_linear", "params": {"epochs": 4, "select_by": "ndcg@15", "updates": "query"}}
SETTINGS = {"dataset": "toy", "method": "one", "seed": 2, "queries": None} | LINEAR


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parquet")
    make_collection(folder / "toy")
    return folder


def test_a_job_finds_the_values_of_a_fit_with_its_seed(data):
    found = train_again(SETTINGS, data, 7)
    assert [found[key] for key in ("dataset", "method", "seed", "queries")] == ["toy", "one", 2, None]
    cls, number = get_model(LINEAR["model"]), 3
    parts = {split: StoredCollection.open(data / "toy").read(own) for split, own in FOLDS[number - 1].items()}
    history = []
    seed = job_seed(7, "toy/seed2", cls.name, number)
    fitted = cls.fit(
        parts["train"], parts["vali"], cls.Params(**LINEAR["params"]), seed, lambda step, **v: history.append(v)
    )
    fold = found["folds"][number - 1]
    for split, part in parts.items():
        scores = fitted.score(part.features, part.offsets)
        values = compute([METRIC], scores, part.labels, part.offsets, "standard")[METRIC]
        assert fold[split]["qids"] == part.qids.tolist()
        np.testing.assert_allclose(fold[split]["values"], values, atol=1e-6)
    assert fold["kept"] == kept_step(history, "ndcg@15") and fold["documents"] == parts["train"].rows


def test_fewer_queries_are_drawn_per_seed_and_equal_for_all_methods(data):
    found = {
        (model, seed): train_again(SETTINGS | {"model": model, "seed": seed, "queries": 4, "params": params}, data, 7)
        for model, params in (("prank", {"epochs": 2}), (LINEAR["model"], LINEAR["params"]))
        for seed in (1, 2)
    }
    drawn = {key: [fold["train"]["qids"] for fold in job["folds"]] for key, job in found.items()}
    assert drawn["prank", 1] == drawn[LINEAR["model"], 1] != drawn["prank", 2]
    assert {len(qids) for own in drawn.values() for qids in own} == {4}


def test_some_queries_keep_their_documents_and_the_order(data):
    whole = StoredCollection.open(data / "toy").read([1, 2, 3])
    some = some_queries(whole, 5, seed=3)
    assert some.queries == 5 and np.all(np.diff(np.searchsorted(whole.qids, some.qids)) > 0)
    for query, qid in enumerate(some.qids):
        (place,) = np.flatnonzero(whole.qids == qid)
        np.testing.assert_array_equal(
            some.features[some.offsets[query] : some.offsets[query + 1]],
            whole.features[whole.offsets[place] : whole.offsets[place + 1]],
        )
    assert some_queries(whole, 10**6, seed=3).rows == whole.rows


def test_the_kept_step_is_the_first_best_one_and_holds_its_epoch():
    steps = [{"vali_map": value} for value in (0.1, 0.3, 0.3, 0.2)]
    assert kept_step(steps, "map") == {"vali_map": 0.3, "epoch": 2, "epochs": 4}
    several = [
        {"vali_map": value, "members": n, "epoch": epoch}
        for (epoch, n), value in zip([(1, 10), (1, 30), (2, 10), (2, 30)], (0.1, 0.2, 0.4, 0.3), strict=True)
    ]
    assert kept_step(several, "map") == {"vali_map": 0.4, "members": 10, "epoch": 2, "epochs": 2}


def test_a_job_reads_no_test_part_before_it_has_fitted(data, monkeypatch):
    cls = get_model("prank")

    def peeking(*arguments):
        return (data / "toy/part5.parquet").open("rb")

    monkeypatch.setattr(cls, "fit", peeking)
    with pytest.raises(GradrankError, match=r"prank: .*part\d\.parquet"):
        train_again(SETTINGS | {"model": "prank", "params": {}}, data, 7)
