from dataclasses import dataclass, field, fields

import numpy as np
import polars as pl
import pytest

from gradrank.base.conventions import Convention
from gradrank.base.errors import GradrankError
from gradrank.base.stamps import write_sealed
from gradrank.data.collection import PER_QUERY, PER_ROW, Collection
from gradrank.data.pair_files import write_pairs
from gradrank.data.pairs import crucial_pairs
from gradrank.data.parse import parse
from gradrank.data.stored import StoredCollection
from made_collection import store


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
def stored(tmp_path, parts):
    for part, rows in parts.items():
        text = (
            f"{grade} qid:{qid} 1:{a!r} 2:{b!r} 3:{c!r} #docid = {qid}-{n}\n"
            for n, (grade, qid, (a, b, c)) in enumerate(rows)
        )
        (tmp_path / f"S{part}.txt").write_text("".join(text))
    parse(tmp_path, tmp_path / "c", 0, "c")
    return tmp_path / "c"


def read_with_pairs(path, parts, pairs):
    stored = StoredCollection.open(path)
    return stored.read(parts, stored.pairs(pairs))


ORDERS = [[1], [1, 2, 3], [4, 5, 1], [5, 4, 3, 2, 1]]


@pytest.mark.parametrize("order", ORDERS)
def test_read_gives_the_rows_of_the_parts_in_the_order_asked_for(stored, parts, order):
    collection = StoredCollection.open(stored).read(order)
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


def test_columns_are_read_in_blocks(stored, monkeypatch):
    whole = StoredCollection.open(stored).read([4, 5, 1]).features
    monkeypatch.setattr("gradrank.data.stored.BLOCK_COLUMNS", 2)  # of three
    assert StoredCollection.open(stored).read([4, 5, 1]).features.tolist() == whole.tolist()


@pytest.mark.parametrize("order", ORDERS)
def test_stored_pairs_are_those_of_the_rows_as_read(stored, tmp_path, order):
    write_pairs(stored, tmp_path / "p")
    pairs = read_with_pairs(stored, order, tmp_path / "p").pairs
    plain = StoredCollection.open(stored).read(order)
    fresh = crucial_pairs(plain.labels, plain.offsets)
    assert len(pairs) > 0
    for name in ("better", "worse", "query"):
        assert getattr(pairs, name).dtype == np.int32
        assert getattr(pairs, name).tolist() == getattr(fresh, name).tolist()
    assert (plain.labels[pairs.better] > plain.labels[pairs.worse]).all()
    assert (plain.query_of_row[pairs.better] == pairs.query).all()


def test_columns_that_only_look_like_features_are_left_out(stored, tmp_path):
    frame = pl.read_parquet(stored / "part1.parquet").with_columns(fold=pl.lit(1), f=pl.lit(2.0))
    assert StoredCollection.open(store(tmp_path / "more", {1: frame})).read([1]).features.shape[1] == 3


def test_part_without_rows_is_named(stored):
    with pytest.raises(GradrankError, match=r"part 6 .*1, 2, 3, 4, 5"):
        StoredCollection.open(stored).read([1, 6])


def test_only_the_parts_asked_for_are_opened(stored):
    for part in (2, 5):
        (stored / f"part{part}.parquet").unlink()
    assert StoredCollection.open(stored).read([4, 1]).queries == 5
    with pytest.raises(GradrankError, match=r"part2\.parquet: missing, .*collection\.json"):
        StoredCollection.open(stored).read([1, 2])


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


DAMAGES = {"truncated": lambda data: data[:-5], "flipped": flipped, "emptied": lambda data: b""}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", ["rows", "pairs"])
def test_a_damaged_part_is_refused_by_name_with_the_remedy(stored, tmp_path, kind, damage):
    write_pairs(stored, tmp_path / "p")
    path = {"rows": stored, "pairs": tmp_path / "p"}[kind] / "part3.parquet"
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    with pytest.raises(GradrankError, match=r"part3\.parquet: .*verify --repair"):
        assert read_with_pairs(stored, [1, 2, 3], tmp_path / "p").pairs
    assert read_with_pairs(stored, [1, 2], tmp_path / "p").pairs


