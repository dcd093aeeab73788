"""Ranking data as CSV or Parquet: which columns are what, what is wrong in which of them, folds, packed files."""

import gzip
import lzma
import shutil

import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json
from gradrank.data.file_forms import PlainFile
from gradrank.data.layout import ROTATION
from gradrank.data.parse import parse
from gradrank.data.tables.roles import Columns

COLUMNS = Columns(query="who asked", label="clicks", docid="url")


def frame(queries: range) -> pl.DataFrame:
    """Three documents a query, ids that are text, a feature with a gap in each query."""
    rows = [(f"Q{query}", grade, f"u{query}.{grade}") for query in queries for grade in range(3)]
    features = {
        "bm25": [0.5 * number + 100 * queries.start for number in range(len(rows))],
        "fresh": [None, 1, 2] * len(queries),
    }
    return pl.DataFrame(rows, schema=["who asked", "clicks", "url"], orient="row").with_columns(
        pl.Series(name, values, strict=False) for name, values in features.items()
    )


def stored(out) -> pl.DataFrame:
    return pl.concat(pl.read_parquet(path) for path in sorted(out.glob("part*.parquet"))).sort("docid")


def parsed(path, out, columns=COLUMNS, **options):
    return parse(path, out, 0, "mine", columns=columns, **options)


def written(path, table):
    path.parent.mkdir(parents=True, exist_ok=True)
    table.write_parquet(path) if path.suffix == ".parquet" else table.write_csv(path)
    return path


def test_own_names_text_ids_and_missing_values(tmp_path):
    meta = parsed(written(tmp_path / "all.csv", frame(range(10))), tmp_path / "out")
    assert (meta["rows"], meta["queries"], meta["features"]) == (30, 10, 2)
    assert meta["names"] == ["bm25", "fresh"] and meta["missing_values"] == {"f2": 10}
    found = stored(tmp_path / "out")
    assert found.columns == ["qid", "query", "docid", "inc", "prob", "label", "f1", "f2"]
    assert found["query"].to_list()[:4] == ["Q0", "Q0", "Q0", "Q1"] and found["docid"][0] == "u0.0"
    assert found["label"].to_list()[:3] == [0, 1, 2]
    assert found["f2"].is_nan().sum() == 10


@pytest.mark.parametrize(("missing", "value"), [("least", 1.0), ("zero", 0.0)])
def test_missing_values_become_what_is_declared(tmp_path, missing, value):
    parsed(written(tmp_path / "all.parquet", frame(range(5))), tmp_path / "out", missing=missing)
    assert stored(tmp_path / "out")["f2"].to_list() == [value, 1.0, 2.0] * 5


@pytest.mark.parametrize("name", ["all.csv.gz", "all.csv.xz", "all.parquet.gz", "ALL.CSV"])
def test_packed_tables_are_read_as_plain_ones(tmp_path, name):
    parsed(written(tmp_path / "all.csv", frame(range(5))), tmp_path / "expected")
    plain = written(tmp_path / f"plain.{name.split('.')[1]}".lower(), frame(range(5))).read_bytes()
    pack = {"gz": gzip.compress, "xz": lzma.compress}.get(name.split(".")[-1], bytes)
    (tmp_path / name).write_bytes(pack(plain))
    parsed(tmp_path / name, tmp_path / "out")
    assert stored(tmp_path / "out").equals(stored(tmp_path / "expected"))


def five_folds(folder, held_out=False):
    parts = [frame(range(3 * part, 3 * part + 3)) for part in range(5)]
    for fold, rotation in enumerate(ROTATION, 1):
        own = {split: list(members) for split, members in rotation.items()}
        if held_out:
            own["train"] = own.pop("vali") + own["train"]
        for split, members in own.items():
            table = pl.concat(parts[part - 1] for part in members)
            written(folder / f"Fold{fold}" / f"{split}.csv", table)


@pytest.mark.parametrize("held_out", [False, True])
def test_five_folds_of_tables(tmp_path, held_out):
    five_folds(tmp_path / "data", held_out)
    meta = parsed(tmp_path / "data", tmp_path / "out")
    assert len(meta["folds"]) == 5 and meta["queries"] == 15 and ("held_out" in meta) == held_out
    assert len(meta["parts"]) == 5 and "note" not in meta
    assert read_json(tmp_path / "out/collection.json")["rows"] == 45


@pytest.mark.parametrize(
    ("change", "rows"),
    [
        (lambda table: table.with_columns(bm25=pl.when(pl.int_range(pl.len()) == 4).then(9).otherwise("bm25")), 48),
        (lambda table: table.head(24), 45),
        (lambda table: pl.concat([table, frame(range(90, 91))]), 48),
    ],
)
def test_a_training_part_that_repeats_no_other_parts_is_stored_as_it_is(tmp_path, change, rows):
    five_folds(tmp_path / "data")
    file = tmp_path / "data/Fold1/train.csv"
    changed = change(pl.read_csv(file))
    changed.write_csv(file)
    meta = parsed(tmp_path / "data", tmp_path / "out")
    assert (len(meta["parts"]), meta["rows"]) == (6, rows)
    (own,) = meta["folds"][0]["train"]
    assert own not in [part for fold in meta["folds"][1:] for parts in fold.values() for part in parts]
    part = pl.read_parquet(tmp_path / f"out/part{own}.parquet")
    assert part["docid"].to_list() == changed["url"].to_list() and part["f1"].to_list() == changed["bm25"].to_list()


def test_text_beside_tables_is_refused(tmp_path):
    five_folds(tmp_path / "data")
    (tmp_path / "data/Fold4/vali.csv").unlink()
    (tmp_path / "data/Fold4/vali.txt").write_text("1 qid:1 1:0\n")
    with pytest.raises(GradrankError, match=r"Fold4/vali\.txt: .*one form"):
        parsed(tmp_path / "data", tmp_path / "out")


def test_a_decompressed_copy_is_removed_and_may_be_gone_before(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"1 qid:1 1:2\n"))
    folder = tmp_path / "copies"
    for is_removed_before in (False, True):
        folder.mkdir(exist_ok=True)
        copy = PlainFile(tmp_path / "a.txt.gz", folder)
        assert [path.read_bytes() for path in folder.iterdir()] == [b"1 qid:1 1:2\n"]
        if is_removed_before:
            shutil.rmtree(folder)
        del copy  # an exception here would be printed, and pytest turns it into an error
        assert not folder.exists() or not list(folder.iterdir())
