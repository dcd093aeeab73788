"""The committed results keep to the numbers that this project promises (five-fold test means, `letor4`)."""

from pathlib import Path

import pytest

from gradrank.evaluation.published import lookup
from gradrank.files import read_json
from gradrank.pipeline.params import load
from gradrank.results import Results

ROOT = Path(__file__).parents[2]

AT_LEAST = [
    ("mq2007", "ranknet_linear", "ndcg@10", 0.440),
    ("mq2007", "ranknet_linear", "map", 0.463),
    ("mq2007", "ranknet_two_layer", "ndcg@10", 0.445),
    ("mq2007", "ranknet_two_layer", "map", 0.466),
    ("mq2007", "ranknet_kernel", "ndcg@10", 0.4493),  # the best published number that we know
    ("mq2007", "ranknet_kernel", "map", 0.4695),
    ("mq2007", "lambdarank", "ndcg@10", 0.449),
    ("mq2007", "lambdarank", "map", 0.469),
    ("mq2007", "lambdamart", "ndcg@10", 0.446),
    ("mq2007", "lambdamart", "map", 0.466),
    ("mq2007", "xendcg", "ndcg@10", 0.452),
    ("mq2007", "xendcg", "map", 0.469),
    ("mq2007", "fusion", "ndcg@10", 0.457),
    ("mq2007", "fusion", "map", 0.474),
    ("ohsumed", "ranksvm", "ndcg@10", 0.440),
]
# Two-sided: a method that is re-created lies near its published number, not only above it.
OFFICIAL, ARSM_PAPER = "LETOR", "ARSM-L2R paper"
PUBLISHED = [
    ("mq2007", "ranksvm", "RankSVM-Struct", OFFICIAL, 0.004, 0.004),
    ("mq2007", "rankboost", "RankBoost", OFFICIAL, 0.004, 0.004),
    ("mq2007", "listnet", "ListNet", OFFICIAL, 0.004, None),
    ("mq2007", "listnet", "ListNet", ARSM_PAPER, None, 0.004),  # the official tables have no MAP of it
    ("mq2007", "adarank_map", "AdaRank-MAP", OFFICIAL, 0.006, 0.006),
    ("mq2007", "adarank_ndcg", "AdaRank-NDCG", OFFICIAL, 0.006, 0.006),
    ("mq2007", "arsm", "ARSM-L2R", ARSM_PAPER, 0.005, 0.005),
    ("ohsumed", "rankboost", "RankBoost", OFFICIAL, 0.012, None),
    ("ohsumed", "listnet", "ListNet", OFFICIAL, 0.012, None),
    ("ohsumed", "adarank_map", "AdaRank-MAP", OFFICIAL, 0.012, None),
    ("ohsumed", "adarank_ndcg", "AdaRank-NDCG", ARSM_PAPER, 0.012, None),
    ("ohsumed", "arsm", "ARSM-L2R", ARSM_PAPER, 0.012, None),
]
RANKSVM_NDCG = ("ranksvm_ndcg", "ranksvm_ndcg_l2_dual", "ranksvm_ndcg_l1_dual", "ranksvm_ndcg_sparse")
IN_THE_ORDER_OF_2005 = ("prank", "oap_bpm", "ranknet_2005_linear")  # Burges et al. 2005, Table 4


def ours(dataset: str, model: str, metric: str) -> float:
    return read_json(ROOT / f"results/{dataset}/summary.json")[model][metric]


@pytest.mark.parametrize(("dataset", "model", "metric", "bar"), AT_LEAST)
def test_reaches_its_bar(dataset, model, metric, bar):
    assert ours(dataset, model, metric) >= bar


@pytest.mark.parametrize(("dataset", "model", "method", "source", "ndcg", "ap"), PUBLISHED)
def test_recreates_the_published_numbers(dataset, model, method, source, ndcg, ap):
    for metric, within in {"ndcg@10": ndcg, "map": ap}.items():
        if within is not None:
            found = [row for row in lookup(dataset, model, metric) if row.method == method]
            (published,) = {row.value for row in found if row.source.startswith(source)}
            assert abs(ours(dataset, model, metric) - published) <= within


def test_the_best_form_of_ranksvm_ndcg_reaches_its_bar():
    best = max(RANKSVM_NDCG, key=lambda model: ours("mq2007", model, "ndcg@10"))
    assert ours("mq2007", best, "ndcg@10") >= 0.442
    assert ours("mq2007", best, "map") >= 0.463


def test_the_order_of_the_2005_paper_holds():
    values = [ours("mq2007", model, "ndcg@10") for model in IN_THE_ORDER_OF_2005]
    assert values == sorted(values)


@pytest.mark.parametrize("dataset", ["mq2007", "ohsumed", "synthetic_net", "synthetic_poly"])
def test_summaries_hold_the_models_of_the_shipped_study(dataset, plain_install):
    assert (
        list(read_json(ROOT / f"results/{dataset}/summary.json")) == load(ROOT / "params.yaml").model_names()
    )


def test_the_means_that_dvc_compares_are_the_summaries():
    results = Results(ROOT / "results")
    assert read_json(results.metrics_path) == {each.name: each.summary() for each in results.datasets()}
