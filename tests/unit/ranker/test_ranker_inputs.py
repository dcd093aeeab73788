"""`Ranker` accepts and refuses the features and ids that files accept and refuse. A failed `fit` changes nothing."""

import datetime
import decimal
import os
import signal
import time
import warnings
from contextlib import suppress

import numpy as np
import polars as pl
import pytest

import gradrank
from gradrank import Ranker
from gradrank.base.errors import GradrankError
from gradrank.data.reader import feature_matrix, read_collection
from gradrank.ranker import ranker as ranker_module
from gradrank.ranker.inputs import Reader
from gradrank.training.best_of import History
from gradrank.training.trained_fold import TrainedFold

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

Y, QID = np.tile([0, 1, 2], 4), np.repeat([1, 2, 3, 4], 3)
X = np.c_[np.arange(12.0), np.arange(12.0)[::-1]]
GAP = np.where(X == 1, np.nan, X)
SECOND = GAP[:, 1]  # row 10 is missing
HOLES = [None if np.isnan(value) else int(value) for value in SECOND]


def with_second(column) -> pandas.DataFrame:
    return pandas.DataFrame({"a": X[:, 0], "b": column})


def objects(missing) -> np.ndarray:
    return np.array(
        [[first, missing if np.isnan(second) else second] for first, second in np.c_[X[:, 0], SECOND]], object
    )


def read(features, takes_missing=True) -> np.ndarray:
    return Reader(Ranker("lambdamart"), takes_missing).features(features, is_new=True)


# Forms of the numbers of `SECOND`, in which one value is missing.
GAPS = {
    "masked array": lambda: np.ma.masked_equal(np.c_[X[:, 0] + 100, X[:, 1]], 1) - np.array([100, 0]),
    "masked integers": lambda: np.ma.array(X.astype(int), mask=np.isnan(np.c_[X[:, 0], SECOND])),
    "masked rows": lambda: [np.ma.masked_invalid([first, second]) for first, second in np.c_[X[:, 0], SECOND]],
    **{f"objects with {name}": lambda value=value: objects(value) for name, value in
       {"None": None, "NA": pandas.NA, "NaT": pandas.NaT, "NaN": np.nan}.items()},
    "list with None": lambda: objects(None).tolist(),
    "pandas NaN": lambda: with_second(SECOND),
    **{f"pandas {kind}": lambda kind=kind: with_second(pandas.array(HOLES, dtype=kind)) for kind in
       ("Int64", "Float64", "int64[pyarrow]", "double[pyarrow]", "object")},
    "pandas decimals": lambda: with_second([None if hole is None else decimal.Decimal(hole) for hole in HOLES]),
    "Polars": lambda: pl.DataFrame({"a": X[:, 0], "b": HOLES}),
    "Polars decimals": lambda: pl.DataFrame({"a": X[:, 0], "b": pl.Series(HOLES).cast(pl.Decimal(10, 2))}),
    "Arrow": lambda: pyarrow.table({"a": X[:, 0], "b": HOLES}),
    "Arrow batch": lambda: pyarrow.record_batch({"a": X[:, 0], "b": pyarrow.array(HOLES)}),
}  # fmt: skip


@pytest.mark.parametrize("form", GAPS)
def test_a_missing_value_in_any_form_is_nan(form):
    expected = np.c_[X[:, 0], SECOND].astype(np.float32)
    assert np.array_equal(read(GAPS[form]()), expected, equal_nan=True)
    with pytest.raises(GradrankError, match=r"X: .*NaN.*Fix"):
        read(GAPS[form](), takes_missing=False)


DAY = datetime.date(2020, 1, 1)
# Columns of a table that may or may not be features; what a Parquet file says decides.
COLUMNS = {
    "integers": pl.Series(range(12)),
    "booleans": pl.Series([True, False, None] * 4),
    "nothing": pl.Series([None] * 12),
    "digits": pl.Series([str(number) for number in range(12)]),
    "categories of digits": pl.Series(["1", "2", "3"] * 4, dtype=pl.Categorical),
    "enumeration of digits": pl.Series(["1", "2", "3"] * 4, dtype=pl.Enum(["1", "2", "3"])),
    "dates": pl.Series([DAY] * 12),
    "times": pl.Series([datetime.datetime(2020, 1, 1)] * 12),
    "times of day": pl.Series([datetime.time(1)] * 12),
    "durations": pl.Series([datetime.timedelta(days=1)] * 12),
    "lists": pl.Series([[1]] * 12),
    "records": pl.Series([{"a": 1}] * 12),
    "bytes": pl.Series([b"1"] * 12),
}


