"""Inputs that once gave wrong results silently, or a traceback, are refused or read as they are meant."""

import datetime
import io
from decimal import Decimal

import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.inspect import inspect
from gradrank.data.parse import parse
from gradrank.data.reader import read_collection
from gradrank.data.stored import StoredCollection
from gradrank.data.tables.roles import Columns
from gradrank.measures.judgements import read_judgements


def read(tmp_path, content, name="a.csv", **columns):
    """The reading of one file and its rows; bytes, text, or a frame that is stored as Parquet."""
    path = tmp_path / name
    if isinstance(content, pl.DataFrame):
        path = path.with_suffix(".parquet")
        content.write_parquet(path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    reading = read_collection([path], Columns(**columns))
    return reading, pl.concat(reading.frames(reading.sources[0]))


def frame(**columns) -> pl.DataFrame:
    return pl.DataFrame({"qid": ["1", "1", "2"], "label": [0, 1, 2], "a": [0.5, 1.5, 2.5]} | columns)


REFUSED = {
    "label twice": ("qid,label,label,a\n1,0,1,.5\n", "2 columns are called 'label'"),
    "qid twice": ("qid,qid,label,a\n1,1,0,.5\n", "2 columns are called 'qid'"),
    "two grades": ("qid,label,grade,a\n1,0,1,.5\n", "'label' and 'grade' may each be the label column"),
    "hidden grade": ("qid,label,true_label,a\n1,0,0,1\n", r"'true_label' may be a grade.*`keep: \[true_label\]`"),
    "pandas' second label": ("qid,label,label.1,a\n1,0,0,1\n", "'label.1' may be a grade"),
    "weights under another name": ("qid,label,Sample_Weights,a\n1,0,0,1\n", "'Sample_Weights' may be the weights"),
    "ids in the plural": ("qid,label,docids,a\n1,0,0,1\n", "'docids' may be the id of a row"),
    "the number of a topic": ("qid,label,topic_number,a\n1,0,0,1\n", "'topic_number' may be the id of a row"),
    "weights": ("qid,label,weight,a\n1,0,0,1\n", "'weight' may be the weights of rows"),
    "a number of the row": ("qid,label,id,a\n1,0,0,1\n", "'id' may be the id of a row"),
    "a session": ("qid,label,session_id,a\n1,0,1,1\n", "'session_id' may be the id of a row"),
    "clicks": ("qid,label,clicks,a\n1,0,1,1\n", "'clicks' may be a grade"),
    "a fold": ("qid,label,fold,a\n1,0,0,1\n", "'fold' may be the part"),
    "few fields": ("qid,label,a\n1,0,.5\n\n1,1\n2,2,2\n", "line 4: 2 fields, but the header has 3"),
    "cut last row": ("qid,label,a\n1,0,.5\n1", "line 3: 1 fields"),
    "many fields": ("qid,label,a\n1,0,.5,7\n", "line 2: 4 fields"),
    "after a field of two lines": ('qid,label,docid,a\n1,0,"x\ny",1\n1,0,1\n', "line 4: 3 fields"),
    "quote inside": ('qid,label,a\n1,0,5"3\n', "line 2: a quote"),
    "open quote": ('qid,label,a\n1,0,"5\n2,0,3\n', "line 2: a quote"),
    "no query": ("qid,label,a\n1,0,.5\n,1,2\n", "line 3, column 'qid': has no query id"),
    "quoted empty query": ('qid,label,a\n1,0,.5\n"",1,2\n', "line 3, column 'qid': has no query id"),
    "NaN query": ("qid,label,a\n1,0,.5\nNaN,1,2\n", "line 3, column 'qid': has no query id"),
    "padded query": ("qid,label,a\n1,0,.5\n1 ,1,2\n", "line 3, column 'qid': expected a query id without blanks"),
    "no grade": ("qid,label,a\n1,,.5\n", "line 2, column 'label': expected a grade"),
    "fractional grade": ("qid,label,a\n1,1.5,.5\n", "expected a grade"),
    "infinite grade": ("qid,label,a\n1,inf,.5\n", "expected a grade"),
    "Unicode digit": ("qid,label,a\n1,١,.5\n", "expected a grade"),
    "infinite feature": ("qid,label,a\n1,1,-inf\n", "line 2, column 'a': expected a number"),
    "word for a feature": ("qid,label,a\n1,1,1\n1,0,1_0\n", "line 3, column 'a': expected a number.*found '1_0'"),
    "Latin-1 header": ("qid,label,größe\n1,0,1\n".encode("latin-1"), "not UTF-8 text"),
    "UTF-16": ("qid,label,a\n1,0,1\n".encode("utf-16"), "text in UTF-16"),
    "header alone": ("qid,label,a\n", "no rows"),
    "empty": ("", "empty; expected a header"),
    "no features": ("qid,label\n1,0\n", "no column is left for features"),
    "NaN query in Parquet": (frame(qid=[1.0, None, 2.0]), "row 2, column 'qid': has no query id"),
    "float queries": (frame(qid=[1.0, 1.9, 2.0]), r"row 2, column 'qid': the id 1.9 is a fraction"),
    "lists for queries": (frame(qid=[[1], [1], [2]]), "column 'qid' is List"),
    "dates for grades": (frame(label=[datetime.date(1970, 1, 2)] * 3), "'label' is Date, not grades"),
    "lists for grades": (frame(label=[[0], [1], [2]]), "'label' is List"),
    "structs for grades": (frame(label=[{"x": 0}] * 3), "'label' is Struct"),
    "words for grades": (frame(label=pl.Series(["bad", "bad", "good"], dtype=pl.Categorical)), "found 'bad'"),
    "dates for a feature": (frame(b=[datetime.date(1970, 1, 1)] * 3), "'b' is Date, not numbers"),
    "binary queries": (frame(qid=[b"\xff", b"\xff", b"1"]), "ids that are not UTF-8 text"),
    "split query": (
        frame(qid=["1", "2", "1"]),
        r"row 3, column 'qid': query 1 comes back.*sort the table.*--group-rows",
    ),
    "fractional grade in Parquet": (
        frame(label=[0.0, 1.5, 2.0]),
        r"row 2, column 'label': expected a grade.*found 1\.5",
    ),
    "text of numbers in Parquet": (frame(a=["1"] * 3), r"column 'a' is String, not numbers; .*ignore: \[a\]"),
    "infinite feature in Parquet": (
        frame(a=[0.0, 1.0, float("inf")]),
        "row 3, column 'a': expected a finite number.*inf",
    ),
    "unnamed column": ("qid,label,a,,b\n1,0,2,3,4\n", "column 4 has no name.*Fix"),
    "column that pandas names": ("qid,label,a,Unnamed: 3,b\n1,0,2,3,4\n", "column 4 has no name.*Fix"),
    "unnamed column in Parquet": (frame(b=[1] * 3, c=[1] * 3).rename({"b": ""}), "column 4 has no name.*Fix"),
    "no query column": (frame().rename({"qid": "asked"}), "no query column; .*found asked, label, a.*`query: NAME`"),
}


@pytest.mark.parametrize(("content", "reason"), REFUSED.values(), ids=REFUSED)
def test_refused(tmp_path, content, reason):
    with pytest.raises(GradrankError, match=rf"a\.(csv|parquet): .*{reason}"):
        read(tmp_path, content)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (
            {"ignore": ("relevance2",)},
            r"no column 'relevance2', although it is declared \(did you mean 'Relevance2'\?\)",
        ),
        ({"keep": ("b",)}, "no column 'b', although it is declared"),
        ({"query": "qids"}, r"no column 'qids', although it is declared \(did you mean 'qid'\?\)"),
        ({"label": "qid"}, "no query column"),
        ({"label": "a", "ignore": ("a",)}, "column 'a' is declared twice"),
    ],
)
def test_what_is_declared_must_be_there(tmp_path, columns, reason):
    with pytest.raises(GradrankError, match=reason):
        read(tmp_path, "qid,label,a,Relevance2\n1,0,2,3\n", **columns)


