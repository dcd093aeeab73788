"""Published numbers: means agree with their folds, relatives are marked, and every method is mapped."""

import csv
from importlib.resources import files

import pytest

from gradrank.evaluation.literature.published import RESULTS, lookup


def test_nothing_published_is_an_empty_list():
    assert lookup("mq2007", "lambdamart", "ndcg@10") == []
    assert lookup("synthetic_net", "ranksvm", "ndcg@10") == lookup("mq2007", "ranksvm", "err@10") == []


def test_relatives_are_marked():
    assert all("relative" in there.note for there in lookup("mq2007", "ranknet_kernel", "ndcg@10"))
    assert all(there.note == "" for there in lookup("mq2007", "ranksvm", "map"))


def test_folds_come_with_the_mean_they_have_whoever_prints_it():
    (official, paper) = lookup("mq2007", "listnet", "ndcg@10")
    assert official.value == paper.value == 0.4440 and official.folds == paper.folds
    assert official.folds == {1: 0.4767, 2: 0.4270, 3: 0.4478, 4: 0.4214, 5: 0.4472}
    (struct, other) = lookup("mq2007", "ranksvm", "ndcg@10")
    assert len(struct.folds) == 5 and other.folds == {}, "another RankSVM's folds are not the paper's"
    assert all(there.folds == {} for there in lookup("ohsumed", "listnet", "ndcg@10"))


def test_the_kernel_approximation_of_chen_2017():
    (there,) = lookup("ohsumed", "ranknet_kernel", "ndcg@10")
    assert (there.value, there.convention) == (0.4505, "letor4")
    assert there.folds == {1: 0.3955, 2: 0.4576, 3: 0.4356, 4: 0.4593, 5: 0.5047}


@pytest.mark.parametrize(
    ("model", "values"),
    [("yetirank", [0.71139851, 0.71484625]), ("mart", [0.70998032]), ("xgboost_ndcg", [0.70976481]), ("dart", [])],
)
def test_the_catboost_benchmark_says_on_which_part_it_chose(model, values):
    found = lookup("yandex_imat2009", model, "ndcg@10")
    assert [there.value for there in found] == values
    assert all(there.convention == "lightgbm" and there.folds == {} for there in found)
    assert all("test part" in there.note and "test part" in there.source for there in found)
    assert lookup("mq2007", model, "ndcg@10") == lookup("yandex_imat2009", model, "map") == []


@pytest.mark.parametrize("method", ["AdaRank-MAP", "AdaRank-NDCG", "RankBoost", "RankSVM-Struct", "ListNet"])
def test_means_are_those_of_the_published_folds(method):
    """A mean row is the mean of its fold rows, up to the rounding in the papers."""
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
    published = {row["method"] for name in RESULTS for row in csv.DictReader(base.joinpath(name).open())}
    mapped = {row["method"] for row in csv.DictReader(base.joinpath("methods.csv").open())}
    assert mapped <= published
    assert published <= mapped, "a published method that no model answers to"
