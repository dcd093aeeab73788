"""`evaluate` on arrays of several libraries and on files, compared with other programs; refused input."""

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.comparison.rankings.evaluation import evaluate
from gradrank.comparison.rankings.explanation import conventions, metrics
from gradrank.comparison.statistics import mean_interval
from gradrank.measures.conventions import CONVENTIONS, Convention
from gradrank.measures.metrics import compute

NAMES = ["ndcg@3", "map", "mrr", "err@5", "pairwise_accuracy"]
Y, SCORES, QID = [2, 0, 1, 0, 1, 0], [0.5, 0.9, 0.7, 0.1, 0.2, 0.4], [7, 7, 3, 7, 3, 3]


def drawn(seed=0, queries=30, rows=600):
    """Return grades, distinct scores and query ids in random order."""
    draw = np.random.default_rng(seed)
    qid = np.r_[np.arange(queries), draw.integers(queries, size=rows - queries)]
    y = draw.choice(5, rows, p=[0.7, 0.1, 0.1, 0.05, 0.05])
    return y, draw.permutation(rows) / rows, draw.permutation(qid)


def test_values_means_and_intervals_are_those_of_compute_and_mean_interval():
    y, scores, qid = drawn()
    order = np.argsort(qid, kind="stable")
    offsets = np.r_[0, np.flatnonzero(np.diff(qid[order])) + 1, len(qid)]
    values = compute(NAMES, scores[order], y[order], offsets, "letor4")
    result = evaluate(y, scores, qid=qid, metrics=NAMES, convention="letor4", confidence=0.9)
    assert result.per_query["qid"].to_list() == list(dict.fromkeys(qid.tolist()))
    by_id = result.per_query.sort("qid")
    assert by_id["qid"].to_list() == list(range(30))
    for name, row in zip(NAMES, result.means.to_dicts(), strict=True):
        np.testing.assert_array_equal(by_id[name].fill_null(np.nan).to_numpy(), values[name])
        defined = result.per_query[name].drop_nulls().to_numpy()
        assert row == {"metric": name, **mean_interval(defined, 0.9)._asdict(), "queries": len(defined)}
    assert result.convention == CONVENTIONS["letor4"]


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_order_of_rows_has_no_effect_on_distinct_scores(convention):
    y, scores, qid = drawn()
    order = np.random.default_rng(1).permutation(len(y))
    grouped = np.argsort(qid, kind="stable")
    first, second, third = (
        evaluate(y[rows], scores[rows], qid=qid[rows], metrics=NAMES, convention=convention).per_query.sort("qid")
        for rows in (slice(None), order, grouped)
    )
    assert first.equals(second)
    assert first.equals(third)


def test_the_order_of_rows_breaks_ties():
    first = evaluate([1, 0, 0, 1], [1, 1, 1, 1], qid=["a", "a", "b", "b"], metrics="mrr")
    assert first.per_query.rows() == [("a", 1.0), ("b", 0.5)]
    apart = evaluate([1, 0, 0, 1], [1, 1, 1, 1], qid=["a", "b", "a", "b"], metrics="mrr")
    assert apart.per_query.rows() == [("a", 1.0), ("b", 0.5)]
    by_id = evaluate(
        [1, 0, 0, 1], [1] * 4, qid=["a", "b", "a", "b"], docid=list("wzxy"), metrics="mrr", convention="trec"
    )
    assert by_id.per_query.rows() == [("a", 0.5), ("b", 0.5)]


def forms():
    """Yield functions that convert a list to an array of another library."""
    yield from (np.array, tuple, pl.Series, lambda values: np.array(values, dtype=object))
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    yield from (pandas.Series, pandas.array, lambda values: pandas.Series(values).convert_dtypes())
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    yield from (arrow.array, lambda values: arrow.chunked_array([values[:2], values[2:]]))


def test_arrays_of_every_library_give_the_same_values():
    for qid in (QID, [f"q{i}" for i in QID]):
        expected = evaluate(Y, SCORES, qid=qid, metrics=NAMES).per_query
        assert len(expected) == 2
        for form in forms():
            assert evaluate(form(Y), form(SCORES), qid=form(qid), metrics=NAMES).per_query.equals(expected)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64, np.float32, np.float64])
