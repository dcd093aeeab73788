"""Published numbers are facts: a few are typed here a second time, from the papers' tables."""

import csv
from collections import Counter
from importlib.resources import files

import pytest

from gradrank.evaluation.published import lookup


@pytest.mark.parametrize(
    ("dataset", "model", "metric", "value", "convention"),
    [
        ("mq2007", "ranksvm", "ndcg@10", 0.4439, "letor4"),  # LETOR 4.0's RankSVM-Struct
        ("mq2007", "ranksvm", "ndcg@10", 0.4383, "letor4"),  # the ARSM paper's RankSVM
        ("mq2007", "rankboost", "ndcg@10", 0.4464, "letor4"),
        ("mq2007", "adarank_map", "map", 0.4577, "letor4"),
        ("mq2007", "ranknet_kernel", "mean_ndcg", 0.5036, "letor4"),
        ("ohsumed", "arsm", "ndcg@10", 0.4460, "letor3"),
        ("OHSUMED", "listnet", "map", 0.4457, "letor3"),
        ("ohsumed", "ranksvm", "ndcg@8", 0.4072, "letor3"),
    ],
)
def test_values(dataset, model, metric, value, convention):
    assert (value, convention) in {(there[0], there[1]) for there in lookup(dataset, model, metric)}


def test_nothing_published_is_an_empty_list():
    assert lookup("mq2007", "lambdamart", "ndcg@10") == []
    assert lookup("synthetic_net", "ranksvm", "ndcg@10") == lookup("mq2007", "ranksvm", "err@10") == []


def test_relatives_are_marked():
    assert all("relative" in there.note for there in lookup("mq2007", "ranknet_kernel", "ndcg@10"))
    assert all(there.note == "" for there in lookup("mq2007", "ranksvm", "map"))


ARSM_ROWS = ("ListNet", "AdaRank-MAP", "AdaRank-NDCG", "ARSM-L2R")  # and RankSVM
LETOR4_ROWS = ("AdaRank-MAP", "AdaRank-NDCG", "RankBoost", "RankSVM-Struct")
LETOR3_ROWS = ("RankSVM", "RankBoost", "ListNet", "AdaRank-MAP")


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


def test_the_table_holds_what_the_publications_print():
    """Counted by hand: numbers of each source, data set, method and part, with its folds."""
    text = files("gradrank.evaluation").joinpath("literature/letor_results.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    found = Counter((row["source"].split(",")[0].split(" (")[0], row["dataset"], row["method"]) for row in rows)
    ndcg, precision = 10 + 1, 10 + 1  # NDCG@1 to @10 and MeanNDCG; P@1 to @10 and MAP
    official = "LETOR 4.0 baselines as published by Microsoft Research with the collection"
    chen = "KaenChan/rank-kernel-appr"
    assert found == {
        ("ARSM-L2R paper", "MQ2007", "RankSVM"): 5,  # Table 2: NDCG@1, @3, @5, @10, MAP
        **{("ARSM-L2R paper", "MQ2007", name): 5 for name in ARSM_ROWS},
        ("ARSM-L2R paper", "OHSUMED", "RankSVM"): 5,  # Table 3
        **{("ARSM-L2R paper", "OHSUMED", name): 5 for name in ARSM_ROWS},
        # Five folds and their mean of three parts; of ListNet only the test part, without MAP and MeanNDCG.
        **{(official, "MQ2007", name): 3 * 6 * (ndcg + precision) for name in LETOR4_ROWS},
        (official, "MQ2007", "ListNet"): 6 * (ndcg + precision - 2),
        # NDCG@1 to @10, P@1 to @10, MAP
        **{("LETOR 3.0 baselines", "OHSUMED", name): 21 for name in LETOR3_ROWS},
        **{(chen, dataset, "RBF-Nystroem-RankSVM"): 6 * (ndcg + precision) for dataset in ("MQ2007", "OHSUMED")},
    }
    keys = [tuple(row[key] for key in ("source", "dataset", "method", "split", "fold", "metric")) for row in rows]
    assert len(set(keys)) == len(keys)


def test_every_mapped_method_is_published():
    base = files("gradrank.evaluation").joinpath("literature")
    published = {row["method"] for row in csv.DictReader(base.joinpath("letor_results.csv").open())}
    mapped = {row["method"] for row in csv.DictReader(base.joinpath("methods.csv").open())}
    assert mapped <= published
    assert published <= mapped, "a published method that no model answers to"
