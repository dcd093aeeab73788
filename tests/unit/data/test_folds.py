"""Folds of a user's own data: what is stored once, what is refused, the column of folds, and held-out queries."""

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.folds.score_exchange import import_scores
from gradrank.bench.tuning.trials import Plan, tune
from gradrank.data.fold_parts import HELD_OUT, draw_held_out
from gradrank.data.inspect import inspect
from gradrank.data.layout import FoldOptions
from gradrank.data.parse import parse
from gradrank.data.stored import StoredCollection
from gradrank.data.tables.roles import Columns
from gradrank.ranker.inputs import held_out_queries


def text(ids) -> str:
    return "".join(f"{row % 2} qid:{each} 1:{each} 2:{row}\n" for each in ids for row in range(2))


def write_folds(folder, folds) -> None:
    for number, fold in enumerate(folds, start=1):
        (folder / f"Fold{number}").mkdir(parents=True)
        for split, content in fold.items():
            written = content if isinstance(content, str) else text(content)
            (folder / f"Fold{number}" / f"{split}.txt").write_text(written)


def parsed(folder, **options):
    return parse(folder / "data", folder / "out", 1, "mine", options=FoldOptions(**options))


def qids(folder, fold: int, split: str) -> list[int]:
    stored = StoredCollection.open(folder / "out")
    return stored.read(stored.fold(fold)[split]).qids.tolist()


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ({"train": [1, 2, 3], "vali": [4], "test": [5, 2]}, r"Fold2/test\.txt: line 3: query 2 is in .*Fold2/train"),
        ({"train": [1, 2], "vali": [3], "test": [4, 3]}, r"Fold2/test\.txt: line 3: query 3 is in .*Fold2/vali"),
        ({"train": [1, 2], "vali": [2], "test": [4]}, r"Fold2/vali\.txt: line 1: query 2 is in .*Fold2/train"),
        (
            {"train": [1, 2], "test": text([5]) + "1 qid:1 1:7 2:8\n"},
            r"Fold2/test\.txt: line 3: query 1 is in .*Fold2/train",
        ),
    ],
)
def test_a_query_in_two_files_of_a_fold_is_refused(tmp_path, splits, message):
    write_folds(tmp_path / "data", [{"train": [1, 2, 3], "vali": [4], "test": [5]}, splits])
    with pytest.raises(GradrankError, match=rf"{message}.* fold 2 would .* Fix: remove the query"):
        parsed(tmp_path)
    assert not (tmp_path / "out").exists()


def test_queries_of_other_folds_may_repeat_and_are_stored_once(tmp_path):
    folds = [
        {"train": [3, 4, 5, 6], "vali": [7, 8], "test": [1, 2]},
        {"train": [2, 1, 5, 6], "vali": [8, 7], "test": [4, 3]},
        {"train": [4, 3, 2, 1], "vali": [5, 6], "test": [8, 7]},
    ]
    write_folds(tmp_path / "data", folds)
    meta = parsed(tmp_path)
    assert (meta["queries"], meta["rows"], len(meta["parts"])) == (8, 16, 4)
    assert [sorted(qids(tmp_path, 1, split)) for split in ("train", "vali")] == [[3, 4, 5, 6], [7, 8]]
    assert [qids(tmp_path, fold, "test") for fold in (1, 2, 3)] == [[1, 2], [4, 3], [8, 7]]
    assert "note" not in meta and "held_out" not in meta and "labels" not in meta


def test_overlapping_parts_count_each_query_once(tmp_path):
    write_folds(tmp_path / "data", [{"train": [1, 2, 3], "test": [4, 5]}, {"train": [1, 2, 4], "test": [5, 3]}])
    meta = parsed(tmp_path)
    assert (meta["queries"], meta["rows"], meta["labels"]) == (5, 10, {"0": 5, "1": 5})
    assert meta["tests_overlap"]
    with pytest.raises(GradrankError, match="contest needs folds with different test queries"):
        tune("single_feature", tmp_path / "out", Plan(1), 1, tmp_path / "trials.parquet")
    assert next(row["count"] for row in meta["roles"] if row["role"] == "label") == 10
    assert sorted(qids(tmp_path, 2, "train") + qids(tmp_path, 2, "vali")) == [1, 2, 4]
    (tmp_path / "scores.txt").write_text("1\n" * 10)
    with pytest.raises(GradrankError, match=r"folds share queries.*`\{fold\}`"):
        import_scores(str(tmp_path / "scores.txt"), tmp_path / "out", 1, 1, tmp_path / "fold1")


def test_an_id_with_other_rows_in_another_fold_is_another_query(tmp_path):
    write_folds(
        tmp_path / "data",
        [{"train": [1, 2, 3], "test": [4]}, {"train": [4, 3], "test": text([1]).replace(" 1:1", " 1:7")}],
    )
    meta = parsed(tmp_path)
    assert meta["queries"] == 5
    assert "1 query id has different rows" in meta["note"] and "1 (Fold1/train.txt, Fold2/test.txt)" in meta["note"]
    stored = StoredCollection.open(tmp_path / "out")
    assert stored.read(stored.fold(2)["test"]).features[:, 0].tolist() == [7, 7]