def stored_rows(path) -> pl.DataFrame:
    reading = read_collection([path])
    return reading.frame(reading.sources[0], np.arange(4))


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_a_feature_in_memory_if_it_is_one_in_a_file(name, alone, tmp_path):
    table = pl.DataFrame([*([] if alone else [pl.Series("first", X[:, 0])]), COLUMNS[name].alias("second")])
    table.with_columns(qid=QID, label=Y).write_parquet(tmp_path / "data.parquet")
    try:
        expected = feature_matrix(stored_rows(tmp_path / "data.parquet"))[:, -1:]
    except GradrankError:
        expected = None
    for form in (table, table.to_arrow(), table.to_pandas(), table.to_pandas(use_pyarrow_extension_array=True)):
        is_dictionary = isinstance(form, pandas.DataFrame) and "dictionary" in str(form.dtypes["second"])
        if expected is None or is_dictionary:  # pandas has no type of its own for dictionaries of Arrow
            with pytest.raises(GradrankError, match=r"'second'.*Fix"):
                read(form)
        else:
            assert np.array_equal(read(form)[:, -1:], expected, equal_nan=True)


@pytest.mark.parametrize("form", ["decimal", "list", "dictionary"])
def test_wide_decimals_of_arrow_are_refused_without_a_panic_of_polars(form, capfd):
    arrow = pytest.importorskip("pyarrow")
    wide = arrow.decimal256(40, 2)
    values: list = [decimal.Decimal(1)] * 12
    column = arrow.array([values] * 12, arrow.list_(wide)) if form == "list" else arrow.array(values, wide)
    table = arrow.table({"second": column.dictionary_encode() if form == "dictionary" else column})
    for each in (table, table.to_batches()[0]):
        with pytest.raises(GradrankError, match=r"'second'.*Fix"):
            read(each)
    assert not capfd.readouterr().err


@pytest.mark.parametrize(
    "features",
    [X.astype(str), X.astype(str).tolist(), X.astype("S9"), X.astype("M8[s]"), X.astype("m8[s]"), objects("7"),
     [[1, "a"]] * 12, objects(np.datetime64("2020-01-01")), objects(DAY)],
)  # fmt: skip
def test_arrays_of_text_and_dates_are_refused_with_the_column(features):
    with pytest.raises(GradrankError, match=r"X: column [01], counted from 0.*Fix"):
        read(features)


@pytest.mark.parametrize("names", [["a", ""], ["a", " "], ["a", "a"]])
def test_columns_without_a_name_of_their_own_are_refused(names):
    for table in (pandas.DataFrame(X, columns=names), pyarrow.table([X[:, 0], X[:, 1]], names=names)):
        with pytest.raises(GradrankError, match=r"X: .*Fix"):
            read(table)


@pytest.mark.parametrize("labels", [[0, 1], [1, 0], [7, 3], [0.5, 0.25], [("a", 1), ("a", 2)], ["a", 1]])
def test_columns_in_another_order_than_in_training_are_refused_whatever_their_labels_are(labels):
    table = pandas.DataFrame(X, columns=pandas.Index(labels, tupleize_cols=False))
    ranker = Ranker("regression", random_state=1).fit(table, Y, qid=QID)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(ranker.predict(table), ranker.fold_.score(X, np.array([0, 12])))
    with pytest.raises(GradrankError, match=r"order.*Fix"):
        ranker.predict(table.iloc[:, ::-1])


def test_numbered_columns_have_no_names_and_fit_arrays():
    ranker = Ranker("regression", random_state=1).fit(pandas.DataFrame(X), Y, qid=QID)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(ranker.predict(X), ranker.predict(pandas.DataFrame(X)))
    assert not hasattr(ranker, "feature_names_in_")


@pytest.mark.parametrize("wrong", ["", " 2", "2 ", "nan", "None", "a\tb"])
def test_ids_that_a_file_refuses_are_refused_in_memory(wrong):
    ids = [wrong if query == 2 else str(query) for query in QID]
    for form in (ids, np.array(ids), pl.Series(ids), pandas.Series(ids), pyarrow.array(ids)):
        for call in (lambda form=form: Ranker("regression").fit(X, Y, qid=form),
                     lambda form=form: gradrank.evaluate(Y, X[:, 0], qid=form)):  # fmt: skip
            with pytest.raises(GradrankError, match=r"qid: row 3 .*Fix"):
                call()


