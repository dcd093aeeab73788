import json
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradrank.data.collection import Collection
from gradrank.data import pairs as module
from gradrank.data.pairs import crucial_pairs, pair_counts, pairs as write_pairs

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


def parquet(path, graded_by_part: dict[int, list[list[int]]]):
    """A collection whose qids start again in every part: a query is a run of one qid in one part."""
    rows = [
        (part, qid, grade)
        for part, graded in graded_by_part.items()
        for qid, grades in enumerate(graded)
        for grade in grades
    ]
    schema = {"part": pl.Int8, "qid": pl.Int64, "label": pl.Int16}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_columns(f1=pl.col("label").cast(pl.Float32))
    frame.write_parquet(path)
    return path


@pytest.mark.parametrize("batch", [1, 4, 1_000_000])
def test_the_file_has_the_pairs_of_the_whole_collection_whatever_the_batch(tmp_path, monkeypatch, batch):
    parts = {1: [[0, 1, 2], [1, 1]], 2: [[2, 0]], 5: [[0, 0, 1, 2, 2], [0, 1]]}
    monkeypatch.setattr(module, "BATCH", batch)
    write_pairs(parquet(tmp_path / "c.parquet", parts), tmp_path / "pairs.parquet")
    frame = pl.read_parquet(tmp_path / "pairs.parquet")
    assert frame.schema == {
        "part": pl.Int8,
        "query": pl.Int32,
        "better": pl.Int32,
        "worse": pl.Int32,
    }
    graded = [query for part in parts.values() for query in part]
    assert frame.select("query", "better", "worse").rows() == brute_force(graded, ties=False)
    assert frame["part"].to_list() == [[1, 1, 2, 5, 5][q] for q in frame["query"]]


def test_a_collection_reads_back_the_pairs_of_the_parts_it_asks_for(tmp_path):
    parts = {1: [[0, 1, 2], [1, 1]], 2: [[2, 0]], 3: [[0, 0, 1, 2, 2], [0, 1]]}
    path = parquet(tmp_path / "c.parquet", parts)
    write_pairs(path, tmp_path / "pairs.parquet")
    stored = Collection.read(path, [3, 1], tmp_path / "pairs.parquet").pairs
    direct = Collection.read(path, [3, 1]).pairs
    for name in ("better", "worse", "query"):
        assert np.array_equal(getattr(stored, name), getattr(direct, name))


def test_a_failed_write_leaves_the_older_file(tmp_path, monkeypatch):
    path = parquet(tmp_path / "c.parquet", {1: [[0, 1]]})
    write_pairs(path, tmp_path / "pairs.parquet")
    older = (tmp_path / "pairs.parquet").read_bytes()

    def broken(*_):
        yield {"part": [1], "query": [0], "better": [1], "worse": [0]}
        raise OSError("disk full")

    monkeypatch.setattr(module, "_batches", broken)
    with pytest.raises(Exception, match="disk full"):
        write_pairs(path, tmp_path / "pairs.parquet")
    assert (tmp_path / "pairs.parquet").read_bytes() == older
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.parquet", "pairs.parquet"]


def test_mq2007_has_the_pairs_that_its_grade_histograms_imply(mq2007, tmp_path):
    write_pairs(mq2007, tmp_path / "pairs.parquet")
    histograms = (
        pl.scan_parquet(mq2007)
        .group_by("part", "qid")
        .agg(*((pl.col("label") == grade).sum().cast(pl.Int64).alias(f"n{grade}") for grade in range(3)))
    )
    n0, n1, n2 = pl.col("n0"), pl.col("n1"), pl.col("n2")
    expected = histograms.group_by("part").agg(pairs=(n0 * n1 + n1 * n2 + n0 * n2).sum()).sort("part").collect()
    found = (
        pl.scan_parquet(tmp_path / "pairs.parquet")
        .group_by("part")
        .agg(pairs=pl.len().cast(pl.Int64))
        .sort("part")
        .collect()
    )
    assert found.rows() == expected.rows()
    meta = json.loads(mq2007.with_suffix(".json").read_text())
    assert pl.read_parquet(tmp_path / "pairs.parquet")["query"].n_unique() <= meta["queries"] - 237
