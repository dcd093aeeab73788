"""Judgements and runs in the forms that other programs hold in memory and write to files.

Every form has the same judgements and the same run, so every form must give the values of trec_eval for them.
"""

import json
from io import StringIO
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from gradrank import compare, evaluate, explain_convention
from gradrank.base.errors import GradrankError

QRELS = {"q1": {"d1": 2, "d2": 0, "d3": 1, "d4": -1}, "q2": {"d1": 1, "d9": 0}}
RUN = {"q1": {"d3": 3.0, "d1": 2.0, "d7": 1.0}, "q2": {"d9": 2.0, "d1": 1.0}, "q9": {"d1": 1.0}}
# ndcg_cut_10, map and recall_2 of pytrec_eval.RelevanceEvaluator(QRELS, {...}).evaluate(RUN), version 0.5
MEASURES = ["ndcg@10", "map", "recall@2"]
VALUES = {"q1": [0.8597186998521972, 1.0, 1.0], "q2": [0.6309297535714575, 0.5, 1.0]}
Q = [(query, document, grade) for query, documents in QRELS.items() for document, grade in documents.items()]
R = [(query, document, score) for query, documents in RUN.items() for document, score in documents.items()]
RANKS = [(query, document, rank) for query, each in RUN.items() for rank, document in enumerate(each, start=1)]


def columns(rows, *names):
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def rows(table, *names):
    return [dict(zip(names, row, strict=True)) for row in table]


def of_pandas():
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    return (
        pandas.DataFrame(columns(Q, "query_id", "doc_id", "relevance")),
        pandas.DataFrame(columns(R, "query_id", "doc_id", "score")),
    )


def of_pandas_series():
    qrels, run = of_pandas()
    return [frame.set_index(["query_id", "doc_id"]).iloc[:, 0] for frame in (qrels, run)]


def of_pandas_series_per_query():
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    return [{query: pandas.Series(documents) for query, documents in each.items()} for each in (QRELS, RUN)]


class Hit(NamedTuple):
    docid: str
    score: float


def hits(kind):
    return QRELS, {query: [kind(*pair) for pair in documents.items()] for query, documents in RUN.items()}


def of_pyterrier():
    """Runs of PyTerrier have its own document numbers in `docid` and the words of the query in `query`."""
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    run = pandas.DataFrame(columns(R, "qid", "docno", "score")).assign(docid=7, rank=0, query="some words")
    return pandas.DataFrame(columns(Q, "qid", "docno", "label")), run


def of_pandas_index():
    qrels, run = of_pandas()
    return qrels.set_index(["query_id", "doc_id"]), run.set_index("query_id")


def of_ir_measures():
    tool = pytest.importorskip("ir_measures", reason="needs ir-measures")
    return [tool.Qrel(*row) for row in Q], (tool.ScoredDoc(*row) for row in R)


def of_ranx():
    tool = pytest.importorskip("ranx", reason="needs ranx")
    return tool.Qrels(QRELS), tool.Run(RUN)


def of_hugging_face():
    tool = pytest.importorskip("datasets", reason="needs datasets")
    qrels, run = columns(Q, "query-id", "corpus-id", "score"), columns(R, "qid", "docid", "score")
    return tool.DatasetDict(test=tool.Dataset.from_dict(qrels)), tool.Dataset.from_dict(run)


class LikeRanx:
    """Qrels and Run of ranx have the methods `keys` and `to_dict`."""

    def __init__(self, data):
        self.keys, self.to_dict = data.keys, lambda: data


def of_polars():
    return pl.DataFrame(columns(Q, "qid", "docid", "label")), pl.DataFrame(columns(R, "qid", "docid", "score"))


def structured(table, name, kind):
    return np.array(table, dtype=[("qid", "U9"), ("docid", "U9"), (name, kind)])