def test_the_types_of_numbers_have_no_effect(dtype):
    expected = evaluate(Y, SCORES, qid=QID, metrics=NAMES).per_query
    as_type = evaluate(np.array(Y, dtype), SCORES, qid=np.array(QID, dtype), metrics=NAMES).per_query
    assert as_type.select(NAMES).equals(expected.select(NAMES))
    assert as_type["qid"].to_list() == [7, 3]


def test_booleans_are_binary_grades():
    values = evaluate([True, False, True], [1.0, 2.0, 3.0], qid=[1, 1, 1], metrics="map").per_query["map"]
    assert values.to_list() == [pytest.approx((1 + 2 / 3) / 2)]


def test_one_document_per_query_and_queries_without_relevant_documents():
    result = evaluate([0, 1, 0], [1.0, 1.0, 1.0], qid=[1, 2, 3], metrics=["map", "pairwise_accuracy"])
    assert result.per_query["map"].to_list() == [0.0, 1.0, 0.0]
    assert result.per_query["pairwise_accuracy"].to_list() == [None] * 3
    assert result.means.row(1) == ("pairwise_accuracy", None, None, None, 0)
    assert "–" in repr(result)


def test_values_of_pytrec_eval():
    tool = pytest.importorskip("pytrec_eval", reason="needs pytrec-eval-terrier")
    y, _, qid = drawn()
    scores = np.random.default_rng(3).integers(0, 9, len(y))  # many ties
    docid = [f"d{i}" for i in np.random.default_rng(4).permutation(len(y))]
    qrels, run = {}, {}
    for q, d, grade, score in zip(qid, docid, y, scores, strict=True):
        qrels.setdefault(str(q), {})[d] = int(grade)
        run.setdefault(str(q), {})[d] = float(score)
    measures = {"ndcg@10": "ndcg_cut_10", "map": "map", "p@5": "P_5", "recall@10": "recall_10", "mrr": "recip_rank"}
    theirs = tool.RelevanceEvaluator(qrels, tool.supported_measures).evaluate(run)
    ours = evaluate(y, scores, qid=qid, metrics=list(measures), convention="trec", docid=docid).per_query
    for name, measure in measures.items():
        want = [theirs[str(q)][measure] for q in ours["qid"]]
        np.testing.assert_allclose(ours[name].to_numpy(), want, rtol=1e-12, atol=1e-12)


def test_values_of_scikit_learn():
    learn = pytest.importorskip("sklearn.metrics", reason="needs scikit-learn")
    y, scores, qid = drawn()
    ours = evaluate(y, scores, qid=qid, metrics=["ndcg@10"], convention=Convention("own", "", gain="linear")).per_query
    for q, value in ours.rows():
        assert value == pytest.approx(learn.ndcg_score([y[qid == q]], [scores[qid == q]], k=10), rel=1e-12)


def test_files_and_arrays_give_the_same_values(tmp_path):
    y, scores, qid = drawn()
    grouped = np.argsort(qid, kind="stable")
    docid = [f"d{i}" for i in range(len(y))]
    (tmp_path / "qrels").write_text("".join(f"{qid[i]} 0 {docid[i]} {y[i]}\n" for i in range(len(y))))
    run = tmp_path / "run"
    run.write_text("".join(f"{qid[i]} Q0 {docid[i]} 0 {float(scores[i])!r} x\n" for i in range(len(y))))
    (tmp_path / "lines").write_text("".join(f"{float(scores[i])!r}\n" for i in grouped))
    options = {"metrics": NAMES, "convention": "trec"}
    arrays = evaluate(y, scores, qid=qid, docid=docid, **options).per_query.sort("qid")
    assert evaluate(tmp_path / "qrels", run, **options).per_query.sort("qid").equals(arrays)
    assert evaluate(str(tmp_path / "qrels"), str(run), **options).per_query.sort("qid").equals(arrays)
    contiguous = {"qid": qid[grouped], "docid": [docid[i] for i in grouped]}
    assert evaluate(y[grouped], run, **contiguous, **options).per_query.equals(arrays)
    assert evaluate(y[grouped], tmp_path / "lines", **contiguous, **options).per_query.equals(arrays)


