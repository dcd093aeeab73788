"""Published numbers are facts: a few are typed here a second time, from the papers' tables."""

import csv
from importlib.resources import files

import pytest

from gradrank.evaluation.published import lookup


def test_ranksvm_on_mq2007_has_both_sources():
    found = {(there.method, there.value) for there in lookup("mq2007", "ranksvm", "ndcg@10")}
    assert found == {("RankSVM-Struct", 0.4439), ("RankSVM", 0.4383)}


@pytest.mark.parametrize(
    ("dataset", "model", "metric", "value", "convention"),
    [
        ("mq2007", "rankboost", "ndcg@10", 0.4464, "letor4"),
        ("mq2007", "adarank_map", "map", 0.4577, "letor4"),
        ("mq2007", "ranknet_kernel", "mean_ndcg", 0.5036, "letor4"),
        ("ohsumed", "arsm", "ndcg@10", 0.4460, "letor3"),
        ("OHSUMED", "listnet", "map", 0.4457, "letor3"),
    ],
)
def test_values(dataset, model, metric, value, convention):
    assert (value, convention) in {(there[0], there[1]) for there in lookup(dataset, model, metric)}


def test_nothing_published_is_an_empty_list():
    assert lookup("mq2007", "lambdamart", "ndcg@10") == []
    assert lookup("synthetic_net", "ranksvm", "ndcg@10") == []
    assert lookup("mq2007", "ranksvm", "err@10") == []


def test_relatives_are_marked():
    assert all("relative" in there.note for there in lookup("mq2007", "ranknet_kernel", "ndcg@10"))
    assert all(there.note == "" for there in lookup("mq2007", "ranksvm", "map"))


@pytest.mark.parametrize("method", ["AdaRank-MAP", "AdaRank-NDCG", "RankBoost", "RankSVM-Struct", "ListNet"])
def test_means_are_those_of_the_published_folds(method):
    """The file's own identity: a mean row is the mean of its fold rows, up to the papers' rounding."""
    text = files("gradrank.evaluation").joinpath("literature/letor_results.csv").read_text(encoding="utf-8")
    folds: dict[str, list[float]] = {}
    means: dict[str, float] = {}
    for row in csv.DictReader(text.splitlines()):
        if row["method"] == method and row["split"] == "test" and row["source"].startswith("LETOR 4.0"):
            if row["fold"] == "mean":
                means[row["metric"]] = float(row["value"])
            else:
                folds.setdefault(row["metric"], []).append(float(row["value"]))
    assert means.keys() == folds.keys()
    for metric, mean in means.items():
        assert len(folds[metric]) == 5
        assert mean == pytest.approx(sum(folds[metric]) / 5, abs=1.01e-4)


def test_every_mapped_method_is_published():
    base = files("gradrank.evaluation").joinpath("literature")
    published = {row["method"] for row in csv.DictReader(base.joinpath("letor_results.csv").open())}
    mapped = {row["method"] for row in csv.DictReader(base.joinpath("methods.csv").open())}
    assert mapped <= published
    assert published <= mapped, "a published method that no model answers to"
