import json
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.data import pair_files as module
from gradrank.data.pair_files import write_pairs
from gradrank.data.pairs import Pairs, crucial_pairs, pair_counts
from gradrank.data.stored import StoredCollection
from made_collection import store

queries = st.lists(st.lists(st.integers(0, 5), max_size=9), max_size=6)


def flat(graded: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    labels = np.array([grade for query in graded for grade in query], np.int32)
    return labels, np.cumsum([0, *map(len, graded)])


def brute_force(graded: list[list[int]], ties: bool) -> list[tuple]:
    found, start = [], 0
    for q, grades in enumerate(graded):
        for i, j in combinations(range(len(grades)), 2):
            if grades[i] == grades[j] and not ties:
                continue
            better, worse = (i, j) if grades[i] >= grades[j] else (j, i)
            found.append((q, start + better, start + worse))
        start += len(grades)
    return sorted(found)


@given(queries, st.booleans())
def test_pairs_are_those_of_plain_enumeration(graded, ties):
    pairs = crucial_pairs(*flat(graded), ties=ties)
    columns = (getattr(pairs, name).tolist() for name in ("query", "better", "worse"))
    assert list(zip(*columns, strict=True)) == brute_force(graded, ties)
    counts = pair_counts(*flat(graded), ties)
    assert counts.tolist() == np.bincount(pairs.query, minlength=len(graded)).tolist()
    assert (pairs.better.dtype, pairs.worse.dtype, pairs.query.dtype) == (np.int32,) * 3


def collection(path, graded_by_part: dict[int, list[list[int]]]):
    """Parts whose qids start again: a query is a run of one qid in one part."""
    parts = {}
    for part, graded in graded_by_part.items():
        labels, offsets = flat(graded)
        qids = np.repeat(np.arange(len(graded)), np.diff(offsets))
        parts[part] = pl.DataFrame({"qid": qids, "label": labels.astype(np.int16), "f1": labels.astype(np.float32)})
    return store(path, parts)


@pytest.mark.parametrize("batch", [1, 4, 1_000_000])
def test_the_files_have_the_pairs_of_each_part_whatever_the_batch(tmp_path, monkeypatch, batch):
    parts = {1: [[0, 1, 2], [1, 1]], 2: [[2, 2]], 5: [[0, 0, 1, 2, 2], [0, 1]]}
    monkeypatch.setattr(module, "BATCH", batch)
    write_pairs(collection(tmp_path / "c", parts), tmp_path / "pairs")
    described = json.loads((tmp_path / "pairs/pairs.json").read_text())["parts"]
    for part, graded in parts.items():
        path = tmp_path / f"pairs/part{part}.parquet"
        frame, expected = pl.read_parquet(path), brute_force(graded, ties=False)
        assert frame.schema == module.SCHEMA
        assert frame.rows() == [(*pair, 1.0, 1.0) for pair in expected]
        assert (described[str(part)]["pairs"], described[str(part)]["sha256"]) == (len(expected), sha256(path))


def test_equal_grades_are_pairs_of_one_half_where_the_stage_is_told_so(tmp_path):
    path = collection(tmp_path / "c", {1: [[0, 1, 1], [2, 2]], 2: [[3], [0, 0]]})
    write_pairs(path, tmp_path / "pairs", ties="half")
    stored = StoredCollection.open(path)
    part = stored.read([2, 1], stored.pairs(tmp_path / "pairs"))
    assert part.ties and part.targets is part.labels  # the grades say all: nothing is read for them
    pairs, fresh = part.pairs, crucial_pairs(part.labels, part.offsets, ties=True)
    for name in ("better", "worse", "query", "target"):
        assert getattr(pairs, name).tolist() == getattr(fresh, name).tolist()
    assert pairs.target.tolist() == [0.5, 1.0, 0.5, 1.0, 0.5] and pairs.weight is None
    assert stored.pairs(tmp_path / "pairs").specification == {"pairs": {"targets": "grades", "ties": "half"}}
    write_pairs(path, tmp_path / "pairs")
    assert stored.pairs(tmp_path / "pairs").specification == {}  # a specification needs not say so


def test_a_list_that_the_grades_imply_is_not_opened_until_it_is_asked_for(tmp_path):
    path = collection(tmp_path / "c", {1: [[0, 1, 2], [1, 1]], 2: [[2, 0]]})
    write_pairs(path, tmp_path / "pairs")
    for part in tmp_path.glob("pairs/part*.parquet"):
        part.unlink()
    stored = StoredCollection.open(path)
    read = stored.read([1, 2], stored.pairs(tmp_path / "pairs"))
    assert read.targets is read.labels and not read.ties
    with pytest.raises(GradrankError, match=r"part1\.parquet: missing, .*pairs\.json"):
        _ = read.pairs


@given(queries, st.data())
def test_pairs_of_some_queries_are_those_of_the_queries_alone(graded, data):
    labels, offsets = flat(graded)
    chosen = data.draw(st.permutations(range(len(graded))).map(lambda order: order[: len(order) // 2]))
    pairs = crucial_pairs(labels, offsets, ties=True).of_queries(np.array(chosen, np.int64), offsets)
    alone = crucial_pairs(*flat([graded[q] for q in chosen]), ties=True)
    for name in ("better", "worse", "query", "target"):
        assert getattr(pairs, name).tolist() == getattr(alone, name).tolist()
        assert getattr(pairs, name).dtype == getattr(alone, name).dtype


def test_directed_pairs_are_preferences_whose_weights_are_the_probabilities():
    ends = np.array([[4, 1], [5, 2]], np.int32)
    pairs = Pairs(*ends, np.array([0, 1], np.int32), np.array([0.75, 1.0]), np.array([2.0, 3.0]))
    directed = pairs.directed()
    found = zip(directed.query, directed.better, directed.worse, directed.weight, strict=True)
    assert list(found) == [(0, 4, 5, 1.5), (0, 5, 4, 0.5), (1, 1, 2, 3.0)] and directed.target is None
    plain = crucial_pairs(*flat([[0, 1]]))
    assert plain.directed() is plain


def test_a_failed_write_leaves_the_older_files(tmp_path, monkeypatch):
    path = collection(tmp_path / "c", {1: [[0, 1]], 2: [[0, 1]]})
    write_pairs(path, tmp_path / "pairs")
    older = {each.name: each.read_bytes() for each in (tmp_path / "pairs").iterdir()}

    def broken(*_):
        yield crucial_pairs(*flat([[0, 1, 2]]))
        raise OSError("disk full")

    monkeypatch.setattr(module, "pair_batches", broken)
    with pytest.raises(OSError, match="disk full"):
        write_pairs(path, tmp_path / "pairs")
    assert {each.name: each.read_bytes() for each in (tmp_path / "pairs").iterdir()} == older


def test_mq2007_has_the_pairs_that_its_grade_histograms_imply(mq2007, tmp_path):
    write_pairs(mq2007, tmp_path / "pairs")
    described = json.loads((tmp_path / "pairs/pairs.json").read_text())["parts"]
    queries = 0
    for part in range(1, 6):
        grades = (
            pl.read_parquet(mq2007 / f"part{part}.parquet")
            .group_by("qid")
            .agg(*((pl.col("label") == grade).sum().cast(pl.Int64).alias(f"n{grade}") for grade in range(3)))
        )
        n0, n1, n2 = grades["n0"], grades["n1"], grades["n2"]
        assert described[str(part)]["pairs"] == (n0 * n1 + n1 * n2 + n0 * n2).sum()
        queries += pl.read_parquet(tmp_path / f"pairs/part{part}.parquet")["query"].n_unique()
    assert queries <= json.loads((mq2007 / "collection.json").read_text())["queries"] - 237


def test_pairs_of_other_rows_are_refused(tmp_path):
    path = collection(tmp_path / "c", {1: [[0, 1, 2]], 2: [[2, 0]]})
    write_pairs(path, tmp_path / "pairs")
    pairs = StoredCollection.open(path).pairs(tmp_path / "pairs")
    other = StoredCollection.open(collection(tmp_path / "other", {1: [[0, 1, 2]], 2: [[0, 2]]}))
    pairs.source(other, [1])
    with pytest.raises(GradrankError, match=r"part 2 .*Fix: run `gradrank pairs`"):
        pairs.source(other, [1, 2])
