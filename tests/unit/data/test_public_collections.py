"""The public collections of the catalogue, compared row by row with independent readers."""

import gzip

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_svmlight_file

from gradrank.data.datasets import load_dataset
from gradrank.data.layout import ROTATION
from gradrank.data.sources.catalogue import get_entry
from gradrank.data.sources.fetch import fetch
from gradrank.data.stored import StoredCollection

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def features(frame: pl.DataFrame) -> np.ndarray:
    return frame.select(pl.col("^f[0-9]+$")).to_numpy()


@pytest.mark.parametrize("name", ["clueweb09", "yandex_imat2009"])
def test_the_published_files_are_fetched_byte_for_byte(name, mirror, tmp_path):
    entry = get_entry(name)
    fetched = fetch(name, tmp_path / name, str(mirror))
    assert fetched["files"] == {
        entry.rename[file.name]: {"sha256": file.sha256, "bytes": file.bytes} for file in entry.files
    }
    for file in entry.files:
        assert (tmp_path / name / entry.rename[file.name]).read_bytes() == (mirror / name / file.name).read_bytes()


@pytest.mark.parametrize("fold", range(1, 6))
def test_clueweb09_tests_on_the_published_test_file_of_each_fold(fold, mirror, cache):
    data = load_dataset("clueweb09", fold, mirror=mirror, cache=cache)
    file = mirror / f"clueweb09/Fold{fold}/test.txt"
    x, y, qids = load_svmlight_file(str(file), query_id=True)
    frame = data.test.frame
    np.testing.assert_array_equal(features(frame), x.toarray().astype(np.float32))
    np.testing.assert_array_equal(frame["label"], y)
    np.testing.assert_array_equal(frame["qid"], qids)
    comments = [line.partition("docid = ")[2].strip() for line in file.read_text().splitlines()]
    assert frame["docid"].to_list() == comments
    tested = {part: k + 1 for k, rotation in enumerate(ROTATION) for part in rotation["test"]}
    for split, part in (("train", data.train), ("vali", data.vali)):
        files = [mirror / f"clueweb09/Fold{tested[number]}/test.txt" for number in ROTATION[fold - 1][split]]
        rows = [line.partition("docid = ")[2].strip() for file in files for line in file.read_text().splitlines()]
        assert part.frame["docid"].to_list() == rows


def grouped(path) -> pd.DataFrame:
    """The rows with their grades, and with the queries in the order of their first rows."""
    with gzip.open(path, "rt") as stream:
        table = pd.read_csv(stream, sep="\t", header=None, quoting=3, dtype={0: int, 1: float, 2: str})
    table["grade"] = sum((table[1] >= edge).astype(int) for edge in (0.07, 0.14, 0.41, 0.61))
    first = table.groupby(0, sort=False).ngroup()
    return table.iloc[np.argsort(first, kind="stable")].reset_index(drop=True)


def test_yandex_rows_and_grades(mirror, cache):
    data = load_dataset("yandex_imat2009", mirror=mirror, cache=cache)
    train, test = (grouped(mirror / f"yandex_imat2009/{name}.txt.gz") for name in ("features", "featuresTest"))
    assert np.bincount(train["grade"]).tolist() == [6599, 2303, 3311, 196, 56]
    assert np.bincount(test["grade"]).tolist() == [24562, 8658, 12487, 701, 188]
    held_out = train[0].isin(set(data.vali.qid.tolist()))
    assert train[0][held_out].nunique() == 133 and train[0].nunique() == 666
    for expected, part in ((train[~held_out], data.train), (train[held_out], data.vali), (test, data.test)):
        frame = part.frame
        assert frame["qid"].to_list() == expected[0].tolist()
        assert frame["label"].to_list() == expected["grade"].tolist()
        assert frame["docid"].to_list() == expected[2].tolist()
        np.testing.assert_array_equal(part.X, expected[list(range(4, 54))].to_numpy().astype(np.float32))


def test_their_names_are_the_numbers_of_the_columns(mirror, cache):
    load_dataset("yandex_imat2009", mirror=mirror, cache=cache)
    (folder,) = cache.glob("yandex_imat2009-*")
    assert StoredCollection.open(folder).feature_names == [str(number) for number in range(5, 55)]
