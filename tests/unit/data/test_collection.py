import numpy as np
import polars as pl
import pytest

from gradrank.data.collection import Collection
from gradrank.data.parse import parse
from gradrank.data.pairs import crucial_pairs, pairs as write_pairs
from gradrank.errors import GradrankError


@pytest.fixture
def parts() -> dict[int, list[tuple[int, int, list[float]]]]:
    """Rows (grade, qid, features) of five parts; some queries have one document or one grade."""
    rng = np.random.default_rng(5)
    sizes = {1: [3, 1, 4], 2: [2], 3: [5, 5], 4: [1, 6], 5: [4, 2, 2]}
    return {
        part: [
            (int(rng.integers(3)), 10 * part + query, rng.random(3).astype(np.float32).tolist())
            for query, documents in enumerate(documents_of_queries)
            for _ in range(documents)
        ]
        for part, documents_of_queries in sizes.items()
    }


@pytest.fixture
def parquet(tmp_path, parts):
    for part, rows in parts.items():
        text = (
            f"{grade} qid:{qid} 1:{a!r} 2:{b!r} 3:{c!r} #docid = {qid}-{n}\n"
            for n, (grade, qid, (a, b, c)) in enumerate(rows)
        )
        (tmp_path / f"S{part}.txt").write_text("".join(text))
    parse(tmp_path, tmp_path / "c.parquet", 0, "c")
    return tmp_path / "c.parquet"


ORDERS = [[1], [1, 2, 3], [4, 5, 1], [5, 4, 3, 2, 1]]


@pytest.mark.parametrize("order", ORDERS)
def test_read_gives_the_rows_of_the_parts_in_the_order_asked_for(parquet, parts, order):
    collection = Collection.read(parquet, order)
    rows = [row for part in order for row in parts[part]]
    assert collection.labels.tolist() == [grade for grade, _, _ in rows]
    assert collection.features.tolist() == [features for _, _, features in rows]
    assert np.repeat(collection.qids, np.diff(collection.offsets)).tolist() == [qid for _, qid, _ in rows]
    assert len(set(collection.qids.tolist())) == collection.queries
    assert collection.query_of_row.tolist() == np.searchsorted(
        collection.offsets[1:], np.arange(collection.rows), side="right"
    ).tolist()  # fmt: skip
    assert collection.features.dtype == np.float32 and collection.features.flags.c_contiguous
    assert (collection.labels.dtype, collection.offsets.dtype, collection.qids.dtype) == (
        np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.int64),
    )  # fmt: skip


def test_columns_are_read_in_blocks(parquet, monkeypatch):
    whole = Collection.read(parquet, [4, 5, 1]).features
    monkeypatch.setattr("gradrank.data.collection.COLUMNS", 2)  # of three
    assert Collection.read(parquet, [4, 5, 1]).features.tolist() == whole.tolist()


@pytest.mark.parametrize("order", ORDERS)
def test_stored_pairs_are_those_of_the_rows_as_read(parquet, tmp_path, order):
    write_pairs(parquet, tmp_path / "p.parquet")
    stored = Collection.read(parquet, order, tmp_path / "p.parquet").pairs
    plain = Collection.read(parquet, order)
    fresh = crucial_pairs(plain.labels, plain.offsets)
    assert len(stored) > 0
    for name in ("better", "worse", "query"):
        assert getattr(stored, name).dtype == np.int32
        assert getattr(stored, name).tolist() == getattr(fresh, name).tolist()
    assert (plain.labels[stored.better] > plain.labels[stored.worse]).all()
    assert (plain.query_of_row[stored.better] == stored.query).all()


def test_equal_qids_in_neighbouring_parts_stay_two_queries(tmp_path):
    for split in ("train", "vali", "test"):
        (tmp_path / f"{split}.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    parse(tmp_path, tmp_path / "c.parquet", 0, "c")
    write_pairs(tmp_path / "c.parquet", tmp_path / "p.parquet")
    collection = Collection.read(tmp_path / "c.parquet", [2, 3, 1], tmp_path / "p.parquet")
    assert collection.offsets.tolist() == [0, 2, 4, 6]
    assert collection.pairs.query.tolist() == [0, 1, 2] and collection.pairs.better.tolist() == [0, 2, 4]


def test_columns_that_only_look_like_features_are_left_out(parquet, tmp_path):
    frame = pl.read_parquet(parquet).with_columns(fold=pl.lit(1), f=pl.lit(2.0))
    frame.write_parquet(tmp_path / "more.parquet")
    assert Collection.read(tmp_path / "more.parquet", [1]).features.shape[1] == 3


def test_part_without_rows_is_named(parquet):
    with pytest.raises(GradrankError, match="part 6 has no rows"):
        Collection.read(parquet, [1, 6])


def test_mq2007_folds(mq2007):
    train = Collection.read(mq2007, [5, 1, 2])
    assert (train.rows, train.queries) == (13652 + 14013 + 14290, 336 + 339 + 339)
    assert np.isfinite(train.features).all()
