"""Ranker gives equal scores for equal features in every form in memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from gradrank import Ranker
from gradrank.base.errors import GradrankError

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.dataset")
DRAW = np.random.default_rng(0)
X = np.where(DRAW.random((200, 3)) < 0.5, 0.0, DRAW.normal(size=(200, 3))).astype(np.float32)
Y = DRAW.integers(0, 4, 200)
QID = np.repeat(np.arange(20), 10)
FRAME = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(qid=pl.Series(QID))


class HuggingFaceDataset:
    """The documented methods of datasets.Dataset that are used."""

    def __init__(self, table: Any) -> None:
        self.table, self.column_names = table, table.column_names

    def with_format(self, form: str) -> "HuggingFaceDataset":
        assert form == "arrow"
        return self

    def __getitem__(self, rows: slice) -> Any:
        assert rows == slice(None)
        return self.table


FORMS: dict[str, Callable[[], Any]] = {
    "lazy": FRAME.lazy,
    "arrow": FRAME.to_arrow,
    "arrow dataset": lambda: pyarrow.dataset.dataset(FRAME.to_arrow()),
    "hugging face": lambda: HuggingFaceDataset(FRAME.to_arrow()),
}


@pytest.fixture(scope="module")
def expected():
    return Ranker("regression", random_state=1).fit(X, Y, qid=QID).predict(X, qid=QID)


@pytest.mark.parametrize("form", FORMS)
def test_every_table_gives_the_scores_of_the_array(form, expected):
    ranker = Ranker("regression", random_state=1).fit(FORMS[form](), Y)
    assert list(ranker.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(ranker.predict(FORMS[form]()), expected)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_a_sparse_matrix_gives_the_scores_of_the_array(form, expected):
    ranker = Ranker("regression", random_state=1).fit(form(X), Y, qid=QID)
    np.testing.assert_array_equal(ranker.predict(form(X), qid=QID), expected)
    np.testing.assert_array_equal(ranker.predict(X, qid=QID), expected)


def test_a_sparse_matrix_beyond_memory_is_refused():
    wide = sparse.csr_array((200, 10**9), dtype=np.float32)
    with pytest.raises(GradrankError, match="dense rows"):
        Ranker("regression").fit(wide, Y, qid=QID)


def test_a_sparse_matrix_of_another_width_is_refused():
    ranker = Ranker("regression", random_state=1).fit(sparse.csr_array(X), Y, qid=QID)
    with pytest.raises(GradrankError, match="expecting 3 features"):
        ranker.predict(sparse.csr_array(X[:, :2]))