@pytest.mark.parametrize("argument", ["y", "qid", "sample_weight"])
def test_missing_values_of_other_arguments_are_refused_in_every_form(argument):
    values = {"y": Y, "qid": QID, "sample_weight": np.ones(12)}
    given = [None if row == 4 else int(value) for row, value in enumerate(values[argument])]
    masked = np.ma.array(values[argument], mask=np.arange(12) == 4)
    forms = [given, masked, pl.Series(given), pyarrow.array(given), pandas.array(given, dtype="Int64")]
    forms += [pandas.Series(given, dtype=kind) for kind in ("Int64", "float64", "object", "int64[pyarrow]")]
    for form in forms:
        arguments = values | {argument: form}
        with pytest.raises(GradrankError, match=rf"{argument}: .*Fix"):
            Ranker("mart").fit(X, arguments.pop("y"), **arguments)


def interrupted(*_):
    raise KeyboardInterrupt


# Ways in which `fit` can fail after a successful `fit`: the change of the module, and the arguments.
FAILURES = {
    "a column of text": (None, {"X": pl.DataFrame({"b": X[:, 1], "a": [str(value) for value in X[:, 0]]})}),
    "an infinite value": (None, {"X": pandas.DataFrame(X + np.inf, columns=["b", "a"])}),
    "another width": (None, {"X": X[:, :1], "eval_set": (X, Y, QID)}),
    "grades": (None, {"y": Y - 1}),
    "ids": (None, {"qid": [1] * 12}),
    "weights": (None, {"sample_weight": -np.ones(12)}),
    "validation": (None, {"eval_set": 3}),
    "training": ((ranker_module, "fit"), {}),
    "the specification": ((Ranker, "_specification"), {}),
    "the history": ((History, "frame"), {}),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_failed_fit_leaves_the_estimator_as_it_was(case, monkeypatch):
    table = pandas.DataFrame(X, columns=["a", "b"])
    ranker = Ranker("regression", random_state=1).fit(table, Y, qid=QID)
    before, scores = dict(vars(ranker)), ranker.predict(table)
    target, changes = FAILURES[case]
    if target:
        monkeypatch.setattr(*target, interrupted)
    arguments = {"X": table[["b", "a"]], "y": Y, "qid": QID} | changes
    for estimator in (ranker, new := Ranker("regression", random_state=1)):
        with pytest.raises((GradrankError, KeyboardInterrupt)):
            estimator.fit(**arguments)
    assert vars(ranker) == before and np.array_equal(ranker.predict(table), scores)
    assert not any(name.endswith("_") for name in vars(new))


def finishes(function) -> bool:
    """Return whether a function succeeds in a forked process within 30 s."""
    process = os.fork()
    if process == 0:
        try:
            function()
        except BaseException:
            os._exit(1)
        os._exit(0)
    for _ in range(600):
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.05)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("method", ["regression", "lambdamart"])
@pytest.mark.parametrize("ids", ["integers", "floats", "text", "apart", "tables"])
def test_a_forked_process_fits_and_predicts_after_its_parent_did(method, ids):
    draw = np.random.default_rng(0)
    features, qid = draw.normal(size=(200, 3)), np.repeat(np.arange(20), 10)
    y = draw.integers(0, 3, 200)
    qid = {"floats": qid.astype(float), "text": qid.astype(str), "apart": draw.permutation(qid)}.get(ids, qid)
    if ids == "tables":
        features, qid = pl.DataFrame(features), pl.Series(qid.astype(str))
    params: dict = {"rounds": 2} if method == "lambdamart" else {}

    def run():
        ranker = Ranker(method, random_state=1, **params).fit(features, y, qid=qid)
        ranker.score(features, y, qid=qid)
        return ranker.predict(features, qid=qid)

    expected = run()
    pl.DataFrame({"a": [1, 2], "b": [2, 1]}).sort("a")  # starts the threads of Polars
    assert finishes(lambda: np.testing.assert_array_equal(run(), expected))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("name", gradrank.__all__)
