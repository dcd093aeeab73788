"""The blog's claims on made-up results: what tracks what, how AP spreads, and the worked example by exact fractions."""

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

from gradrank.bench.folds.per_query import QueryValues
from gradrank.measures.metrics import average_precision as average_precision_of
from made_study import DOCUMENTS, make_study, written
from studies.average_precision.measures import Sizes, accuracy, query_sizes, swap_rate
from studies.average_precision.page import CONVENTION, SYSTEMS

NOISE = {"lambdamart": 0.1, "lambdarank": 0.5, "ranksvm": 1.0, "listnet": 1.5, "mart": 3.0, "single_feature": 30.0}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    inputs = make_study(tmp_path_factory.mktemp("ap"), "average_precision", NOISE)
    sections = written("average_precision", inputs)
    tables = {item.id: item for section in sections for item in section.content if not hasattr(item, "svg")}
    return inputs, {section.id: section for section in sections}, tables


def test_tracking_is_of_the_methods_and_of_the_queries(made):
    inputs, sections, tables = made
    rows = {(row["dataset"], row["measure"]): row for row in tables["tracking"].rows}
    assert len(rows) == 2 * 4
    values = [inputs.measure("mq2007", model, ["map", "r_precision"], CONVENTION) for model in inputs.models]
    row = rows["mq2007", "R-precision"]
    means = [[each.mean(metric) for each in values] for metric in ("r_precision", "map")]
    assert row["tau"] == pytest.approx(kendalltau(*means).statistic)
    assert row["methods"] == pytest.approx(np.corrcoef(means)[0, 1])
    relevant = [each.values["map"] > 0 for each in values]
    own = [
        np.corrcoef(each.values["r_precision"][kept], each.values["map"][kept])[0, 1]
        for each, kept in zip(values, relevant, strict=True)
        if np.ptp(each.values["map"][kept])
    ]
    assert len(own) == len(values) - 1, "without noise AP is 1 throughout, and correlates with nothing"
    assert row["queries"] == pytest.approx(np.mean(own))
    assert sections["tracking"].paragraphs[1].startswith("mq2007: R-precision's correlation with AP is over methods")


def test_spread_over_queries_and_over_methods(made):
    inputs, _, tables = made
    rows = {(row["dataset"], row["method"]): row for row in tables["spread"].rows}
    assert len(rows) == 2 * len(inputs.models)
    aps = np.array([inputs.measure("ohsumed", model, ["map"], CONVENTION).values["map"] for model in inputs.models])
    kept = aps[:, aps[0] > 0]
    row = rows["ohsumed", "mart"]
    own = kept[inputs.models.index("mart")]
    assert row["queries"] == len(own) == 15, "each part's first query has no relevant document"
    assert row["50"] == pytest.approx(np.median(own)) and row["5"] <= row["25"] <= row["50"] <= row["95"]
    assert row["inside"] == pytest.approx(np.mean((own >= 0.1) & (own <= 0.7)))
    (shares,) = (row for row in tables["shares"].rows if row["dataset"] == "ohsumed")
    assert shares["over_queries"] == pytest.approx(np.sqrt(np.mean([each.var(ddof=1) for each in kept])))
    assert shares["over_methods"] == pytest.approx(np.sqrt(np.mean([each.var(ddof=1) for each in kept.T])))


def test_swap_rate_by_enumeration():
    """Four queries have three divisions in two halves."""
    values = np.array([[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]])
    found = swap_rate(values)
    expected = []
    for first in ((0, 1), (0, 2), (0, 3)):
        second = [query for query in range(4) if query not in first]
        gaps = [np.sign((values[0] - values[1])[list(half)].sum()) for half in (first, second)]
        expected.append((1 - gaps[0] * gaps[1]) / 2)
    assert sorted(expected) == [0.5, 0.5, 1.0]
    assert found == pytest.approx(np.mean(expected), abs=0.02)


def test_methods_that_differ_on_every_query_are_never_swapped():
    values = np.random.default_rng(0).uniform(size=20)
    assert swap_rate(np.array([values, values + 0.1, values + 0.3])) == 0.0
    assert swap_rate(np.array([values, values])) == 0.5


def test_influence_of_the_number_of_relevant_documents(made):
    inputs, sections, tables = made
    sizes = query_sizes(inputs, "mq2007")
    assert len(sizes.relevant) == 20 and set(sizes.documents) == {DOCUMENTS}
    values = [inputs.measure("mq2007", model, ["map", "p@10"], CONVENTION).values for model in inputs.models]
    kept = sizes.relevant > 0
    np.testing.assert_array_equal(kept, values[0]["map"] > 0)
    own = [spearmanr(each["p@10"][kept], sizes.relevant[kept]).statistic for each in values]
    rows = {(row["dataset"], row["measure"]): row for row in tables["stability"].rows}
    assert rows["mq2007", "P@10"]["relevant"] == pytest.approx(np.mean(own))
    assert sections["stability"].paragraphs[1].startswith("mq2007: the rates from the highest are")


def test_accuracy_by_definition(made):
    """Count rightly returned and rightly left out documents of the perfect method, whose scores follow the grades."""
    inputs, _, tables = made
    sizes = query_sizes(inputs, "ohsumed")
    expected = np.mean([(n - max(r, 10) + min(r, 10)) / n for n, r in zip(*sizes, strict=True)])
    rows = {(row["dataset"], row["method"]): row for row in tables["accuracy"].rows}
    best = rows["ohsumed", "lambdamart"]
    assert best["relevant"] == pytest.approx(1.0) and best["first"] == pytest.approx(expected)
    nothing = np.mean(1 - sizes.relevant / sizes.documents)
    assert rows["ohsumed", "nothing returned"]["first"] == pytest.approx(nothing)


@pytest.mark.parametrize(("hits", "verdict"), [(0.1, "more accurate holds."), (0.9, "more accurate does not hold.")])
def test_nothing_is_more_accurate_unless_most_returned_documents_are_relevant(hits, verdict):
    queries = 40
    sizes = Sizes(np.full(queries, 40), np.full(queries, 20))
    drawn = np.clip(hits + np.random.default_rng(0).normal(0, 0.05, queries), 0, 1)
    values = {"p@10": drawn, "r_precision": drawn, "map": drawn}
    method = QueryValues(np.repeat([1, 2], queries // 2), np.arange(queries), values)
    section = accuracy({"made": {"one": method}}, {"made": sizes})
    assert section.paragraphs[1].endswith(verdict)


def test_worked_example_agrees_with_the_metric_map(made):
    rows = made[2]["worked"].rows
    assert [row["ap"] for row in rows] == pytest.approx([5 / 6, 1.0, 53 / 126])
    assert [row["summed_mean"] for row in rows] == pytest.approx([7 / 9, 1.0, 53 / 126])
    for row, system in zip(rows, SYSTEMS.values(), strict=True):
        labels = np.isin(np.arange(1, 9), system.hits).astype(int)
        found = average_precision_of(-np.arange(8.0), labels, np.array([0, 8]))
        assert found == pytest.approx([row["ap"]])


def test_the_slip_of_system_1_is_named_with_the_right_value(made):
    first, third = made[1]["worked"].paragraphs
    assert "(1/1 + 2/2 + 2/6) / 3, which is 7/9, and calls it 8/9" in first
    assert "2/6 at rank 6 should be 3/6" in first and first.endswith("The AP is 5/6.")
    assert "53/126 = 0.4206" in third and "0.42, and the blog prints 0.41" in third