HELD = {
    "dict of dicts": lambda: (QRELS, RUN),
    "Polars": of_polars,
    "lazy Polars": lambda: tuple(frame.lazy() for frame in of_polars()),
    "Arrow": lambda: tuple(frame.to_arrow() for frame in of_polars()),
    "pandas": of_pandas,
    "pandas with ids in the index": of_pandas_index,
    "pandas Series with two levels of ids": of_pandas_series,
    "a pandas Series per query": of_pandas_series_per_query,
    "hits of Pyserini": lambda: hits(Hit),
    "hits of sentence-transformers": lambda: hits(lambda document, score: {"corpus_id": document, "score": score}),
    "lists of three": lambda: ([list(row) for row in Q], [list(row) for row in R]),
    "PyTerrier": of_pyterrier,
    "ir_measures": of_ir_measures,
    "ranx": of_ranx,
    "attributes of ranx": lambda: (LikeRanx(QRELS), LikeRanx(RUN)),
    "Hugging Face": of_hugging_face,
    "tuples": lambda: (Q, R),
    "list of rows": lambda: (rows(Q, "qid", "docid", "rel"), rows(R, "qid", "docid", "score")),
    "dict of columns": lambda: (columns(Q, "topic", "docno", "grade"), columns(R, "topic", "docno", "score")),
    "dict of pairs": lambda: ({q: [*d.items()] for q, d in QRELS.items()}, {q: [*d.items()] for q, d in RUN.items()}),
    "dict of lists of two": lambda: (QRELS, {query: [list(each) for each in d.items()] for query, d in RUN.items()}),
    "dict of arrays of ids": lambda: (QRELS, {query: np.array([*documents]) for query, documents in RUN.items()}),
    "dict of ranked lists": lambda: (QRELS, {query: [*documents] for query, documents in RUN.items()}),
    "structured arrays": lambda: (structured(Q, "rel", "i8"), structured(R, "score", "f8")),
    "queries apart": lambda: (
        pl.DataFrame(sorted(Q, key=lambda row: row[1]), ["qid", "docid", "label"], orient="row"),
        R,
    ),
}


@pytest.mark.parametrize("form", HELD)
def test_every_form_in_memory_has_the_values_of_trec_eval(form):
    result = evaluate(*HELD[form](), metrics=MEASURES, convention="trec").per_query
    assert {query: list(values) for query, *values in result.rows()} == {
        query: pytest.approx(values, rel=1e-12) for query, values in VALUES.items()
    }


def text(table, pattern="{0} {1} {2}\n", head=""):
    return head + "".join(pattern.format(*row) for row in table)


FILES = {
    "comments, blank lines and words after the tag": (
        ("q.txt", text(Q, "{0} 0 {1} {2}\n", "# a comment\n\n")),
        ("r.txt", text(R, "{0}\tQ0\t{1}\t0\t  {2}\tmy tag\n", "# a comment\n\n") + "# the end\n"),
    ),
    "no tag": (("q", text(Q)), ("r", text(R, "{0} Q0 {1} 0 {2}\n"))),
    "grades with a decimal point": (("q", text(Q, "{0} 0 {1} {2}.0\n")), ("r", text(R, "{0} Q0 {1} 0 {2} x\n"))),
    "MS MARCO": (("q.tsv", text(Q, "{0}\t0\t{1}\t{2}\n")), ("r.tsv", text(RANKS, "{0}\t{1}\t{2}\n"))),
    "MS MARCO with another suffix": (("q.txt", text(Q, "{0}\t{1}\t{2}\n")), ("r.txt", text(RANKS, "{0}\t{1}\t{2}\n"))),
    "three fields with scores": (("q", text(Q)), ("r", text(R))),
    "ColBERT": (("q", text(Q)), ("r.tsv", text(R, "{0}\t{1}\t1\t{2}\n"))),
    "BEIR": (
        ("q.tsv", text(Q, "{0}\t{1}\t{2}\n", "query-id\tcorpus-id\tscore\n")),
        ("r.tsv", text(R, "{0}\t{1}\t{2}\n", "query-id\tcorpus-id\tscore\n")),
    ),
    "CSV with negative grades": (("q.csv", text(Q, "{0},{1},{2}\n", "qid,docno,label\n")), ("r", text(R))),
    "JSON of ranx": (("q.json", json.dumps(QRELS)), ("r.json", json.dumps(RUN, indent=2))),
    "JSON lines": (
        ("q.jsonl", "\n".join(map(json.dumps, rows(Q, "query_id", "doc_id", "relevance")))),
        ("r.ndjson", "\n".join(map(json.dumps, rows(R, "query_id", "doc_id", "score")))),
    ),
    "JSON array": (
        ("q.json", json.dumps(rows(Q, "qid", "docid", "rel"))),
        ("r.json", json.dumps(rows(R, "qid", "docid", "score"), indent=1)),
    ),
}