def test_in_a_forked_process_every_function_ends(name, tmp_path, monkeypatch):
    """Polars does not return there, so that a function either works without it or names `spawn`."""
    y, scores, qid = [2, 0, 1, 0], [0.5, 0.9, 0.7, 0.1], [1, 1, 2, 2]
    ranker = Ranker("regression", random_state=1).fit(np.array([scores]).T, y, qid=qid)
    ranker.save(tmp_path / "model")
    (tmp_path / "a.txt").write_text("1 qid:1 1:0.5\n")
    monkeypatch.chdir(tmp_path)
    calls = {
        "Ranker": lambda: ranker.save("new"),
        "agreement": lambda: gradrank.agreement(scores, scores[::-1], qid=qid),
        "plot_queries": lambda: None,  # it draws what `compare` has computed
        "load_results": lambda: gradrank.load_results("absent.parquet"),
        "compare": lambda: gradrank.compare({"a": scores, "b": scores[::-1]}, y, qid=qid),
        "evaluate": lambda: gradrank.evaluate(y, scores, qid=qid),
        "explain_convention": lambda: gradrank.explain_convention(y, scores, qid=qid, k=1),
        "load": lambda: gradrank.load("model"),
        "scan_letor": lambda: gradrank.scan_letor("a.txt").collect(),
        "table": lambda: gradrank.table("absent"),
        "load_dataset": lambda: gradrank.load_dataset("absent"),
        "search_space": lambda: gradrank.search_space("lambdamart"),
    }
    value = getattr(gradrank, name)
    call = calls.get(name, value if callable(value) and not isinstance(value, type) and name != "pin" else lambda: None)
    pl.DataFrame({"a": [1, 2], "b": [2, 1]}).sort("a")  # starts the threads of Polars

    def ends():
        with suppress(GradrankError):
            call()

    assert finishes(ends)


@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow"])
def test_predict_takes_a_whole_frame_and_ignores_known_columns_by_name(kind):
    rng = np.random.default_rng(0)
    X = pl.DataFrame(rng.normal(size=(60, 2)), schema=["price", "match"])
    y, qid = (rng.random(60) < 0.4).astype(int), np.repeat(np.arange(6), 10)
    ranker = Ranker("regression", random_state=1).fit(X, y, qid=qid)
    expected = ranker.predict(X, qid=qid)
    ids = pl.DataFrame({"Query_ID": [f"new shoes {q}" for q in qid], "docid": [f"a b {row}" for row in range(60)]})
    outcome = pl.DataFrame({"label": y, "score": 0.5, "rank": 1, "product_id": "x"})

    def given(frame: pl.DataFrame):
        return {"polars": frame, "pandas": frame.to_pandas(), "arrow": frame.to_arrow()}[kind]

    whole = pl.concat([ids, X, outcome], how="horizontal")
    np.testing.assert_array_equal(ranker.predict(given(whole)), expected)
    with pytest.raises(GradrankError, match="qid: given, and X has a column `Query_ID`, too"):
        ranker.predict(given(whole), qid=qid)
    with pytest.raises(GradrankError, match="brand"):
        ranker.predict(given(whole.with_columns(brand=pl.lit(1.0))))
    assert ranker.score(given(whole), y) == ranker.score(X, y, qid=qid)
    trained_on_rank = Ranker("regression", random_state=1).fit(X.rename({"match": "rank"}), y, qid=qid)
    renamed = whole.drop("rank").rename({"match": "rank"})
    np.testing.assert_array_equal(trained_on_rank.predict(given(renamed)), expected)


def test_predict_of_a_loaded_fold_ignores_the_columns_declared_for_the_training_data(tmp_path):
    rng = np.random.default_rng(0)
    X = pl.DataFrame(rng.normal(size=(60, 2)), schema=["price", "match"])
    qid = np.repeat(np.arange(6), 10)
    ranker = Ranker("ranksvm", random_state=1).fit(X, (rng.random(60) < 0.4).astype(int), qid=qid)
    ranker.fold_ = TrainedFold(
        ranker.fold_.model, ranker.fold_.spec | {"columns": {"query": "asked", "ignore": ["url"]}}
    )
    ranker.save(tmp_path / "model")
    whole = X.with_columns(asked=pl.Series([f"shoes {q}" for q in qid]), url=pl.lit("http://"))
    np.testing.assert_array_equal(gradrank.load(tmp_path / "model").predict(whole), ranker.predict(X))