@pytest.mark.parametrize("value", [None, True, [{}], {"../../x": {}}, {"1": None}, {"1": {"sha256": 3}}, {"1e9": {}}])
@pytest.mark.parametrize("key", ["dataset", "rows", "features", "source_sha256", "parts"])
def test_a_description_with_a_value_of_another_type_is_refused_by_its_path(stored, key, value):
    write_sealed(stored / "collection.json", StoredCollection.open(stored).description | {key: value})
    with pytest.raises(GradrankError, match=r"collection\.json: .*Fix: "):
        StoredCollection.open(stored)


def test_pairs_of_other_rows_are_refused(stored, tmp_path):
    write_pairs(stored, tmp_path / "p")
    frame = pl.read_parquet(stored / "part1.parquet").with_columns(label=pl.lit(1, pl.Int16))
    other = store(tmp_path / "other", {1: frame})
    with pytest.raises(GradrankError, match=r"part 1 .*other"):
        read_with_pairs(other, [1], tmp_path / "p")


@dataclass(frozen=True)
class Extended(Collection):
    """A collection with two fields that Collection does not know."""

    prices: np.ndarray | None = field(default=None, metadata=PER_ROW)
    topics: np.ndarray | None = field(default=None, metadata=PER_QUERY)


def extended(collection: Collection) -> Extended:
    own = {declared.name: getattr(collection, declared.name) for declared in fields(collection)}
    own["convention"] = Convention("toy", "made up", gain="linear")
    return Extended(**own, prices=collection.features.sum(axis=1), topics=collection.qids * 7)


def test_take_reorders_the_documents_of_each_query_in_every_field(stored):
    data = extended(StoredCollection.open(stored).read([4, 5, 1]))
    rows = np.lexsort((np.random.default_rng(0).random(data.rows), data.query_of_row))
    taken = data.take(rows)
    assert taken.features.tolist() == data.features[rows].tolist() != data.features.tolist()
    assert taken.labels.tolist() == data.labels[rows].tolist()
    assert taken.prices.tolist() == taken.features.sum(axis=1).tolist()
    assert taken.convention.name == "toy"
    for name in ("offsets", "qids", "topics"):
        assert getattr(taken, name).tolist() == getattr(data, name).tolist()


def test_take_refuses_rows_of_other_queries_and_stored_pairs(stored, tmp_path):
    data = StoredCollection.open(stored).read([1])
    for rows in (np.arange(data.rows)[::-1], np.zeros(data.rows, np.int64), np.arange(data.rows - 1)):
        with pytest.raises(ValueError, match="take"):
            data.take(rows)
    write_pairs(stored, tmp_path / "p")
    with pytest.raises(ValueError, match="take"):
        read_with_pairs(stored, [1], tmp_path / "p").take(np.arange(data.rows))


def test_select_queries_selects_from_every_field(stored, tmp_path):
    write_pairs(stored, tmp_path / "p", ties="half")
    data = extended(read_with_pairs(stored, [5, 1, 3], tmp_path / "p"))
    chosen = np.arange(data.queries) % 3 != 1
    some = data.select_queries(chosen)
    rows = np.isin(data.query_of_row, np.flatnonzero(chosen))
    assert some.features.tolist() == data.features[rows].tolist() and some.labels.tolist() == data.labels[rows].tolist()
    assert (
        some.prices.tolist() == some.features.sum(axis=1).tolist() and some.topics.tolist() == (7 * some.qids).tolist()
    )
    assert some.convention.name == "toy"
    assert np.diff(some.offsets).tolist() == np.diff(data.offsets)[chosen].tolist() and some.offsets.dtype == np.int64
    fresh = crucial_pairs(some.labels, some.offsets, ties=True)
    assert some.pairs.better.tolist() == fresh.better.tolist() and some.pairs.target.tolist() == fresh.target.tolist()


def test_a_field_without_a_declared_axis_is_refused(stored):
    @dataclass(frozen=True)
    class Careless(Collection):
        prices: np.ndarray | None = None

    data = StoredCollection.open(stored).read([1])
    own = {declared.name: getattr(data, declared.name) for declared in fields(data)}
    with pytest.raises(TypeError, match="prices"):
        Careless(**own).select_queries(np.ones(data.queries, bool))


def test_mq2007_folds(mq2007):
    train = StoredCollection.open(mq2007).read([5, 1, 2])
    assert (train.rows, train.queries) == (13652 + 14013 + 14290, 336 + 339 + 339)
    assert np.isfinite(train.features).all()