def refused(argument, y=Y, scores=SCORES, qid=QID, **options):
    """Check that the input is refused with a sentence that names the argument and a fix."""
    with pytest.raises(GradrankError) as caught:
        evaluate(y, scores, qid=qid, **options)
    message = str(caught.value)
    assert message.startswith(argument)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("argument", "values"),
    [
        *(("y", [-1, 0, 0, 0, 0, 0]), ("y", [0.5, 0, 0, 0, 0, 0]), ("y", ["a"] * 6), ("y", ["1"] * 6), ("y", None)),
        *(("y", [np.nan] * 6), ("y", [np.inf] * 6), ("y", [None, 0, 0, 0, 0, 0]), ("y", [32, 0, 0, 0, 0, 0])),
        *(("y", []), ("y", 5), ("y", [[1, 2, 3, 4, 5, 6]]), ("y", pl.DataFrame({"y": Y})), ("y", {"y": Y})),
        *(("y", [2**40, 0, 0, 0, 0, 0]), ("y", [1j] * 6), ("y", np.ma.masked_equal(Y, 2)), ("y", [[1], [2, 3]])),
        *(("scores", SCORES[:5]), ("scores", [np.nan] * 6), ("scores", [-np.inf] * 6), ("scores", ["1"] * 6)),
        *(("scores", np.zeros((6, 1))), ("scores", np.zeros((6, 2))), ("scores", None), ("scores", [None] * 6)),
        *(("scores", pl.Series([1.0, None, 2, 3, 4, 5])), ("scores", [object()] * 6), ("scores", {})),
        *(("qid", None), ("qid", QID[:5]), ("qid", [1.5] * 6), ("qid", [1, 1, None, 2, 2, 2]), ("qid", 3)),
        *(("qid", [np.nan] * 6), ("qid", [[1]] * 6), ("docid", ["a"]), ("docid", [None, 1.5, 2, 3, 4, 5])),
        *(("metrics", []), ("metrics", None), ("metrics", ["map", "AP"]), ("confidence", 0), ("confidence", 95)),
        ("confidence", "high"),
    ],
)
def test_malformed_arguments_are_named(argument, values):
    assert "Fix:" in refused(argument, **{argument: values})


def test_missing_values_of_pandas_are_refused():
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    for dtype in ("float64", "Float64", "Int64"):
        refused("y", y=pandas.Series([1, None, 0, 0, 0, 0], dtype=dtype))
    refused("qid", qid=pandas.Series(["a", None, "b", "b", "b", "b"]))
    refused("y", y=pandas.DataFrame({"y": Y}))


def test_unknown_names_are_refused_with_the_nearest_name():
    for name, options in (("trec", {"convention": "trek"}), ("map", {"metrics": ["mapp"]})):
        message = refused("unknown", **options)
        assert f"did you mean {name!r}" in message
        assert "Fix:" in message


def test_arguments_that_do_not_fit_a_file_are_refused(tmp_path):
    qrels, lines = tmp_path / "qrels", tmp_path / "lines"
    qrels.write_text("1 0 a 1\n1 0 b 0\n")
    lines.write_text("1\n2\n3\n4\n5\n6\n")
    refused("qid", y=qrels, scores=lines, qid=[1, 1])
    refused("docid", y=qrels, scores=lines, qid=None, docid=["a", "b"])
    refused("scores", y=qrels, scores=[1.0, 2.0], qid=None)
    refused("scores", scores=lines)  # the rows of each query are not next to each other
    refused(str(tmp_path / "none"), y=tmp_path / "none", qid=None)
    refused(str(tmp_path / "none"), scores=tmp_path / "none", qid=sorted(QID))


def test_a_result_prints_as_text_html_markdown_and_latex():
    result = evaluate(Y, SCORES, qid=QID, metrics=["ndcg@3", "map"])
    for text in (repr(result), result._repr_html_(), result.to_markdown(), result.to_latex()):
        assert "NDCG@3" in text
        assert "standard" in text
        assert f"{result.means['mean'][0]:.4f}" in text
    assert result._repr_html_().count("<tr>") == 3
    assert r"95\% intervals" in result.to_latex()


def test_the_listings_have_all_metrics_and_conventions():
    table = metrics()
    assert {"ndcg@{k}", "map", "rbp@{persistence}"} <= set(table["name"])
    assert table.filter(name="iprec_11pt")["expected_ties"].to_list() == [False]
    assert table["definition"].str.ends_with(".").all()
    assert conventions()["name"].to_list() == list(CONVENTIONS)
    assert conventions().filter(name="lightgbm")["empty"].to_list() == [1.0]