@pytest.mark.parametrize(
    ("header", "columns", "features"),
    [
        ("qid,label,grade,a", {"label": "label"}, ["a"]),
        ("qid,label,weight,a", {"ignore": ("weight",)}, ["a"]),
        ("qid,label,weight,a", {"keep": ("weight",)}, ["weight", "a"]),
        ("qid,label,prob,a", {}, ["a"]),
        ("qid,label,prob,inc", {"keep": ("inc", "prob")}, ["prob", "inc"]),
        (",qid,label,a", {}, ["a"]),
        ("Unnamed: 0,qid,label,a", {}, ["a"]),
        ("__index_level_0__,qid,label,a", {}, ["a"]),
        ("Unnamed: 0.1,qid,label,a,index", {}, ["a"]),
        ("\ufeffQuery-ID,Relevance,docno,a,b", {}, ["a", "b"]),
    ],
)
def test_which_columns_are_features_and_a_reason_for_the_others(tmp_path, header, columns, features):
    reading, _ = read(tmp_path, header + "\n1" + ",1" * header.count(",") + "\n", **columns)
    assert reading.names == features
    shown = "\n".join(inspect(tmp_path / "a.csv", Columns(**columns)))
    left = set(header.strip("\ufeff").split(",")) - {*features, "qid", "label", "Query-ID", "Relevance", "docno"}
    assert all(f"set aside: {name!r}" in shown for name in left)


