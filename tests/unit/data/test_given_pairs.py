"""Pairs from a user's file: reading, and errors with line and column."""

import gzip
import json

import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.data.pair_files import write_pairs
from gradrank.data.stored import StoredCollection
from made_collection import store


@pytest.fixture
def stored(tmp_path):
    """Two parts; query 7 has documents a to d, query 8 e and f, query 9 g to i. No document has a grade."""
    documents = {1: [(7, "abcd"), (8, "ef")], 2: [(9, "ghi")]}
    rows = {part: [(q, d, 0, 0.0) for q, names in own for d in names] for part, own in documents.items()}
    kinds = {"qid": pl.Int64, "docid": pl.String, "label": pl.Int64, "f1": pl.Float32}
    return store(tmp_path / "c", {part: pl.DataFrame(own, kinds, orient="row") for part, own in rows.items()})


def read(stored, path, parts=(1, 2)):
    """Each pair of the parts: query, rows of better and worse, target, weight."""
    write_pairs(stored, stored.parent / "pairs", given=path)
    collection = StoredCollection.open(stored)
    found = collection.read(parts, collection.pairs(stored.parent / "pairs")).targets
    names = ("query", "better", "worse", "target", "weight")
    return list(zip(*(getattr(found, name).tolist() for name in names), strict=True))


def written(tmp_path, text):
    (tmp_path / "own.csv").write_text(text)
    return tmp_path / "own.csv"


SOFT = "qid,first,second,target,weight\n8,e,f,0.25,2\n9,i,h,1,1\n7,c,a,0.5,1\n7,a,b,0.9,0.5\n"


def test_the_likelier_document_comes_first_in_the_order_of_the_parts(stored, tmp_path):
    expected = [(0, 0, 1, 0.9, 0.5), (0, 0, 2, 0.5, 1.0), (1, 5, 4, 0.75, 2.0), (2, 8, 7, 1.0, 1.0)]
    path = written(tmp_path, SOFT)
    assert read(stored, path) == expected
    turned = read(stored, path, parts=(2, 1))
    assert turned[0] == (0, 2, 1, 1.0, 1.0) and turned[1] == (1, 3, 4, 0.9, 0.5)
    described = json.loads((tmp_path / "pairs/pairs.json").read_text())
    assert described["targets"] == "given" and described["given_sha256"] == sha256(path)
    assert [own["pairs"] for own in described["parts"].values()] == [3, 1]


@pytest.mark.parametrize("name", ["own.parquet", "own.csv.gz"])
def test_any_kind_of_table_says_the_same(stored, tmp_path, name):
    if name.endswith("gz"):
        (tmp_path / name).write_bytes(gzip.compress(SOFT.encode()))
    else:
        pl.read_csv(SOFT.encode(), schema_overrides={"qid": pl.Float64}).write_parquet(tmp_path / name)
    assert read(stored, tmp_path / name) == read(stored, written(tmp_path, SOFT))


def test_preferences_need_no_numbers_and_documents_may_be_counted(stored, tmp_path):
    text = "query_id,first_row,second_row\n7,1,2\n7,2,3\n7,3,1\n"  # in a circle
    assert [pair[:3] for pair in read(stored, written(tmp_path, text))] == [(0, 0, 1), (0, 1, 2), (0, 2, 0)]
    assert {pair[3:] for pair in read(stored, written(tmp_path, text))} == {(1.0, 1.0)}


def test_query_ids_may_be_text(tmp_path):
    frame = pl.DataFrame({"qid": [1, 1, 2, 2], "query": ["x y", "x y", "z", "z"], "docid": list("abab"), "label": 0})
    stored = store(tmp_path / "c", {1: frame})
    assert read(stored, written(tmp_path, "query,first,second\nz,b,a\n"), (1,)) == [(1, 3, 2, 1.0, 1.0)]


