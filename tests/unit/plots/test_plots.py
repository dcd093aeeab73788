"""The plots show the numbers of the frames, in axes that the caller may give."""

import sys

import numpy as np
import pytest

import gradrank
from gradrank.base.errors import GradrankError

plt = pytest.importorskip("matplotlib.pyplot", reason="needs matplotlib: pip install '.[plots]'")


@pytest.fixture(autouse=True)
def _no_window(monkeypatch):
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 25))
    return X, np.clip(np.round(X[:, 0] - X[:, 1] + 1), 0, 3).astype(int), np.repeat(np.arange(30), 10)


@pytest.fixture(scope="module")
def trees(data):
    X, y, qid = data
    return gradrank.Ranker("lambdamart", random_state=1, rounds=12, patience=12).fit(X, y, qid=qid)


def bars(ax):
    return [bar.get_width() for bar in ax.patches]


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_the_history_shows_the_selecting_metric_and_the_selected_step(trees):
    ax = trees.plot_history()
    line, mark = ax.get_lines()
    np.testing.assert_array_equal(line.get_xydata(), trees.history_.select("step", "vali_ndcg@10").to_numpy())
    assert set(mark.get_xdata()) == {trees.best_iteration_}
    assert ax.get_ylabel() == "NDCG@10"


def test_a_method_without_steps_has_no_history(data):
    X, y, qid = data
    ranker = gradrank.Ranker("single_feature", random_state=1).fit(X, y, qid=qid)
    ranker.history_ = ranker.history_.clear()
    with pytest.raises(GradrankError, match=r"single_feature reports no values .*Fix:"):
        ranker.plot_history()


def test_the_importance_shows_the_largest_shares(trees, data):
    ax = trees.plot_importance(top=5)
    assert bars(ax) == pytest.approx(sorted(trees.feature_importances_, reverse=True)[:5])
    assert names(ax)[0] in ("f1", "f2") and len(names(ax)) == 5
    X, y, qid = data
    nonlinear = gradrank.Ranker("rankboost", random_state=1, rounds=3).fit(X, y, qid=qid)
    if not hasattr(nonlinear, "feature_importances_"):
        with pytest.raises(GradrankError, match=r"Fix: call ranker\.importance"):
            nonlinear.plot_importance()


def test_permutation_importance_has_the_intervals_of_its_frame(trees, data):
    X, y, qid = data
    found = trees.importance(X, y, qid=qid)
    ax = found.plot(top=3)
    top = found.frame().head(3)
    assert names(ax) == top["feature"].to_list()
    assert ax.get_lines()[0].get_xdata() == pytest.approx(top["drop"].to_numpy())
    drawn = [segment[:, 0] for segment in ax.collections[0].get_segments()]
    assert np.array(drawn) == pytest.approx(top.select("low", "high").to_numpy())


def test_the_bars_of_an_explanation_sum_to_the_difference(trees, data):
    X, _, qid = data
    found = trees.explain(X[qid == 3], pair=(2, 5))
    ax = found.plot()
    assert sum(bars(ax)) == pytest.approx(found.difference) and names(ax)[-1] == "13 others"


def test_a_comparison_shows_each_pair_and_each_query(data):
    X, y, qid = data
    rankings = {"one": X[:, 0], "two": X[:, 0] - X[:, 1], "zero": np.arange(300.0)}
    result = gradrank.compare(rankings, y, qid=qid, metric=["ndcg@10", "map"])
    ax = result.plot()
    assert len(names(ax)) == len(result.table) == 6 and names(ax)[0] == "NDCG@10: one - two"
    assert ax.get_lines()[0].get_xdata() == pytest.approx(result.table["difference"].to_numpy())

    ax = gradrank.plot_queries(result, "two", "zero", metric="map")
    of_map = result.per_query.filter(metric="map")
    gaps = np.sort((of_map["two"] - of_map["zero"]).drop_nans().drop_nulls().to_numpy())[::-1]
    assert [bar.get_height() for bar in ax.patches] == pytest.approx(gaps)
    assert ax.get_title().startswith(f"two - zero\nbetter on {(gaps > 0).sum()}")
    with pytest.raises(GradrankError, match=r"unknown ranking 'tow' \(did you mean 'two'"):
        gradrank.plot_queries(result, "tow", "zero")
    with pytest.raises(GradrankError, match="name two rankings"):
        gradrank.plot_queries(result, "two")


def test_a_plot_draws_into_the_given_axes_and_leaves_the_style_of_others(trees):
    before = dict(plt.rcParams)
    _, (left, right) = plt.subplots(1, 2)
    assert trees.plot_history(ax=left) is left and trees.plot_importance(ax=right) is right
    trees.plot_history()
    assert dict(plt.rcParams) == before


def test_without_matplotlib_the_error_names_the_extra(trees, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(GradrankError, match=r"plot_history: needs matplotlib.*pip install 'gradrank\[plots\]'"):
        trees.plot_history()