def test_a_column_of_parquet_without_a_name_is_set_aside(tmp_path):
    assert read(tmp_path, frame(b=[1, 2, 3]).rename({"b": ""}))[0].names == ["a"]


def test_ids_are_text_whole_and_as_they_are_written(tmp_path):
    ids = ["001", "01e1", "1e5", "9", "09", "009", "1.0", "x" * 200, "9" * 30]
    csv = "".join(f"{each},1,{each},.5\n" for each in ids)
    letor = "".join(f"1 qid:{each} 1:.5 #docid = {each}\n" for each in ids)
    for content, name in (("qid,label,docid,a\n" + csv, "a.csv"), (letor, "a.txt")):
        reading, rows = read(tmp_path, content, name)
        assert reading.sources[0].names == rows["query"].to_list() == rows["docid"].to_list() == ids
        assert read_judgements(tmp_path / name).ids.tolist() == ids
    assert read(tmp_path, "qid,label,a\n7,0,1\n07,0,1\n")[1]["query"].to_list() == ["7", "07"]
    assert read(tmp_path, "0 qid:7 1:1\n0 qid:07 1:1\n", "a.txt")[1]["query"].to_list() == ["7", "07"]


@pytest.mark.parametrize(
    "kind", [pl.Int8, pl.UInt64, pl.Float64, pl.String, pl.Categorical, pl.Binary, pl.Decimal(9, 0)]
)
def test_ids_and_grades_of_any_plain_type_are_what_they_spell(tmp_path, kind):
    ids = pl.Series(["1", "1", "2"])
    ids = ids.cast(kind) if kind in (pl.String, pl.Categorical, pl.Binary) else ids.cast(pl.Int64).cast(kind)
    grades = pl.Series(["0", "1", "2"])
    grades = grades.cast(kind) if kind in (pl.String, pl.Categorical) else pl.Series([0, 1, 2]).cast(pl.Int32)
    _, rows = read(tmp_path, frame(qid=ids, docid=ids, label=grades))
    assert rows["qid"].to_list() == [1, 1, 2] and rows["docid"].to_list() == ["1", "1", "2"]
    assert rows["label"].to_list() == [0, 1, 2]


SPELT = {"1e400": 3.4028234663852886e38, " 2 ": 2, "NA": None, "": None, "NULL": None, "+.5e1": 5, "TRUE": 1}


@pytest.mark.parametrize(("text", "value"), SPELT.items())
def test_a_value_of_csv_is_the_number_that_it_spells(tmp_path, text, value):
    _, rows = read(tmp_path, f"qid,label,a,b\n1,1,{text},1\n")
    assert rows["f1"].fill_nan(None).to_list() == [value]


def test_types_that_hold_numbers_are_features(tmp_path):
    _, rows = read(tmp_path, frame(b=[True, None, False], c=[Decimal("1.5")] * 3, d=[2**63] * 3))
    assert rows["f2"].fill_nan(None).to_list() == [1, None, 0] and rows["f3"][0] == 1.5 and rows["f4"][0] == 2.0**63


SPLITS = {"train": "12345", "vali": "67", "test": "89"}


def splits(folder, text=False, **changed):
    """A folder with three files of different queries; `changed` ones instead."""
    folder.mkdir()
    for split, queries in SPLITS.items():
        rows = [(f"Q{query}", number % 2, float(query) + number) for query in queries for number in range(3)]
        table = pl.DataFrame(rows, schema=["qid", "label", "a"], orient="row").with_columns(b=pl.col("a") * 2)
        changed.get(split, lambda table: table)(table).write_csv(folder / f"{split}.csv")
    return folder


