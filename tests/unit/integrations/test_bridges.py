"""Bridges to other packages, with the real packages where they are installed."""

import numpy as np
import pytest

import gradrank
from gradrank import Ranker
from gradrank.base.errors import GradrankError

Y, SCORES, QID = [2, 0, 1, 0, 1, 0], [0.1, 0.9, 0.5, 0.3, 0.2, 0.1], ["a", "a", "a", "b", "b", "b"]
DOCID = ["x", "y", "z", "x", "y", "z"]
VALUES = gradrank.evaluate(Y, SCORES, qid=QID, metrics=["map", "ndcg@10"], convention="trec").means["mean"].to_list()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return X, np.clip(np.round(X[:, 0] + 1), 0, 4).astype(int), np.repeat(np.arange(20), 10)


def test_ranx_evaluates_what_gradrank_gives_and_gives_it_back():
    ranx = pytest.importorskip("ranx")
    from gradrank.integrations.ranx import from_ranx, to_ranx

    qrels, run = to_ranx(Y, SCORES, qid=QID, docid=DOCID, name="ours")
    assert isinstance(qrels, ranx.Qrels) and run.name == "ours"
    assert qrels.to_dict()["a"] == {"x": 2, "y": 0, "z": 1}
    assert from_ranx(run).sort("query_id", "doc_id")["score"].to_list() == SCORES
    assert from_ranx(qrels).sort("query_id", "doc_id")["relevance"].to_list() == Y
    with pytest.raises(ValueError, match="Fix:"):
        from_ranx(3)


def test_ir_measures_has_the_values_of_gradrank():
    ir_measures = pytest.importorskip("ir_measures")
    from gradrank.integrations.ir_measures import to_ir_measures

    qrels, run = to_ir_measures(Y, SCORES, qid=QID, docid=DOCID)
    found = ir_measures.calc_aggregate([ir_measures.AP, ir_measures.nDCG @ 10], qrels, run)
    assert [found[ir_measures.AP], found[ir_measures.nDCG @ 10]] == pytest.approx(VALUES, abs=1e-12)
    assert gradrank.evaluate(qrels, run, metrics=[ir_measures.AP], convention="trec").means["mean"][0] == VALUES[0]


def test_a_metric_of_gradrank_is_a_measure_of_ir_measures():
    ir_measures = pytest.importorskip("ir_measures")
    from gradrank.integrations.ir_measures import measure, to_ir_measures

    data = to_ir_measures(Y, SCORES, qid=QID, docid=DOCID)
    given = [("err@2", "standard"), ("pairwise accuracy", "trec"), ("mrr", "standard_expected")]
    measures = [measure(*each) for each in given]
    found = ir_measures.calc_aggregate([*measures, ir_measures.nDCG @ 10], *data)
    for (name, convention), each in zip(given, measures, strict=True):
        ours = gradrank.evaluate(Y, SCORES, qid=QID, docid=DOCID, metrics=name, convention=convention)
        assert found[each] == pytest.approx(ours.means["mean"][0], rel=1e-12)
        per_query = {value.query_id: value.value for value in ir_measures.iter_calc([each], *data)}
        assert per_query == pytest.approx(dict(ours.per_query.iter_rows()), rel=1e-12)
    assert str(measures[0]) == "ERR@2 (standard)"
    with pytest.raises(GradrankError, match="unknown metric"):
        measure("nothing")


def test_pyterrier_trains_a_ranker_and_ranks_with_it(data):
    pt = pytest.importorskip("pyterrier")
    pandas = pytest.importorskip("pandas")
    from gradrank.integrations.pyterrier import PyTerrierRanker

    X, y, qid = data
    rows = pandas.DataFrame(
        {"qid": [f"q{query:02}" for query in qid], "docno": [f"d{row}" for row in range(200)], "features": list(X)}
    ).assign(query="text", score=0.0, rank=0)
    qrels = rows[["qid", "docno"]].assign(label=y)
    train, vali = rows[:150], rows[150:]
    learned = pt.ltr.apply_learned_model(PyTerrierRanker(Ranker("regression", random_state=1)), form="ltr")
    learned.fit(train, qrels, vali, qrels)
    own = Ranker("regression", random_state=1).fit(
        X[:150], y[:150], qid=qid[:150], eval_set=(X[150:], y[150:], qid[150:])
    )
    assert learned(vali).set_index("docno")["score"][vali["docno"]].to_list() == own.predict(X[150:]).tolist()


def test_groups_are_query_ids_without_pyterrier(data):
    from gradrank.integrations.pyterrier import PyTerrierRanker

    X, y, qid = data
    ranker = PyTerrierRanker(Ranker("regression", random_state=1)).fit(X, y, group=[10] * 20)
    assert np.array_equal(ranker.predict(X), Ranker("regression", random_state=1).fit(X, y, qid=qid).predict(X))


class Middle:
    """A trial that suggests the lower bound or the first choice."""

    def suggest_float(self, name, low, high, log):
        return low

    def suggest_int(self, name, low, high):
        return low

    def suggest_categorical(self, name, choices):
        return choices[0]


@pytest.mark.parametrize("method", ["lambdamart", "regression", "listnet", "ranksvm"])
def test_suggested_parameters_are_parameters_of_the_method(method, data):
    from gradrank.integrations.optuna import suggest

    drawn = suggest(Middle(), method)
    assert drawn.keys() == gradrank.search_space(method).keys()
    assert drawn.items() <= Ranker(method, **drawn).get_params().items()


def test_optuna_finds_parameters_in_the_search_space(data):
    optuna = pytest.importorskip("optuna")
    from gradrank.integrations.optuna import suggest

    X, y, qid = data

    def objective(trial):
        ranker = Ranker("regression", random_state=1, **suggest(trial, "regression"))
        return ranker.fit(X[:150], y[:150], qid=qid[:150]).score(X[150:], y[150:], qid=qid[150:])

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=3)
    space = gradrank.search_space("regression")["l2"]
    assert space.low <= study.best_params["l2"] <= space.high and study.best_value > 0.8


def test_mlflow_shows_the_parameters_and_the_curve(data, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    mlflow = pytest.importorskip("mlflow")
    from gradrank.integrations.mlflow import log_ranker

    X, y, qid = data
    ranker = Ranker("lambdamart", random_state=1, rounds=3).fit(X, y, qid=qid)
    experiment = mlflow.create_experiment("bridges", artifact_location=tmp_path.as_uri())
    with mlflow.start_run(experiment_id=experiment) as run:
        log_ranker(ranker)
    assert mlflow.get_run(run.info.run_id).data.params["rounds"] == "3"
    curve = mlflow.MlflowClient().get_metric_history(run.info.run_id, "vali_ndcg_at_10")
    assert [each.value for each in curve] == ranker.history_["vali_ndcg@10"].to_list()
