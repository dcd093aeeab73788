"""Family and year of a model follow from its class and its summary."""

from gradrank.training.literature import OTHERS, by_family, family, year
from gradrank.training.registry import get_model, models


def test_a_family_is_the_class_that_models_share():
    assert {family(get_model(name)) for name in ("mart", "lambdamart", "dart", "yeti_trees")} == {"boosted trees"}
    assert family(get_model("listnet")) == family(get_model("neural_ndcg")) == "net ranker"
    assert family(get_model("ranksvm_sparse")) == family(get_model("svm_map")) == "RankSVM"
    assert family(get_model("smoothrank")) == "Regression"


def test_the_year_is_that_of_the_earliest_publication():
    known = {"rankboost": "2003", "ranksvm": "1999", "yeti_trees": "2023", "single_feature": "", "dart": "2015"}
    assert {name: year(get_model(name)) for name in known} == known


def test_every_model_is_in_one_family_by_year():
    grouped = by_family(models().values())
    assert sorted(cls.name for members in grouped.values() for cls, _ in members) == sorted(models())
    *families, last = grouped
    assert families == sorted(families, key=str.lower) and last == OTHERS
    for members in grouped.values():
        years = [when for _, when in members]
        assert len(members) > 1 and years == sorted(years)