def test_the_same_line_ends_and_empty_last_line_do_not_separate_queries(tmp_path):
    write_folds(
        tmp_path / "data",
        [{"train": text([3, 4])[:-1], "test": text([1, 2])}, {"train": text([1, 2]) + "\n", "test": text([4, 3])}],
    )
    assert len(parsed(tmp_path)["held_out"]["queries"]) == 2
    assert StoredCollection.open(tmp_path / "out").queries == 4


def table(form: str, tmp_path, **changes) -> None:
    frame = pl.DataFrame({"qid": [1, 1, 2, 3, 3, 4, 5, 6], "label": [0, 1] * 4, "x": [float(i) for i in range(8)]})
    frame = frame.with_columns(fold=pl.Series([10, 10, 9, 10, 10, 2, 9, 2])).with_columns(**changes)
    write = {"csv": frame.write_csv, "parquet": frame.write_parquet}[form]
    write(tmp_path / f"data.{form}")


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_column_has_the_test_folds_in_the_order_of_its_values(tmp_path, form):
    table(form, tmp_path)
    meta = parse(tmp_path / f"data.{form}", tmp_path / "out", 1, "mine", options=FoldOptions(fold="fold"))
    assert meta["fold_values"] == ["2", "9", "10"] and meta["names"] == ["x"]
    assert [qids(tmp_path, fold, "test") for fold in (1, 2, 3)] == [[4, 6], [2, 5], [1, 3]]
    assert [qids(tmp_path, fold, "vali") for fold in (1, 2, 3)] == [[1, 3], [4, 6], [2, 5]]
    lines = list(inspect(tmp_path / f"data.{form}", options=FoldOptions(fold="fold")))
    assert lines[1:] == list(inspect(tmp_path / "out"))[1:] and any(line.startswith("3 (10)") for line in lines)


def test_rows_without_a_header_that_are_grouped_keep_their_folds(tmp_path):
    lines = ["1,0,0.5,b", "2,1,0.25,a", "1,1,0.75,b", "3,0,1.5,a", "4,0,0.1,b"]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    columns = Columns("1", "2", header=False, group_rows=True)
    options = FoldOptions(fold="4", header=False)
    meta = parse(tmp_path / "data.csv", tmp_path / "out", 1, "mine", columns=columns, options=options)
    assert [qids(tmp_path, fold, "test") for fold in (1, 2)] == [[2, 3], [1, 4]] and meta["features"] == 1


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ([1, 2, 1, 1, 1, 1, 2, 2], "query 1 is in folds 1 and 2"),
        ([1] * 8, "has only the value '1'"),
        ([1, 1, None, 2, 2, 2, 2, 2], r"row 3, column 'fold': no fold"),
    ],
)
def test_a_column_that_has_no_folds_is_refused(tmp_path, folds, message):
    table("parquet", tmp_path, fold=pl.Series(folds))
    with pytest.raises(GradrankError, match=message):
        parse(tmp_path / "data.parquet", tmp_path / "out", 1, "mine", options=FoldOptions(fold="fold"))


@pytest.mark.parametrize("share", [None, 0.01, 0.2, 0.5, 0.99])
def test_the_share_of_the_training_queries_is_held_out(tmp_path, share):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/train.txt").write_text(text(range(1, 41)))
    (tmp_path / "data/test.txt").write_text(text(range(41, 51)))
    meta = parsed(tmp_path, validation=share)
    count = min(39, max(1, round((share or HELD_OUT) * 40)))
    assert (len(qids(tmp_path, 1, "vali")), len(qids(tmp_path, 1, "train"))) == (count, 40 - count)
    assert meta["held_out"]["queries"] == [count] and str(tmp_path) not in meta.get("note", "")
    expected = np.arange(1, 41)[draw_held_out(40, 1, share or HELD_OUT)]
    assert qids(tmp_path, 1, "vali") == expected.tolist()
    if share is None:  # the same queries as `Ranker.fit` with this seed
        assert qids(tmp_path, 1, "vali") == np.arange(1, 41)[held_out_queries(40, 1)].tolist()
        note = "No validation file: 20% of the training queries"
        assert any(line.startswith(note) for line in inspect(tmp_path / "out"))


def test_only_folds_without_a_validation_file_hold_queries_out(tmp_path):
    folds = [{"train": range(5, 15), "test": range(1, 5)}, {"train": range(1, 9), "vali": [9], "test": range(10, 15)}]
    write_folds(tmp_path / "data", folds)
    meta = parsed(tmp_path)
    assert meta["held_out"] == {"choice": "drawn", "folds": [1], "queries": [2], "shares": [0.2], "share": 0.2}
    assert qids(tmp_path, 2, "vali") == [9] and "(folds 1)" in list(inspect(tmp_path / "out"))[-1]
