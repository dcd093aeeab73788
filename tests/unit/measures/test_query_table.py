"""NumPy's loops of QueryTable give the bits of the compiled loops."""

from functools import partial

import numpy as np
import pytest

from gradrank.data.order import order
from gradrank.measures.conventions import CONVENTIONS, resolve
from gradrank.measures.metrics import metric_values
from gradrank.measures.ranking import QueryTable, Ranking, best_from_here, product_before, running_sum

METRICS = ("ndcg@3", "map", "mean_ndcg", "err@5", "iprec_11pt", "mrr", "p@3")


@pytest.fixture(scope="module")
def queries():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 40, 200)
    offsets = np.r_[0, np.cumsum(sizes)]
    scores = np.round(rng.normal(size=offsets[-1]), 1)  # with ties
    scores[rng.random(len(scores)) < 0.1] = -np.inf  # documents outside the ranking
    return scores, rng.integers(0, 5, len(scores)), offsets


def table(offsets):
    return QueryTable(np.arange(np.diff(offsets).max()) < np.diff(offsets)[:, None])


def test_the_rows_have_the_order_of_the_compiled_sort(queries):
    scores, _, offsets = queries
    assert np.array_equal(table(offsets).order(scores, offsets), order(scores, offsets))


@pytest.mark.parametrize("loop", [running_sum, product_before, best_from_here], ids=lambda loop: loop.__name__)
def test_the_accumulated_values_have_the_bits_of_the_compiled_loop(queries, loop):
    values, offsets = np.random.default_rng(1).random(queries[2][-1]), queries[2]
    numpy_loop = getattr(table(offsets), loop.__name__)
    assert numpy_loop(values).tobytes() == loop.entry(values, offsets).tobytes()


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_metrics_have_the_same_bits_with_and_without_a_table(queries, convention, monkeypatch):
    scores, labels, offsets = queries
    arguments = (np.nan_to_num(scores, neginf=0.0), labels, offsets, resolve(convention), None, np.isfinite(scores))
    found = []
    for of in (partial(table, offsets), lambda: None):
        monkeypatch.setattr(QueryTable, "of", lambda sizes, of=of: of())
        found.append(metric_values(METRICS, Ranking(*arguments)))
    for name in METRICS:
        assert found[0][name].tobytes() == found[1][name].tobytes(), name


def test_one_long_query_among_many_short_ones_has_no_table():
    assert QueryTable.of(np.r_[10_000, np.full(10_000, 2)]) is None
    assert QueryTable.of(np.full(10_000, 20)) is not None
