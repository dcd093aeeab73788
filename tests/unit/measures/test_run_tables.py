"""Runs in tables of other programs, and scores and ids that would lose their identity as floats."""

import gzip
import os
import threading
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.comparison.rankings.evaluation import evaluate
from gradrank.measures.judgements import read_judgements

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

QRELS = "1 0 A 2\n1 0 B 0\n2 0 C 1\n2 0 D 0\n"
LETOR = "2 qid:1 1:0 #docid = A\n0 qid:1 1:0 #docid = B\n1 qid:2 1:0 #docid = C\n0 qid:2 1:0 #docid = D\n"
RUN = {"qid": [2, 1, 2, 1], "docid": list("DACB"), "score": [0.0, 2.0, 1.0, 1.0]}  # an ideal ranking, rows shuffled
ALIASES = [("q_id", "doc_id"), ("query_id", "doc_id"), ("query", "docno"), ("qid", "docno"), ("query-id", "corpus-id")]
ALIASES += [("Query ID", "DOCID"), ("query_id", "product_id"), ("topic", "pid")]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "data.txt").write_text(LETOR)
    return tmp_path


def write(path, frame):
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    else:
        frame.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    return path


def values(data, run):
    return evaluate(data, run, metrics=["ndcg@10"]).per_query["ndcg@10"].to_list()


@pytest.mark.parametrize("name", ["run.parquet", "run.csv", "run.tsv", "run.csv.gz"])
@pytest.mark.parametrize("names", ALIASES, ids=" ".join)
def test_a_run_with_the_id_columns_of_any_program_is_matched_by_ids(folder, names, name):
    run = write(folder / name, pl.DataFrame(RUN).rename(dict(zip(("qid", "docid"), names, strict=True))))
    for data in ("data.txt", "qrels"):
        assert values(folder / data, run) == [1.0, 1.0]


@pytest.mark.parametrize("kind", ["dictionary", "large_string", "string_view", "binary"])
def test_any_type_of_text_is_an_id(folder, kind):
    ids = pa.array(RUN["docid"])
    ids = ids.dictionary_encode() if kind == "dictionary" else ids.cast(getattr(pa, kind)())
    pq.write_table(pa.table(RUN | {"docid": ids}), folder / "run.parquet")
    assert values(folder / "qrels", folder / "run.parquet") == [1.0, 1.0]


def test_of_several_id_columns_the_one_with_ids_of_the_data_is_used(folder):
    pyterrier = pl.DataFrame(RUN).rename({"docid": "docno"}).with_columns(docid=pl.lit(7), query=pl.lit("some words"))
    assert values(folder / "qrels", write(folder / "run.parquet", pyterrier)) == [1.0, 1.0]
    with pytest.raises(GradrankError, match="'docno' and 'docid'"):
        values(folder / "qrels", write(folder / "run.parquet", pyterrier.with_columns(docno=pl.lit("x"))))
    with pytest.raises(GradrankError, match="'qid' and 'QID'"):
        values(folder / "qrels", write(folder / "run.parquet", pl.DataFrame(RUN).with_columns(QID=3 - pl.col("qid"))))


@pytest.mark.parametrize("column", ["asin", "srch_id", "x"])
@pytest.mark.parametrize("cells", [list("DACB"), [4, 1, 3, 2]], ids=["text", "numbers"])
def test_an_unexplained_column_of_a_table_without_ids_is_refused(folder, column, cells):
    run = write(folder / "run.parquet", pl.DataFrame({column: cells, "score": RUN["score"]}))
    with pytest.raises(GradrankError, match=f"'{column}'.*Fix:"):
        values(folder / "data.txt", run)


def test_explained_columns_and_plain_text_keep_the_row_order(folder):
    in_order = pl.DataFrame({"score": [2.0, 1.0, 2.0, 1.0], "rank": [1, 2, 1, 2], "label": [2, 0, 1, 0]})
    indexed = in_order.with_columns(pl.Series("__index_level_0__", [3, 2, 1, 0]))
    for name, frame in (("a.parquet", in_order), ("b.parquet", indexed), ("c.csv", in_order)):
        assert values(folder / "data.txt", write(folder / name, frame)) == [1.0, 1.0]
    for name, text in (("d.csv", "2\n1\n2\n1\n"), ("e.tsv", "1\tQ0\tA\t1\t2\tx\n1\tQ0\tB\t2\t1\tx\n")):
        (folder / name).write_text(text)
        assert values(folder / "data.txt", folder / name)[0] == 1.0


QRELS_TABLES = {
    "ir_datasets": ("query_id,doc_id,relevance,iteration\n1,A,2,0\n2,C,1,0\n", ".csv"),
    "BEIR": ("query-id\tcorpus-id\tscore\n1\tA\t2\n2\tC\t1\n", ".tsv"),
    "ranx": ("q_id,doc_id,score\n1,A,2\n2,C,1\n", ".csv"),
}


@pytest.mark.parametrize("program", QRELS_TABLES)
def test_a_table_of_judged_documents_allows_others_in_the_run(folder, program, capsys):
    text, suffix = QRELS_TABLES[program]
    (folder / f"judged{suffix}").write_text(text)
    assert values(folder / f"judged{suffix}", write(folder / "run.csv", pl.DataFrame(RUN))) == [1.0, 1.0]
    assert "2 documents of the ranking are not judged" in capsys.readouterr().err


