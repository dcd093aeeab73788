"""Values that depend on the order of equal scores: every function and command that shows a value notes them."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold
from typer.testing import CliRunner

import gradrank
from gradrank import Ranker, TiedScoresWarning, compare, evaluate, explain_convention
from gradrank.bench.cli import app
from gradrank.measures.conventions import PROGRAMS
from gradrank.measures.metrics import METRICS, find
from registered_metrics import metric_names

Y, QID = np.tile([2, 1, 0, 0], 20), np.repeat(np.arange(20), 4)  # rows sorted by grade
CONSTANT, ORDERED = np.zeros(80), np.random.default_rng(0).permutation(80) * 1.0
X = np.c_[ORDERED, CONSTANT]


@pytest.fixture(scope="module")
def constant_model():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Ranker("regression", random_state=1).fit(np.zeros((80, 2)), Y, qid=QID)


@pytest.fixture(scope="module")
def files(tmp_path_factory, constant_model) -> Path:
    """Data, scores and models whose names are `constant` and `ordered`."""
    folder = tmp_path_factory.mktemp("files")
    rows = zip(Y, QID, ORDERED, strict=True)
    (folder / "data.txt").write_text("".join(f"{y} qid:{qid + 1} 1:{x:g} 2:0\n" for y, qid, x in rows))
    for name, scores in (("constant", CONSTANT), ("ordered", ORDERED)):
        (folder / f"{name}.txt").write_text("".join(f"{score}\n" for score in scores))
    (folder / "random.txt").write_text("".join(f"{score}\n" for score in -ORDERED))
    constant_model.save(folder / "constant")
    Ranker("regression", random_state=1).fit(X, Y, qid=QID).save(folder / "ordered")
    return folder


PYTHON = {
    "evaluate": lambda scores, model: evaluate(Y, scores, qid=QID),
    "compare": lambda scores, model: compare({"one": scores, "two": -ORDERED}, Y, qid=QID),
    "explain_convention": lambda scores, model: explain_convention(Y, scores, qid=QID),
    "importance": lambda scores, model: model.importance(X, Y, qid=QID),
}
COMMANDS = {
    "evaluate": ["evaluate", "--scores", "NAME.txt", "--data", "data.txt"],
    "metrics": ["evaluate", "--scores", "NAME.txt", "--data", "data.txt", "--metrics", "map", "--convention", "trec"],
    "compare": ["compare", "NAME.txt", "random.txt", "--data", "data.txt", "--convention", "standard", "--latex"],
    "importance": ["importance", "NAME", "data.txt"],
}


@pytest.mark.parametrize("shown", PYTHON)
def test_every_function_warns_and_shows_the_value_in_expectation(shown, constant_model, files):
    with pytest.warns(TiedScoresWarning, match="in expectation") as caught:
        result = PYTHON[shown](CONSTANT, constant_model)
    assert caught[0].filename == __file__
    assert "in expectation" in repr(result) and "in expectation" in result.to_latex()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "equal scores" not in repr(PYTHON[shown](ORDERED, gradrank.load(files / "ordered")))


@pytest.mark.parametrize("shown", COMMANDS)
def test_every_command_shows_the_value_in_expectation(shown, files, monkeypatch):
    monkeypatch.chdir(files)
    outputs = [
        CliRunner().invoke(app, [word.replace("NAME", name) for word in COMMANDS[shown]])
        for name in ("constant", "ordered")
    ]
    assert [done.exit_code for done in outputs] == [0, 0]
    assert ["in expectation" in " ".join(done.output.split()) for done in outputs] == [True, False]
    assert "TiedScoresWarning" not in outputs[0].output


def test_predictions_without_any_order_are_noted(files, monkeypatch):
    monkeypatch.chdir(files)
    outputs = [
        CliRunner().invoke(app, ["predict", "--model", name, "--input", "data.txt"]) for name in ("constant", "ordered")
    ]
    assert ["same score" in done.stderr for done in outputs] == [True, False]
    assert len(outputs[0].stdout.splitlines()) == 80


def test_a_model_without_any_order_wins_no_search(constant_model):
    """The rows are sorted by grade, so a constant score has NDCG@10 = 1 in the order of the rows."""
    assert constant_model.score(X, Y, qid=QID) == pytest.approx(
        evaluate(Y, CONSTANT, qid=QID, convention="standard_expected").means["mean"][0]
    )
    assert constant_model.set_params(convention="trec").score(X, Y, qid=QID) < 1
    constant_model.set_params(convention="standard")
    features = (Y + np.random.default_rng(1).normal(size=80))[:, None]
    grid = {"min_data_in_leaf": [1, 80], "rounds": [5]}
    with sklearn.config_context(enable_metadata_routing=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", gradrank.DegenerateModelWarning)
        search = GridSearchCV(Ranker("mart", random_state=1), grid, cv=GroupKFold(3))
        search.fit(features, Y, groups=QID, qid=QID)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["min_data_in_leaf"] == 1


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_note_has_exactly_the_values_that_depend_on_the_order(program):
    """Half the scores are ties, between equal and different grades, also below rank 3."""
    rng = np.random.default_rng(0)
    y, scores, qid = rng.integers(0, 3, 200), rng.integers(0, 6, 200) / 2, np.repeat(np.arange(40), 5)
    names = [name for name in metric_names(METRICS) if find(name)[0].has_expectation]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiedScoresWarning)
        found = evaluate(y, scores, qid=qid, metrics=names, convention=program)
    expected = evaluate(y, scores, qid=qid, metrics=names, convention=f"{program}_expected")
    assert not expected.tied and found.tied
    for name in names:
        gaps = found.per_query[name].fill_null(0) - expected.per_query[name].fill_null(0)
        count = int((gaps.abs() > 1e-9).sum())
        assert (found.tied[name].queries if name in found.tied else 0) == count
        if count:
            assert found.tied[name].mean == pytest.approx(found.per_query[name].mean())
            assert found.tied[name].expected == pytest.approx(expected.per_query[name].mean())


UNAFFECTED = {
    "equal grades": ([1, 1, 0, 0], [2, 2, 1, 1], [1, 1, 1, 1], "ndcg@10"),
    "one document per query": ([1, 0, 1], [0, 0, 0], [1, 2, 3], "ndcg@10"),
    "below the cut-off": ([2, 0, 1, 0], [3, 2, 1, 1], [1, 1, 1, 1], "ndcg@2"),
    "grades that the metric does not distinguish": ([2, 1, 0], [1, 1, 0], [1, 1, 1], "map"),
    "irrelevant only": ([0, 0, 0], [1, 1, 1], [1, 1, 1], "ndcg@10"),
    "nearly equal": ([1, 0], [1.0, 1.0 + 1e-12], [1, 1], "ndcg@10"),
}
AFFECTED = {
    "at the cut-off": ([0, 1, 0], [2, 1, 1], [1, 1, 1], "ndcg@2", "standard"),
    "negative zero": ([1, 0], [0.0, -0.0], [1, 1], "ndcg@10", "standard"),
    "equal as 32-bit floats": ([1, 0], [1.0, 1.0 + 1e-12], [1, 1], "ndcg@10", "trec"),
    "32-bit scores": ([1, 0], np.array([0.1, 0.1 + 1e-10], dtype=np.float32), [1, 1], "ndcg@10", "standard"),
    "huge scores": ([1, 0], [1e308, 1e308], [1, 1], "mrr", "letor4"),
    "no value in expectation": ([1, 0], [1, 1], [1, 1], "iprec@0.5", "standard"),
}


@pytest.mark.parametrize("case", UNAFFECTED)
def test_ties_that_change_no_value_are_not_noted(case):
    y, scores, qid, metric = UNAFFECTED[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not evaluate(y, scores, qid=qid, metrics=metric).note


@pytest.mark.parametrize("case", AFFECTED)
@pytest.mark.filterwarnings("ignore::gradrank.TiedScoresWarning")
def test_ties_that_change_a_value_are_noted(case):
    y, scores, qid, metric, convention = AFFECTED[case]
    result = evaluate(y, scores, qid=qid, metrics=metric, convention=convention)
    assert result.tied[metric].queries == 1 and "expectation" in result.note


def test_a_small_effect_is_a_note_and_no_warning():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 3, 2000), rng.normal(size=2000)
    y[:2], scores[:2] = (1, 0), 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = evaluate(y, scores, qid=np.repeat(np.arange(200), 10))
    assert "in 1 of 200 queries" in result.note and result.note.startswith("Note")