REFUSED = {
    "line 3, column 'qid': expected the id of a query in the data, found '70'": "7,a,b,1,1\n70,a,b,1,1",
    "line 2, column 'second': expected the id of a document of this query, found 'e'": "7,a,e,1,1",
    "line 2, column 'second': expected a document other than the first, found 'a'": "7,a,a,1,1",
    "line 3, column 'target': expected a probability from 0 to 1, found '1.5'": "7,a,b,1,1\n7,a,c,1.5,1",
    "line 2, column 'target': expected a probability from 0 to 1, found '-0.1'": "7,a,b,-0.1,1",
    "line 2, column 'target': expected a number, found 'yes'": "7,a,b,yes,1",
    "line 2, column 'target': expected a number, found 'nan'": "7,a,b,nan,1",
    "line 2, column 'target': expected a number, found ''": "7,a,b,,1",
    "line 2, column 'weight': expected a number above 0, found '0'": "7,a,b,1,0",
    "line 2, column 'weight': expected a number above 0, found 'inf'": "7,a,b,1,inf",
    "line 4, column 'target': 1 repeats line 2, which has 1": "7,a,b,1,1\n7,a,c,1,1\n7,a,b,1,1",
    "line 3, column 'target': 0.2 contradicts line 2, which has 1": "7,a,b,1,1\n7,a,b,.2,1",
    "line 3, column 'target': 1 contradicts line 2, ": "7,a,b,1,1\n7,b,a,1,1",
    "line 3, column 'target': 0.25 repeats line 2, ": "7,a,b,.75,1\n7,b,a,.25,1",
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_wrong_is_said_with_line_and_column(stored, tmp_path, message):
    path = written(tmp_path, f"qid,first,second,target,weight\n{REFUSED[message]}\n")
    with pytest.raises(GradrankError, match=rf"own\.csv: {message}"):
        read(stored, path)
    assert not (tmp_path / "pairs").exists()


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("qid,first,second,taget", r"unknown column 'taget' \(did you mean 'target'\?\)"),
        ("qid,first", "qid; first and second"),
        ("qid,first,second,first_row,second_row", "qid; first and second"),
        ("first,second", "qid; first and second"),
        ("qid,first,second", "no rows"),
    ],
)
def test_what_columns_are_expected_is_said(stored, tmp_path, header, message):
    with pytest.raises(GradrankError, match=message):
        read(stored, written(tmp_path, header + "\n"))


@pytest.mark.parametrize("place", ["0", "3", "x", "1.5"])
def test_a_place_beyond_the_query_is_named(stored, tmp_path, place):
    path = written(tmp_path, f"qid,first_row,second_row\n8,1,{place}\n")
    expected = rf"line 2, column 'second_row': expected .* from 1 to 2, found '{place}'"
    with pytest.raises(GradrankError, match=expected):
        read(stored, path)


def test_ids_that_do_not_tell_apart_are_refused(tmp_path):
    frame = pl.DataFrame({"qid": [1, 1, 1], "docid": ["a", "a", "b"], "label": 0})
    stored = store(tmp_path / "c", {1: frame, 2: frame.with_columns(qid=pl.lit(2))})
    with pytest.raises(GradrankError, match=r"line 2, column 'first': .* first_row"):
        read(stored, written(tmp_path, "qid,first,second\n1,a,b\n"))
    both = store(tmp_path / "d", {1: frame, 2: frame})
    with pytest.raises(GradrankError, match=r"line 2, column 'qid': .*several parts"):
        read(both, written(tmp_path, "qid,first_row,second_row\n1,1,3\n"))
    nameless = store(tmp_path / "e", {1: frame.with_columns(docid=pl.lit(None, pl.String))})
    with pytest.raises(GradrankError, match="the data have no document ids"):
        read(nameless, written(tmp_path, "qid,first,second\n1,a,b\n"))


def test_only_tables_are_read_and_rows_of_parquet_counted_without_a_header(stored, tmp_path):
    pl.DataFrame({"qid": [7, 7], "first": ["a", "a"], "second": ["b", "z"]}).write_parquet(tmp_path / "own.parquet")
    with pytest.raises(GradrankError, match=r"own\.parquet: row 2, column 'second'"):
        read(stored, tmp_path / "own.parquet")
    (tmp_path / "own.txt").write_text("7 a b\n")
    with pytest.raises(GradrankError, match=r"own\.txt: .*\.parquet or \.csv"):
        read(stored, tmp_path / "own.txt")