@pytest.mark.parametrize("data", ["qrels", "data.txt"])
def test_a_run_without_a_common_query_is_refused_with_an_example_of_each_id(folder, data):
    run = write(folder / "run.csv", pl.DataFrame(RUN).with_columns(qid=pl.format("q{}", "qid")))
    with pytest.raises(GradrankError, match="'q2' in this file and '1' in the data"):
        values(folder / data, run)


def test_a_run_of_which_no_document_is_judged_is_noted(folder, capsys):
    run = write(folder / "run.csv", pl.DataFrame(RUN).with_columns(docid=pl.format("doc-{}", "docid")))
    assert values(folder / "qrels", run) == [0.0, 0.0]
    assert "'doc-D' in the ranking, 'A' in the judgements" in capsys.readouterr().err


WIDE = 2**53
MERGED = {
    "int64": np.array([WIDE, WIDE + 1, 1, 0]),
    "uint64": np.array([2**63, 2**63 + 1, 1, 0], np.uint64),
    "int128": pl.Series([2**100, 2**100 + 1, 1, 0], dtype=pl.Int128),
    "decimal": pl.Series([Decimal("1.00000000000000000001"), Decimal(1), Decimal(0), Decimal(1)]),
    "list": [2**63 + 1, 2**63 + 2, 1, 0],
    "large list": [2**70, 2**70 + 1, 1, 0],
    "beyond floats": [2**2000, 1, 1, 0],
    "objects": np.array([WIDE, WIDE + 1, 1, 0], object),
    "long double": np.array([1, 1 + np.longdouble(2) ** -60, 1, 0], np.longdouble),
}


@pytest.mark.parametrize("kind", MERGED)
def test_scores_that_would_be_merged_are_refused(folder, kind):
    if kind == "long double" and np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("needs a long double that is wider than a double")
    with pytest.raises(GradrankError, match="64-bit float"):
        evaluate([2, 0, 1, 0], MERGED[kind], qid=[1, 1, 2, 2])
    if kind in ("int64", "uint64"):
        write(folder / "run.parquet", pl.DataFrame({"score": MERGED[kind]}))
        write(folder / "run.csv", pl.DataFrame({"score": MERGED[kind]}))
        (folder / "run.txt").write_text("".join(f"{score}\n" for score in MERGED[kind]))
        for name in ("run.parquet", "run.csv", "run.txt"):
            with pytest.raises(GradrankError, match="64-bit float"):
                values(folder / "data.txt", folder / name)


def test_large_scores_that_stay_apart_are_ranked():
    for scores in ([2**70, 1, 5, 2], np.array([WIDE + 2, WIDE, 5, 2]), np.array([1e300, 1, 5, 2])):
        assert evaluate([2, 0, 1, 0], scores, qid=[1, 1, 2, 2], metrics=["map"]).means["mean"][0] == 1.0


@pytest.mark.parametrize(("kind", "gap"), [(np.float16, 2**11), (np.float32, 2**24), (np.float64, 2**53)])
@pytest.mark.parametrize("form", ["array", "series", "file"])
def test_float_ids_beyond_the_first_gap_of_their_type_are_refused(folder, kind, gap, form):
    def read(ids):
        if form == "file":
            path = write(folder / "a.parquet", pl.DataFrame({"qid": ids, "label": [2, 0, 1, 0]}))
            return read_judgements(path).qids.tolist()
        given = ids if form == "array" else pl.Series(ids)
        return evaluate([2, 0, 1, 0], [2, 1, 2, 1], qid=given).per_query["qid"].to_list()

    assert read(np.array([gap - 2, gap - 2, 2, 2], kind)) == [gap - 2, 2]
    with pytest.raises(GradrankError, match="too large for a float"):
        read(np.array([gap, gap, 2, 2], kind))


def test_wide_ids_keep_all_digits():
    for ids in ([2**100, 2**100 + 1], [Decimal(2**80), Decimal(2**80 + 1)], np.array([2**63, 2**63 + 1], np.uint64)):
        assert evaluate([1, 1], [1, 2], qid=ids).per_query["qid"].to_list() == [str(int(each)) for each in ids]


def test_decimal256_is_refused_without_a_backtrace(folder, capfd):
    wide = pa.array([Decimal(1)] * 4, pa.decimal256(50, 2))
    pq.write_table(pa.table(RUN | {"score": wide}), folder / "run.parquet")
    with pytest.raises(GradrankError, match=r"column 'score' has the type decimal256.*Fix:"):
        values(folder / "qrels", folder / "run.parquet")
    with pytest.raises(GradrankError, match="decimal256"):
        evaluate([2, 0, 1, 0], wide, qid=[1, 1, 2, 2])
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize("content", [LETOR.encode(), QRELS.encode(), b"no data\n"], ids=["letor", "qrels", "malformed"])
def test_a_pipe_is_read_once_and_named_in_messages(folder, content):
    os.mkfifo(folder / "pipe")
    run = write(folder / "run.csv", pl.DataFrame(RUN))
    writer = threading.Thread(target=(folder / "pipe").write_bytes, args=[content])
    writer.start()
    if content.startswith(b"no"):
        with pytest.raises(GradrankError, match=f"{folder}/pipe: line 1"):
            values(folder / "pipe", run)
    else:
        assert values(folder / "pipe", run) == [1.0, 1.0]
    writer.join()