def test_columns_of_another_order_in_another_file_are_matched_by_name(tmp_path):
    parse(splits(tmp_path / "a"), tmp_path / "one", 0, "mine")
    other = splits(tmp_path / "b", test=lambda table: table.select("b", "label", "a", "qid"))
    assert parse(other, tmp_path / "two", 0, "mine")["names"] == ["a", "b"]
    for name in ("part1.parquet", "part2.parquet", "part3.parquet"):
        assert pl.read_parquet(tmp_path / "one" / name).equals(pl.read_parquet(tmp_path / "two" / name))
    with pytest.raises(GradrankError, match=r"test\.csv: .*train\.csv: c"):
        parse(splits(tmp_path / "c", test=lambda table: table.with_columns(c=1)), tmp_path / "three", 0, "mine")


def test_a_file_that_repeats_another_is_refused_and_shared_queries_are_reported(tmp_path):
    renamed = splits(tmp_path / "a")
    train = pl.read_csv(renamed / "train.csv")
    train.with_columns(qid=pl.lit("R") + pl.col("qid")).reverse().write_csv(renamed / "test.csv")
    with pytest.raises(GradrankError, match=r"test\.csv: every query .* .*train"):
        parse(renamed, tmp_path / "out", 0, "mine")
    (renamed / "test.csv").unlink()
    (renamed / "test.csv").symlink_to("train.csv")
    with pytest.raises(GradrankError, match=r"test\.csv: every query"):
        parse(renamed, tmp_path / "out", 0, "mine")
    again = splits(tmp_path / "d", test=lambda table: pl.concat([table, train.head(3)]))
    with pytest.raises(GradrankError, match=r"test\.csv: query Q1 is in .*train\.csv too.*Fix: remove"):
        parse(again, tmp_path / "out", 0, "mine")
    other = train.head(3).with_columns(qid=pl.lit("R"))
    some = splits(tmp_path / "b", test=lambda table: pl.concat([table, other]))
    assert "1 of 3 queries of part 3 (test.csv)" in parse(some, tmp_path / "out", 0, "mine")["note"]
    assert "note" not in parse(splits(tmp_path / "c"), tmp_path / "out", 0, "mine")


def test_parts_are_separate_where_one_begins_with_the_id_that_another_ends_with(tmp_path):
    for split, value in (("train", 1), ("vali", 2), ("test", 3)):
        ids = "7 7 5" if split == "vali" else "5 6 7"
        (tmp_path / f"{split}.txt").write_text(
            "".join(f"1 qid:{each} 1:{value}{n}\n" for n, each in enumerate(ids.split()))
        )
    parse(tmp_path, tmp_path / "out", 0, "mine")
    assert read_judgements(tmp_path / "out").qids.tolist() == [5, 6, 7, 7, 5, 5, 6, 7]
    assert StoredCollection.open(tmp_path / "out").read([1, 2, 3]).qids.tolist() == [5, 6, 7, 7, 5, 5, 6, 7]


def test_what_was_understood_is_stored_and_shown(tmp_path):
    text = io.StringIO()
    frame(b=[None, 1, None], docid=["x", None, "y"]).write_csv(text)
    (tmp_path / "a.csv").write_text(text.getvalue() + "".join(f"{q},1,1,1,z\n" for q in range(3, 8)))
    meta = parse(tmp_path / "a.csv", tmp_path / "out", 0, "mine")
    found = {row["role"] + " " + row["column"]: row for row in meta["roles"]}
    assert list(found) == ["query qid", "label label", "docid docid", "feature a", "feature b"]
    assert (found["feature b"]["count"], found["feature b"]["low"], found["feature b"]["missing"]) == (6, 1, 0.25)
    lines = list(inspect(tmp_path / "a.csv"))
    assert lines[0].endswith("8 rows, 7 queries, 2 features") and "8 (7 queries)" in lines[2]
    assert list(inspect(tmp_path / "out"))[1:] == lines[1:]
    with pytest.raises(GradrankError, match=r"a\.parquet: not a Parquet file"):
        read(tmp_path, "qid,label\n", "a.parquet")
    with pytest.raises(GradrankError, match="'x' is declared"):
        read(tmp_path, "1 qid:1 1:1\n", "a.txt", label="x")
    with pytest.raises(GradrankError, match="no row has a feature"):
        read(tmp_path, "1 qid:1\n0 qid:2\n", "a.txt")
