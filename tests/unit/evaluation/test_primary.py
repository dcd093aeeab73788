"""The primary convention of a data set."""

import pytest

from gradrank.evaluation.primary import primary_convention


@pytest.mark.parametrize(
    ("params", "default", "found"),
    [
        ({}, None, "letor4"),
        ({"evaluation": None, "datasets": None}, None, "letor4"),
        ({"evaluation": {"convention": "letor3"}, "datasets": {"other": {"convention": "trec"}}}, None, "letor3"),
        ({"evaluation": {"convention": "letor3"}, "datasets": {"mine": {"path": "x"}}}, "ranklib", "ranklib"),
        ({"evaluation": {"convention": "letor3"}, "datasets": {"mine": {"convention": "trec"}}}, "ranklib", "trec"),
        ({"datasets": {"mine": None}}, None, "letor4"),
    ],
)
def test_a_data_sets_own_goes_before_the_default_and_the_runs(params, default, found):
    assert primary_convention(params, "mine", default) == found
