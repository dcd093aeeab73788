"""Published numbers: means agree with their folds, relatives are marked, and every method is mapped."""

import csv
from importlib.resources import files

import pytest

from gradrank.bench.literature import FILES, RESULTS, lookup, runs_of


def test_nothing_published_is_an_empty_list():
    assert lookup("mq2007", "lambdamart", "ndcg@10") == []
    assert lookup("synthetic_net", "ranksvm", "ndcg@10") == lookup("mq2007", "ranksvm", "err@10") == []


def test_relatives_are_marked():
    assert all("relative" in there.note for there in lookup("mq2007", "ranknet_kernel", "ndcg@10"))
    assert all(there.note == "" for there in lookup("mq2007", "ranksvm", "map"))


def test_folds_come_with_the_mean_they_have_whoever_prints_it():
    (official, paper) = (there for there in lookup("mq2007", "listnet", "ndcg@10") if not there.runs)
    assert official.value == paper.value == 0.4440 and official.folds == paper.folds
    assert official.folds == {1: 0.4767, 2: 0.4270, 3: 0.4478, 4: 0.4214, 5: 0.4472}
    (struct, other) = lookup("mq2007", "ranksvm", "ndcg@10")
    assert len(struct.folds) == 5 and other.folds == {}, "another RankSVM's folds are not the paper's"
    assert all(there.folds == {} for there in lookup("ohsumed", "listnet", "ndcg@10"))


def test_forty_runs_of_ranklib_on_every_fold():
    """Read a second way: the mean of a metric is that of its column, and every split has 40 runs of 5 folds."""
    found = [there for there in lookup("mq2007", "listnet", "map") if there.runs]
    (there,) = found
    assert (there.method, there.convention) == ("ListNet (RankLib)", "letor4")
    text = files("gradrank.bench").joinpath("literature/ranklib_listnet_mq2007.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == 2 * 5 * 40
    by_fold = {
        fold: [float(row["MAP"]) for row in rows if (row["split"], row["fold"]) == ("test", str(fold))]
        for fold in range(1, 6)
    }
    assert {fold: list(values) for fold, values in there.runs.items()} == by_fold
    assert there.folds == pytest.approx({fold: sum(values) / 40 for fold, values in by_fold.items()})
    assert there.value == pytest.approx(sum(there.folds.values()) / 5)
    assert runs_of(FILES[0], "NDCG@10", "vali")[2][2] == 0.4477
    assert not [there for there in lookup("ohsumed", "listnet", "map") if there.runs]
    assert not [there for there in lookup("mq2007", "listnet", "err@10") if there.runs]


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
    text = files("gradrank.bench").joinpath("literature/letor_results.csv").read_text(encoding="utf-8")
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
    base = files("gradrank.bench").joinpath("literature")
    published = {row["method"] for name in RESULTS for row in csv.DictReader(base.joinpath(name).open())}
    published |= {file.method for file in FILES}
    mapped = {row["method"] for row in csv.DictReader(base.joinpath("methods.csv").open())}
    assert mapped <= published
    assert published <= mapped, "a published method that no model answers to"
