"""`Ranker`: its scores equal those of training jobs and of direct calls of libraries, for any form of input."""

import copy
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import threadpoolctl
from sklearn.exceptions import NotFittedError

import gradrank
from gradrank import Ranker
from gradrank.base.errors import GradrankError
from gradrank.bench.folds.job import train
from gradrank.data.collection import Collection
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import CONVENTIONS
from gradrank.ranker.predict import predict
from gradrank.training.best_of import FrozenStep, History
from gradrank.training.fit import fit, resolve
from gradrank.training.fold_folder import FoldFolder

FAST = {
    "lambdamart": {"rounds": 20, "min_data_in_leaf": 5},
    "mart": {"rounds": 20, "min_data_in_leaf": 5},
    "yeti_trees": {"rounds": 5, "min_data_in_leaf": 5},
    "ranksvm": {},
    "regression": {},
    "ranknet_two_layer": {"epochs": 2},
    "attention_lambdaloss": {"epochs": 1},
    "ranknet_report": {"epochs": 1, "pairs_per_epoch": 500},
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    generate("poly", 30, 12, 1, folder / "raw")
    parse(folder / "raw", folder / "parquet", seed=1, dataset="artificial")
    return folder / "parquet"


def arrays(stored: Path, split: str):
    """Return (X, y, qid) of one part of fold 1."""
    opened = StoredCollection.open(stored)
    part = opened.read(opened.fold(1)[split])
    return part.features, part.labels, part.qids[part.query_of_row]


@pytest.fixture(scope="module")
def data(stored):
    return arrays(stored, "train")


def fitted(method: str, data, seed: int = 1, **arguments) -> Ranker:
    ranker = Ranker(method, random_state=seed, convention="letor4", **FAST[method])
    return ranker.fit(data[0], data[1], qid=data[2], **arguments)


@pytest.mark.parametrize("method", FAST)
def test_scores_equal_those_of_a_training_job(method, stored, tmp_path):
    train(method, stored, 1, FAST[method], 5, tmp_path / "fold1")
    fold = FoldFolder(tmp_path / "fold1")
    ranker = fitted(method, arrays(stored, "train"), fold.spec()["job_seed"], eval_set=arrays(stored, "vali"))
    X, _, qid = arrays(stored, "test")
    assert np.array_equal(ranker.predict(X, qid=qid), fold.scores("test"))
    loaded = gradrank.load(tmp_path / "fold1")
    assert np.array_equal(loaded.predict(X, qid=qid), fold.scores("test"))
    assert loaded.get_params() == ranker.get_params()
    assert loaded.history_.equals(ranker.history_)


@pytest.mark.parametrize("method", ["lambdamart", "ranksvm", "attention_lambdaloss"])
def test_the_order_of_rows_and_the_form_of_ids_do_not_matter(method, data):
    X, y, qid = data
    plain = fitted(method, data)
    rows = np.random.default_rng(0).permutation(len(y))
    # Queries come in the order of their first rows, and rows of a query in their order.
    order = np.argsort(np.unique(qid[rows], return_index=True)[1].argsort().argsort()[qid[rows] - 1], kind="stable")
    sorted_rows = rows[order]
    names = np.array([f"query {number}" for number in qid], dtype=object)
    first = fitted(method, (X[rows], y[rows], names[rows]))
    second = fitted(method, (X[sorted_rows], y[sorted_rows], qid[sorted_rows]))
    scores = first.predict(X[rows], qid=names[rows])
    assert np.array_equal(scores[order], second.predict(X[sorted_rows], qid=qid[sorted_rows]))
    expected = plain.predict(X, qid=qid)
    assert np.array_equal(plain.predict(X[rows], qid=names[rows]), expected[rows]) or method == "attention_lambdaloss"
    assert np.allclose(plain.predict(X[rows], qid=names[rows]), expected[rows], atol=1e-5)


@pytest.mark.parametrize("form", ["polars", "pandas", "arrow", "lists"])
def test_tables_give_the_scores_of_arrays(form, data):
    X, y, qid = data
    plain = fitted("ranksvm", data)
    frame = pl.DataFrame(X, schema=[f"feature {i}" for i in range(X.shape[1])])
    convert = {
        "polars": lambda table: table,
        "pandas": lambda table: table.to_pandas(),
        "arrow": lambda table: table.to_arrow(),
        "lists": lambda table: table.to_numpy().tolist() if isinstance(table, pl.DataFrame) else table.to_list(),
    }[form]
    ids, labels = pl.Series("qid", qid), pl.Series("y", y)
    ranker = fitted("ranksvm", (convert(frame), convert(labels), convert(ids)))
    assert np.array_equal(ranker.predict(convert(frame), qid=convert(ids)), plain.predict(X, qid=qid))
    if form != "lists":
        assert ranker.feature_names_in_.tolist() == frame.columns
        with pytest.raises(GradrankError, match="feature names"):
            ranker.predict(convert(frame.rename({"feature 3": "other"})))


def test_without_an_eval_set_a_fifth_of_the_queries_is_held_out(data):
    X, y, qid = data
    ranker = fitted("lambdamart", data)
    held_out = np.isin(qid, ranker.held_out_qid_)
    assert len(set(ranker.held_out_qid_)) == round(len(set(qid)) / 5)
    rest = X[~held_out], y[~held_out], qid[~held_out]
    chosen = fitted("lambdamart", rest, eval_set=(X[held_out], y[held_out], qid[held_out]))
    assert np.array_equal(ranker.predict(X), chosen.predict(X))
    assert len(chosen.held_out_qid_) == 0


def test_score_is_the_mean_ndcg_at_10_of_the_textbook(data):
    from sklearn.metrics import ndcg_score

    X, y, qid = data
    ranker = Ranker("ranksvm", random_state=1, **FAST["ranksvm"]).fit(X, y, qid=qid)
    scores = ranker.predict(X)
    values = [
        ndcg_score([2.0 ** y[qid == q] - 1], [scores[qid == q]], k=10) if y[qid == q].any() else 0.0
        for q in np.unique(qid)
    ]
    assert ranker.score(X, y, qid=qid) == pytest.approx(np.mean(values), abs=1e-12)
    for convention in ("letor4", "lightgbm_expected"):
        means = gradrank.evaluate(y, scores, qid=qid, metrics="ndcg@10", convention=convention).means["mean"]
        assert ranker.set_params(convention=convention).score(X, y, qid=qid) == pytest.approx(means[0], abs=1e-12)


@pytest.mark.parametrize("method", ["lambdamart", "attention_lambdaloss"])
def test_a_saved_ranker_is_loaded_by_every_reader_of_folds(method, data, stored, tmp_path):
    X, _, qid = data
    ranker = fitted(method, data)
    ranker.save(tmp_path / "model")
    ranker.save(tmp_path / "model")  # replaces the first
    for again in (gradrank.load(tmp_path / "model"), pickle.loads(pickle.dumps(ranker)), copy.deepcopy(ranker)):
        assert np.array_equal(again.predict(X, qid=qid), ranker.predict(X, qid=qid))
        assert again.get_params() == ranker.get_params() and again.history_.equals(ranker.history_)
    text = stored.parent / "raw" / "S1.txt"
    predict(tmp_path / "model", text, tmp_path / "scores.txt")
    part = StoredCollection.open(stored).read([1])
    written = np.array((tmp_path / "scores.txt").read_text().split(), dtype=float)
    assert np.array_equal(written, ranker.predict(part.features, qid=part.qids[part.query_of_row]))


def test_the_working_folder_is_kept(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        fitted("regression", data).save(".")
        assert sorted(os.listdir()) == ["history.parquet", "model", "spec.json"]  # noqa: PTH208 - of the process


def test_a_folder_with_other_files_is_not_overwritten(data, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(GradrankError, match=r"other files.*Fix"):
        fitted("regression", data).save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_equal_parameters_give_the_scores_of_lightgbm(data, stored):
    import lightgbm

    X, y, qid = data
    X_vali, y_vali, qid_vali = arrays(stored, "vali")
    params = {"rounds": 30, "learning_rate": 0.1, "num_leaves": 7, "min_data_in_leaf": 5, "bagging_fraction": 1.0}
    ranker = Ranker("lambdamart", random_state=4, patience=30, **params)
    ranker.fit(X, y, qid=qid, eval_set=(X_vali, y_vali, qid_vali))
    best = int(ranker.history_["vali_ndcg@10"].arg_max()) + 1
    direct = lightgbm.LGBMRanker(
        n_estimators=best, learning_rate=0.1, num_leaves=7, min_child_samples=5, random_state=4, n_jobs=1, verbosity=-1,
        deterministic=True, force_row_wise=True, label_gain=[2**grade - 1 for grade in range(6)],
        min_sum_hessian_in_leaf=1e-3, lambdarank_truncation_level=30, feature_pre_filter=False,
    ).fit(X, y, group=np.unique(qid, return_counts=True)[1])  # fmt: skip
    assert np.array_equal(ranker.predict(X), direct.predict(X, raw_score=True))


def test_equal_parameters_give_the_scores_of_xgboost(data, stored):
    xgboost = pytest.importorskip("xgboost")
    X, y, qid = data
    params = {"learning_rate": 0.1, "max_depth": 3, "min_child_weight": 1.0, "subsample": 1.0, "reg_lambda": 1.0}
    ranker = Ranker("xgboost_ndcg", random_state=4, rounds=20, patience=20, **params)
    ranker.fit(X, y, qid=qid, eval_set=arrays(stored, "vali"))
    best = int(ranker.history_["vali_ndcg@10"].arg_max()) + 1
    direct = xgboost.XGBRanker(
        objective="rank:ndcg", n_estimators=best, random_state=4, n_jobs=1, tree_method="hist", **params
    ).fit(X, y, qid=qid)
    assert np.array_equal(ranker.predict(X), direct.predict(X).astype(np.float64))


def test_equal_parameters_give_the_scores_of_catboost(data, stored):
    catboost = pytest.importorskip("catboost")
    X, y, qid = data
    params = {"learning_rate": 0.1, "depth": 3, "l2_leaf_reg": 3.0}
    ranker = Ranker("querysoftmax", random_state=4, rounds=20, **params)
    ranker.fit(X, y, qid=qid, eval_set=arrays(stored, "vali"))
    best = int(ranker.history_["vali_ndcg@10"].arg_max()) + 1
    direct = catboost.CatBoostRanker(
        loss_function="QuerySoftMax", iterations=20, random_seed=4, thread_count=1, verbose=False,
        allow_writing_files=False, **params
    ).fit(catboost.Pool(X, y, group_id=qid))  # fmt: skip
    assert np.array_equal(ranker.predict(X), direct.predict(X, ntree_end=best))


def test_weights_are_used_or_refused(data):
    X, y, qid = data
    weights = np.where(qid % 2 == 0, 2.0, 0.5)
    weighted = fitted("mart", data, sample_weight=weights)
    assert not np.array_equal(weighted.predict(X), fitted("mart", data).predict(X))
    assert np.array_equal(
        fitted("mart", data, sample_weight=np.ones(len(y))).predict(X), fitted("mart", data).predict(X)
    )
    for method in ("prank", "rankprop"):
        with pytest.raises(GradrankError, match="weights"):
            Ranker(method).fit(X, y, qid=qid, sample_weight=weights)
    assert not np.array_equal(
        fitted("ranksvm", data, sample_weight=weights).predict(X), fitted("ranksvm", data).predict(X)
    )
    names = np.array([f"query {number}" for number in qid])
    uneven = np.where(np.arange(len(y)) == np.flatnonzero(qid == qid[-1])[-1], 5.0, 1.0)
    with pytest.raises(GradrankError, match=f"query {qid[-1]} has"):
        fitted("ranksvm", (X, y, names), sample_weight=uneven)


@pytest.mark.parametrize("method", ["mart", "ranksvm"])
def test_weights_of_queries_are_those_of_their_rows(data, method):
    X, y, qid = data
    mixed = np.random.default_rng(2).permutation(len(y))
    data = X[mixed], y[mixed], qid[mixed]
    first = np.unique(data[2], return_index=True)[1]
    queries = data[2][np.sort(first)]  # in the order of their first rows
    per_query = queries % 3.0
    per_row = data[2] % 3.0
    one, other = (fitted(method, data, sample_weight=weights) for weights in (per_query, per_row))
    assert np.array_equal(one.predict(X), other.predict(X))
    arguments = {"qid": data[2], "sample_weight": per_query}
    assert one.score(*data[:2], **arguments) == one.score(*data[:2], **(arguments | {"sample_weight": per_row}))
    with pytest.raises(GradrankError, match=r"sample_weight: 3 values for .* rows of X and .* queries. Fix: "):
        fitted(method, data, sample_weight=[1, 2, 3])


@pytest.mark.parametrize(("method", "package"), [("lambdamart", "lightgbm"), ("xgboost_ndcg", "xgboost")])
def test_weights_are_those_of_the_library(stored, method, package):
    library = pytest.importorskip(package)
    X, y, qid = arrays(stored, "train")
    _, first, sizes = np.unique(qid, return_index=True, return_counts=True)
    sizes, weights = sizes[np.argsort(first)], np.random.default_rng(1).integers(1, 4, len(sizes)).astype(float)
    fixed = {"learning_rate": 0.1, "rounds": 8}
    vali = arrays(stored, "vali")
    if method == "lambdamart":
        fixed |= {"min_data_in_leaf": 5, "num_leaves": 5, "bagging_fraction": 1.0}
        ranker = Ranker(method, random_state=1, **fixed).fit(X, y, qid=qid, sample_weight=weights, eval_set=vali)
        data = library.Dataset(X, y, group=sizes, weight=np.repeat(weights, sizes))
        settings = fixed | {"objective": "lambdarank", "seed": 1, "deterministic": True, "verbosity": -1}
        settings |= {"force_row_wise": True, "feature_pre_filter": False, "num_threads": 1}
        del settings["rounds"]
        expected = library.train(settings, data, ranker.best_iteration_).predict(X)
    else:
        fixed |= {"subsample": 1.0}
        ranker = Ranker(method, random_state=1, **fixed).fit(X, y, qid=qid, sample_weight=weights, eval_set=vali)
        data = library.DMatrix(X, y)
        data.set_group(sizes)
        data.set_weight(weights)
        names = ("learning_rate", "max_depth", "min_child_weight", "subsample", "reg_lambda")
        settings = {name: ranker.get_params()[name] for name in names}
        settings |= {"objective": "rank:ndcg", "seed": 1, "tree_method": "hist", "nthread": 1}
        expected = library.train(settings, data, ranker.best_iteration_).predict(library.DMatrix(X)).astype(float)
    np.testing.assert_array_equal(ranker.predict(X), expected)


@pytest.mark.parametrize("method", ["lambdamart", "ranksvm", "regression"])
def test_the_number_of_threads_changes_no_bit_of_the_scores(method):
    draw = np.random.default_rng(1)
    X, qid = draw.normal(size=(6000, 40)).astype(np.float32), np.repeat(np.arange(300), 20)
    y = draw.integers(0, 3, len(X))
    one, three = (Ranker(method, random_state=1, n_jobs=n, **FAST[method]).fit(X, y, qid=qid) for n in (1, 3))
    assert np.array_equal(one.predict(X), three.predict(X))


@pytest.mark.parametrize("method", ["lambdamart", "ranksvm", "ranknet_two_layer", "yeti_trees", "attention_lambdaloss"])
def test_a_further_prediction_reads_no_file_and_searches_for_no_library(method, data, monkeypatch):
    X, _, qid = data
    ranker = fitted(method, data)
    expected = ranker.predict(X, qid=qid)
    events: list[str] = []
    is_watching = True
    sys.addaudithook(lambda event, _: events.append(event) if is_watching else None)
    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", lambda: pytest.fail("searched for libraries"))
    again = ranker.predict(X, qid=qid)
    is_watching = False
    assert np.array_equal(again, expected)
    assert not {"open", "os.listdir", "os.scandir", "import"} & set(events)


NUMBERS = np.random.default_rng(3).integers(0, 9, (20, 3))
FORMS = {kind: NUMBERS.astype(kind) for kind in ("f2", "f4", ">f4", "f8", "longdouble", "i1", "u8", "?")}
FORMS |= {"columns": np.asfortranarray(NUMBERS / 4), "parts": np.hstack([NUMBERS / 4, NUMBERS])[::2, ::2]}
FORMS |= {"exact": np.full((4, 3), 16777217.0), "read only": np.broadcast_to(np.float32(0.1), (4, 3))}


@pytest.mark.parametrize("features", FORMS.values(), ids=FORMS)
def test_arrays_of_numbers_have_the_scores_of_their_lists(features):
    ranker = Ranker("regression", random_state=1).fit(NUMBERS, NUMBERS[:, 0] % 3, qid=np.repeat(range(5), 4))
    assert np.array_equal(ranker.predict(features), ranker.predict(features.tolist()))


X, Y, Q = np.arange(12.0).reshape(6, 2), np.array([0, 1, 2, 0, 1, 2]), np.array([1, 1, 1, 2, 2, 2])
NAN = np.where(np.arange(12).reshape(6, 2) == 5, np.nan, X)
# key: argument that the error names; value: arguments of `fit` that are invalid
INVALID = {
    "y: shorter": ("y", X, Y[:5], {"qid": Q}),
    "qid: longer": ("qid", X, Y, {"qid": [*Q, 3]}),
    "qid: missing": ("qid", X, Y, {}),
    "qid: one document per query": ("qid", X, Y, {"qid": range(6)}),
    "qid: one query": ("qid", X, Y, {"qid": [1] * 6}),
    "qid: missing value": ("qid", X, Y, {"qid": [1, 1, 1, 2, None, 2]}),
    "X: NaN": ("X", NAN, Y, {"qid": Q}),
    "X: infinite": ("X", np.where(np.isnan(NAN), np.inf, NAN), Y, {"qid": Q}),
    "X: too large for float32": ("X", X * 1e40, Y, {"qid": Q}),
    "X: text": ("X", X.astype(str).tolist() and [["a", "b"]] * 6, Y, {"qid": Q}),
    "X: one dimension": ("X", X[:, 0], Y, {"qid": Q}),
    "X: three dimensions": ("X", X.reshape(6, 2, 1), Y, {"qid": Q}),
    "X: no rows": ("X", X[:0], Y[:0], {"qid": Q[:0]}),
    "X: empty frame": ("X", pl.DataFrame(), [], {"qid": []}),
    "X: no columns": ("X", X[:, :0], Y, {"qid": Q}),
    "y: missing": ("y", X, None, {"qid": Q}),
    "y: negative": ("y", X, Y - 1, {"qid": Q}),
    "y: fractions": ("y", X, Y / 2, {"qid": Q}),
    "y: text": ("y", X, Y.astype(str), {"qid": Q}),
    "y: NaN": ("y", X, np.where(Y == 2, np.nan, Y), {"qid": Q}),
    "y: too high": ("y", X, Y * 20, {"qid": Q}),
    "eval_set: no tuple": ("eval_set", X, Y, {"qid": Q, "eval_set": X}),
    "eval_set: no qid": ("eval_set", X, Y, {"qid": Q, "eval_set": (X, Y, None)}),
    "eval_set: other features": ("eval_set", X, Y, {"qid": Q, "eval_set": (X[:, :1], Y, Q)}),
    "sample_weight: negative": ("sample_weight", X, Y, {"qid": Q, "sample_weight": -Y}),
    "sample_weight: shorter": ("sample_weight", X, Y, {"qid": Q, "sample_weight": [1]}),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_data_give_one_error_that_names_the_argument_and_the_fix(case):
    argument, features, grades, arguments = INVALID[case]
    with pytest.raises((GradrankError, ValueError)) as error:
        Ranker("regression", random_state=1).fit(features, grades, **arguments)
    message = str(error.value)
    assert isinstance(error.value, GradrankError) and argument in message and "Fix: " in message
    assert "\n" not in message and error.value.__suppress_context__


def test_missing_values_are_accepted_by_methods_that_can_use_them():
    ranker = Ranker("lambdamart", random_state=1, rounds=2, min_data_in_leaf=1).fit(NAN, Y, qid=Q)
    assert np.isfinite(ranker.predict(NAN)).all()
    with pytest.raises(GradrankError, match="inf"):
        ranker.predict(np.full((1, 2), -np.inf))


def test_predictions_of_other_data_are_refused(data):
    with pytest.raises(NotFittedError):
        Ranker("regression").predict(X)
    ranker = Ranker("regression", random_state=1).fit(X, Y, qid=Q)
    with pytest.raises(GradrankError, match=r"X: .*2 features.*Fix"):
        ranker.predict(X[:, :1])
    with pytest.raises(GradrankError, match="qid"):
        ranker.predict(X, qid=[1])
    with pytest.raises(GradrankError, match=r"qid: missing.*Fix"):
        fitted("attention_lambdaloss", data).predict(data[0])


@pytest.mark.parametrize("value", [{"l2": "x"}, {"l2": -1.0}, {"l2": True}])
def test_invalid_values_of_parameters_name_the_parameter(value):
    with pytest.raises(GradrankError, match="l2"):
        Ranker("regression", **value).fit(X, Y, qid=Q)


@pytest.mark.parametrize(
    ("name", "value"), [("random_state", -1), ("random_state", "x"), ("n_jobs", 0), ("n_jobs", 1.5)]
)
def test_invalid_seeds_and_numbers_of_threads_name_the_argument(name, value):
    with pytest.raises(GradrankError, match=rf"{name}.*Fix"):
        Ranker("regression", **{name: value}).fit(X, Y, qid=Q)


def test_unknown_names_are_refused_with_the_nearest_name():
    with pytest.raises(GradrankError, match="lambdamart"):
        Ranker("lamdbamart").fit(X, Y, qid=Q)
    with pytest.raises(GradrankError, match="num_leaves"):
        Ranker("lambdamart", num_leafs=3).fit(X, Y, qid=Q)
    with pytest.raises(GradrankError, match=r"warm_start: .*Fix"):
        Ranker("lambdamart", warm_start=True).fit(X, Y, qid=Q)
    with pytest.raises(GradrankError, match=r"combines.*Fix"):
        Ranker("combsum").fit(X, Y, qid=Q)


@pytest.mark.parametrize("convention", [None, 3, CONVENTIONS["standard"], "standart"])
def test_a_convention_that_is_not_a_name_is_refused(convention):
    with pytest.raises(GradrankError, match="convention"):
        Ranker("regression", convention=convention).fit(np.eye(4), [0, 1, 0, 1], qid=[1, 1, 2, 2])


@pytest.mark.parametrize("name", ["x" * 256, "loop", "null\0character", "\ud800"])
def test_a_path_that_the_system_does_not_accept_is_an_error_of_gradrank(name, data, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    ranker, path = fitted("regression", data), f"{tmp_path}/{name}"
    calls = [lambda: ranker.save(path), lambda: gradrank.load(path), lambda: ranker.export(path, to="solr")]
    calls.append(lambda: gradrank.load_dataset("synthetic_net", cache=path))
    for call in calls:
        with pytest.raises(GradrankError, match="Fix: "):
            call()


def test_refit_trains_on_all_queries_with_the_median_of_the_folds_and_saves_a_card(tmp_path):
    rng = np.random.default_rng(2)
    X, qid = rng.normal(size=(300, 3)).astype(np.float32), np.repeat(np.arange(30), 10)
    y = np.clip(np.round(X[:, 0] + rng.normal(size=300) + 1), 0, 4).astype(int)
    ranker = Ranker("lambdamart", random_state=4, rounds=15, min_data_in_leaf=5).refit(X, y, qid=qid, folds=3)
    entry = ranker.fold_.spec["refit"]
    steps = [each["step"] for each in entry["folds"]]
    assert entry["step"] == sorted(steps)[1] == ranker.best_iteration_
    assert sum(each["queries"] for each in entry["folds"]) == entry["queries"] == 30
    whole = Collection(X, y.astype(np.int32), np.arange(0, 301, 10), np.arange(30))
    cls, params = resolve("lambdamart", {"rounds": 15, "min_data_in_leaf": 5})
    expected = fit(cls, whole, FrozenStep.of(whole, entry["step"]), params, 4, History("oracle", np.inf))
    np.testing.assert_array_equal(ranker.predict(X), expected.score(X, whole.offsets))
    ranker.save(tmp_path / "model")
    assert f"{entry['value']:.4f} ± {entry['half_width']:.4f}" in (tmp_path / "model/model_card.md").read_text()
    assert gradrank.load(tmp_path / "model").fold_.spec["refit"] == entry
    with pytest.raises(GradrankError, match="folds: 31 is not a number from 2 to 30"):
        ranker.refit(X, y, qid=qid, folds=31)
    assert ranker.fold_.spec["refit"] == entry
