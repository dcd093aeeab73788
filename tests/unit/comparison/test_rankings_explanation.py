"""`explain_convention`: values of every program's convention, and the reasons for their differences."""

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.comparison.rankings.evaluation import evaluate
from gradrank.comparison.rankings.explanation import explain_convention
from gradrank.measures.conventions import PROGRAMS

# Query 1: long, distinct scores, one grade, so that only the discount matters. 2: no relevant document. 3: fewer than
# three documents. 4: equal scores. 5: several grades.
DATA = pl.DataFrame(
    {
        "qid": [1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5],
        "grade": [0, 0, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 2, 0],
        "score": [4.0, 3, 2, 1, 3, 2, 1, 2, 1, 1, 1, 1, 3, 2, 1],
    }
)


@pytest.fixture(scope="module")
def explained():
    return explain_convention(DATA["grade"], DATA["score"], qid=DATA["qid"], k=3)


def reasons(explained, convention):
    """Return a dict from query to its reasons under a convention, for queries with a difference."""
    rows = explained.queries.filter(pl.col("convention") == convention, pl.col("difference") != 0)
    return dict(rows.select("qid", "reasons").rows())


def test_values_and_means_are_those_of_evaluate(explained):
    for program, mean, difference in explained.means.select("convention", "mean", "difference").rows():
        result = evaluate(DATA["grade"], DATA["score"], qid=DATA["qid"], metrics="ndcg@3", convention=program)
        standard = explained.means.filter(convention="standard")["mean"][0]
        assert mean == pytest.approx(result.means["mean"][0], abs=1e-12)
        assert difference == pytest.approx(mean - standard, abs=1e-12)
        if program != "standard":
            values = explained.queries.filter(convention=program).sort("qid")["value"]
            assert values.to_list() == result.per_query["ndcg@3"].to_list()
    assert explained.means["convention"].to_list() == list(PROGRAMS)


def test_reasons_by_hand(explained):
    assert reasons(explained, "lightgbm") == {2: "no relevant document"}
    assert reasons(explained, "letor4") == {1: "LETOR's discount", 3: "fewer than k documents", 5: "LETOR's discount"}
    assert reasons(explained, "letor3") == reasons(explained, "letor4")
    assert reasons(explained, "trec") == {4: "ties", 5: "linear gain"}
    assert reasons(explained, "ranklib") == {}


def test_the_largest_differences_come_first_and_parts_sum_to_the_difference_of_means(explained):
    assert explained.queries["difference"].abs().is_sorted(descending=True)
    parts = explained.reasons.group_by("convention").agg(pl.col("difference").sum(), pl.col("queries").sum())
    for convention, difference, queries in parts.rows():
        row = explained.means.filter(convention=convention)
        assert row["difference"][0] == pytest.approx(difference, abs=1e-12)
        assert row["queries"][0] == queries


def test_numbers_of_documents(explained):
    row = explained.queries.filter(pl.col("qid") == 1, pl.col("convention") == "trec").to_dicts()[0]
    assert (row["documents"], row["relevant"]) == (4, 2)


def test_every_difference_has_a_reason():
    draw = np.random.default_rng(0)
    qid, y, scores = draw.integers(0, 200, 2000), draw.choice(3, 2000, p=[0.9, 0.05, 0.05]), draw.integers(0, 5, 2000)
    explained = explain_convention(y, scores, qid=qid, k=9)
    differs = pl.col("difference") != 0
    assert (explained.queries.filter(differs)["reasons"] != "").all()
    assert (explained.queries.filter(~differs)["reasons"] == "").all()
    counts = explained.means["queries"].to_list()
    assert counts == [
        0 if name == "standard" else explained.queries.filter(differs, convention=name).height for name in PROGRAMS
    ]


def test_it_prints_as_text_html_markdown_and_latex(explained):
    for text in (repr(explained), explained._repr_html_(), explained.to_markdown(), explained.to_latex()):
        assert "lightgbm" in text
        assert "no relevant document" in text
    name = "<b>q_1</b>"
    hostile = explain_convention([0, 0], [2, 1], qid=[name, name])
    assert name not in hostile._repr_html_()
    assert r"q\_1" in hostile.to_latex()


@pytest.mark.parametrize("k", [0, -1, 2.5, "10", True, None])
def test_other_values_of_k_are_refused(k):
    with pytest.raises(GradrankError, match=r"^k: "):
        explain_convention([1, 0], [2, 1], qid=[1, 1], k=k)