@pytest.mark.parametrize("form", FILES)
def test_every_form_of_a_file_has_the_values_of_trec_eval(form, tmp_path):
    paths = [tmp_path / name for name, _ in FILES[form]]
    for path, (_, content) in zip(paths, FILES[form], strict=True):
        path.write_text(content)
    result = evaluate(*paths, metrics=MEASURES, convention="trec").per_query
    assert {query: list(values) for query, *values in result.rows()} == {
        query: pytest.approx(values, rel=1e-12) for query, values in VALUES.items()
    }


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_feather_files_are_read(compression, tmp_path):
    qrels, run = of_polars()
    qrels.write_ipc(tmp_path / "q.feather", compression=compression)
    run.write_ipc(tmp_path / "r.arrow", compression=compression)
    assert evaluate(tmp_path / "q.feather", tmp_path / "r.arrow").per_query.equals(evaluate(QRELS, RUN).per_query)


@pytest.mark.parametrize("ids", [int, np.int64, str])
def test_ids_are_equal_if_their_text_is_equal(ids):
    qrels = {ids(1): {ids(10): 1, ids(11): 0}}
    assert evaluate(qrels, {"1": {"10": 0.5, "11": 0.9}}, metrics="mrr").means["mean"][0] == 0.5


def test_document_ids_in_tuples_can_be_integers():
    qrels, run = [("q1", 10, 1), ("q1", 11, 0)], [("q1", 10, 0.5), ("q1", 11, 0.9)]
    assert evaluate(qrels, run, metrics="mrr").means["mean"][0] == 0.5
    with pytest.raises(GradrankError, match=r"Fix:"):  # may be a matrix of grades
        evaluate([(1, 0, 2), (0, 1, 0)], run)


def test_judgements_without_grades_have_the_grade_1(capsys):
    run = {"a": {"x": 1.0, "y": 2.0}}
    for qrels in ({"a": ["x"]}, {"a": {"x"}}, pl.DataFrame({"qid": ["a"], "docid": ["x"]})):
        assert evaluate(qrels, run, metrics="mrr").means["mean"][0] == 0.5
    assert "every document has grade 1" in capsys.readouterr().err


def test_a_frame_with_grades_and_scores_in_one_order_needs_no_document_ids():
    frame = pl.DataFrame({"qid": [1, 2, 1, 2], "label": [1, 0, 0, 1], "x": 0.0, "score": [1.0, 2.0, 2.0, 1.0]})
    expected = evaluate(frame["label"], frame["score"], qid=frame["qid"]).per_query
    for scores in (frame, frame.drop("qid"), frame["score"], frame.select("score").lazy()):
        assert evaluate(frame, scores).per_query.equals(expected)
    with pytest.raises(GradrankError, match=r"not those of y in the same order.*Fix:"):
        evaluate(frame, frame.sort("qid"))


def test_every_function_takes_every_form():
    runs = {"a": RUN, "b": of_polars()[1], "c": (row for row in R)}
    assert compare(runs, QRELS, metric="map").table["difference"].to_list() == [0.0] * 3
    assert explain_convention(of_polars()[0].lazy(), LikeRanx(RUN)).means.filter(convention="trec")["mean"][0] > 0


