"""The primary convention of a data set."""

import pytest

from gradrank.bench.folds.settings import primary_convention


@pytest.mark.parametrize(
    ("params", "default", "found"),
    [
        ({}, None, "standard"),
        ({"evaluation": None, "datasets": None}, None, "standard"),
        ({"evaluation": {"convention": "letor3"}, "datasets": {"other": {"convention": "trec"}}}, None, "letor3"),
        ({"evaluation": {"convention": "letor3"}, "datasets": {"mine": {"path": "x"}}}, "ranklib", "ranklib"),
        ({"evaluation": {"convention": "letor3"}, "datasets": {"mine": {"convention": "trec"}}}, "ranklib", "trec"),
        ({"datasets": {"mine": None}}, None, "standard"),
    ],
)
def test_a_data_sets_own_goes_before_the_default_and_the_runs(params, default, found):
    assert primary_convention(params, "mine", default) == found


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"evaluation": {"convention": "letor3"}}, "lightgbm"),
        ({"evaluation": {"convention": "letor3"}, "datasets": {"yandex_imat2009": {"models": "all"}}}, "lightgbm"),
        ({"datasets": {"yandex_imat2009": {"convention": "standard"}}}, "standard"),
    ],
)
def test_the_catalogue_goes_before_the_runs_convention(params, found):
    assert primary_convention(params, "yandex_imat2009") == found
    assert primary_convention(params | {"datasets": {}}, "mq2007") == params.get("evaluation", {}).get(
        "convention", "standard"
    )
