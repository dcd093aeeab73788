"""Parsing: the division into parts, and collection.json."""

import hashlib
import json

import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.data.parse import parse
from gradrank.data.stored import StoredCollection

# Five queries, so that a single file can be divided; the line under test is added to them.
DENSE = "".join(f"{query % 3} qid:{query} 1:0.{query} 2:-1.5 3:7\n" for query in range(1, 6))


def rows_of(stored) -> pl.DataFrame:
    """All parts, in their order, with the part's number in the last column."""
    parts = json.loads((stored / "collection.json").read_text())["parts"]
    return pl.concat(
        pl.read_parquet(stored / f"part{part}.parquet").with_columns(part=pl.lit(int(part))) for part in parts
    )


def contents(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def five_parts(folder, texts) -> None:
    for part, text in enumerate(texts, start=1):
        (folder / f"S{part}.txt").write_text(text)


def test_single_file_is_divided_by_whole_queries_with_the_seed(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("".join(f"0 qid:{q} 1:{row}\n" for q in range(23, 0, -1) for row in range(3)))
    frames = {}
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        meta = parse(path, tmp_path / name, seed, "own")
        frames[name] = rows_of(tmp_path / name)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert not frames["a"].equals(frames["c"])
    sizes = frames["c"].group_by("part", maintain_order=True).agg(pl.col("qid").n_unique())
    assert sizes.rows() == [(1, 5), (2, 5), (3, 5), (4, 4), (5, 4)]
    assert frames["c"].select(pl.struct("part", "qid").n_unique()).item() == 23
    for part in frames["c"].partition_by("part"):
        assert part["qid"].is_sorted(descending=True) and part["f1"].to_list() == [0, 1, 2] * (part.height // 3)
    assert meta["folds"][3] == {"train": [4, 5, 1], "vali": [2], "test": [3]}


@pytest.mark.parametrize(
    ("name", "text", "refusal"),
    [("train.txt", "0 qid:1 1:1\n", r"at least 2"), ("train.csv", "label,qid,f1\n0,1,1\n", r"at least 2")],
)
def test_a_single_training_query_cannot_be_held_out(tmp_path, name, text, refusal):
    (tmp_path / name).write_text(text)
    (tmp_path / name.replace("train", "test")).write_text(text)
    with pytest.raises(GradrankError, match=rf"{name}: 1 query.* {refusal}"):
        parse(tmp_path, tmp_path / "out", 0, "mine")


def test_metadata_of_a_five_fold_collection(tmp_path):
    texts = [f"{part % 3} qid:{part} 1:1\n0 qid:{part} 1:{part}\n" for part in range(1, 6)]
    five_parts(tmp_path, texts)
    meta = parse(tmp_path, tmp_path / "out", 0, "mine")
    assert meta == StoredCollection.open(tmp_path / "out").description
    assert (meta["dataset"], meta["rows"], meta["queries"], meta["features"]) == ("mine", 10, 5, 1)
    assert meta["source_sha256"] == hashlib.sha256("".join(texts).encode()).hexdigest()
    assert meta["parts"]["2"] == {
        "rows": 2,
        "queries": 1,
        "labels": {"0": 1, "2": 1},
        "sha256": sha256(tmp_path / "out/part2.parquet"),
    }
    schema = pl.read_parquet_schema(tmp_path / "out/part2.parquet")
    names = ["qid", "docid", "inc", "prob", "label", "f1"]
    types = [pl.Int64, pl.String, pl.Float64, pl.Float64, pl.Int16, pl.Float32]
    assert dict(schema) == dict(zip(names, types, strict=True))


def test_query_in_two_parts_is_refused_but_not_in_train_and_test_files(tmp_path):
    texts = [f"0 qid:{part} 1:1\n" for part in (1, 2, 3, 4)]
    five_parts(tmp_path, [*texts, "0 qid:9 1:1\n0 qid:2 1:1\n"])
    with pytest.raises(GradrankError, match=r"S5.txt: line 2: query 2 is in .*S2.txt too"):
        parse(tmp_path, tmp_path / "out", 0, "mine")
    folder = tmp_path / "one"
    folder.mkdir()
    for split in ("train", "vali", "test"):
        (folder / f"{split}.txt").write_text(f"0 qid:1 1:{ord(split[1])}\n")
    assert parse(folder, tmp_path / "stored", 0, "mine")["queries"] == 3