@pytest.mark.parametrize(
    ("y", "scores", "message"),
    [
        ({}, RUN, "y: the dict is empty"),
        ({"q1": {}}, RUN, "y: no query has documents"),
        ({"q1": {"d1": "two"}}, RUN, "y: row 1, column 'relevance'.*'two'"),
        ({"q1": {"d1": 0.5}}, RUN, "y: row 1, column 'relevance'.*whole number"),
        ({"q1": {"d1": 1}, "q2": 3}, RUN, "y: expected a dict from document id to relevance for query 'q2', found int"),
        ([("q1", "d1", 1), ("q1", "d1", 0)], RUN, "y, row 2: document 'd1' of query q1 is judged twice"),
        (QRELS, {"q1": {"d1"}}, "scores: query 'q1' has a set, which has no order"),
        (QRELS, {"q1": ["d1", "d1"]}, "scores: query 'q1' has a document twice"),
        (QRELS, {"q1": {"d2": 1.0, "d1": None}}, "scores: document 'd1' of query q1 has None as its score"),
        ({"q1": {"d2": None}}, RUN, "y: document 'd2' of query q1 has None as its relevance"),
        ({"q1": {"d1": 1, "d2": float("nan")}}, RUN, "y: row 2, column 'relevance'.*nan"),
        (QRELS, pl.DataFrame({"qid": [], "docid": [], "score": []}), "scores: "),
        (QRELS, {"q7": {"d1": 1.0}}, "scores: no query of this file is in the data"),
        (QRELS, [1.0] * 6, "scores: an array has no document ids"),
        (StringIO("q1 0 d1 1"), RUN, "y: an open file. Fix: give its path"),
        (pl.DataFrame({"grade": [1]}), RUN, "y: .*a table without a column of query ids"),
        (QRELS, pl.DataFrame({"qid": ["q1"], "docid": ["d1"]}), "scores: no column of scores"),
        (QRELS, pl.DataFrame({"qid": ["q1"], "score": [1.0]}), "scores: expected both columns"),
    ],
)
def test_malformed_data_are_named(y, scores, message):
    with pytest.raises(GradrankError, match=f"(?s)^{message}") as caught:
        evaluate(y, scores)
    assert "Fix:" in str(caught.value)


@pytest.mark.parametrize(
    ("qrels", "run", "place"),
    [
        (b"q1 0 d1 1\nq1 0 d1 1\n", b"q1 Q0 d1 1 2.0 x\n", "qrels, line 2"),
        (b"q1 0 d1 1\nq1 0 d1 2\n", b"q1 Q0 d1 1 2.0 x\n", "qrels, line 2"),
        (b"q1 0 d1 1\nq1 0 d2 high\n", b"q1 Q0 d1 1 2.0 x\n", "qrels, line 2"),
        ("q1 0 dé 1\n".encode("latin1"), b"q1 Q0 d1 1 2.0 x\n", "qrels"),
        (b"q1 Q0 d1 1 2.0 x\n", b"q1 0 d1 1\n", "qrels"),
        (b"q1 0 d1 1\n", b"", "run"),
        (b"q1 0 d1 1\n", b"q1 Q0 d1 1 2.0 x\nq1 Q0\n", "run, line 2"),
        (b"q1 0 d1 1\n", "q1 Q0 dé 1 2.0 x\n".encode("latin1"), "run"),
    ],
)
def test_errors_of_text_files_say_where_and_how_to_repair(qrels, run, place, tmp_path):
    for name, content in (("qrels", qrels), ("run", run)):
        (tmp_path / name).write_bytes(content)
    with pytest.raises(GradrankError, match=rf"^{tmp_path}/{place}.*Fix:"):
        evaluate(tmp_path / "qrels", tmp_path / "run")


def test_scores_beyond_float32_are_refused_under_the_convention_of_trec_eval():
    run = {"q1": {"d1": 1e308, "d2": -1e308}}
    assert evaluate(QRELS, run, metrics="mrr").per_query["mrr"][0] == 1.0
    with pytest.raises(GradrankError, match=r"^scores: .*1e\+308.*Fix:"):
        evaluate(QRELS, run, metrics="mrr", convention="trec")


def test_the_content_of_a_file_is_no_path():
    with pytest.raises(GradrankError, match=r"^'q1 0 d1 1.*Fix:"):
        evaluate("q1 0 d1 1\n" * 2000, RUN)


@pytest.mark.parametrize("content", ['{"q1": {"d1": 1}', '{"a": 1}\n{"a":\n', "[1, 2]", "ARROW1\0\0"])
def test_malformed_files_are_named(content, tmp_path):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(GradrankError, match=rf"^{tmp_path}/run.json: .*Fix:"):
        evaluate(QRELS, tmp_path / "run.json")
