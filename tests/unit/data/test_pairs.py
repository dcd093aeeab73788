import json
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradrank.data import pairs as module
from gradrank.data.collection import Collection
from gradrank.data.pairs import crucial_pairs, pair_counts
from gradrank.data.pairs import pairs as write_pairs
from gradrank.files import sha256
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


def test_queries_without_pairs_leave_none():
    pairs = crucial_pairs(*flat([[], [3], [0, 0, 0], [2, 2]]))
    assert len(pairs) == 0
    assert crucial_pairs(*flat([])).query.dtype == np.int32


def collection(path, graded_by_part: dict[int, list[list[int]]]):
    """Parts whose qids start again: a query is a run of one qid in one part."""
    parts = {}
    for part, graded in graded_by_part.items():
        labels, offsets = flat(graded)
        qids = np.repeat(np.arange(len(graded)), np.diff(offsets))
        parts[part] = pl.DataFrame(
            {"qid": qids, "label": labels.astype(np.int16), "f1": labels.astype(np.float32)}
        )
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
        assert frame.schema == dict.fromkeys(("query", "better", "worse"), pl.Int32)
        assert frame.rows() == expected
        assert (described[str(part)]["pairs"], described[str(part)]["sha256"]) == (
            len(expected),
            sha256(path),
        )


def test_a_collection_reads_back_the_pairs_of_the_parts_it_asks_for(tmp_path):
    parts = {1: [[0, 1, 2], [1, 1]], 2: [[2, 0]], 3: [[0, 0, 1, 2, 2], [0, 1]]}
    path = collection(tmp_path / "c", parts)
    write_pairs(path, tmp_path / "pairs")
    stored = Collection.read(path, [3, 1], tmp_path / "pairs").pairs
    direct = Collection.read(path, [3, 1]).pairs
    for name in ("better", "worse", "query"):
        assert np.array_equal(getattr(stored, name), getattr(direct, name))


def test_a_failed_write_leaves_the_older_files(tmp_path, monkeypatch):
    path = collection(tmp_path / "c", {1: [[0, 1]], 2: [[0, 1]]})
    write_pairs(path, tmp_path / "pairs")
    older = {each.name: each.read_bytes() for each in (tmp_path / "pairs").iterdir()}

    def broken(*_):
        yield crucial_pairs(*flat([[0, 1, 2]]))
        raise OSError("disk full")

    monkeypatch.setattr(module, "_batches", broken)
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
