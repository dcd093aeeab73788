"""The committed studies keep to what this project promises of the publications that they re-create."""

from pathlib import Path

import pytest

from gradrank.evaluation.verdict import CONSISTENT
from gradrank.files import read_json
from gradrank.pipeline.params import load

ROOT = Path(__file__).parents[2]
SETTINGS = load(ROOT / "params.yaml").study_settings("ranknet2005")
SIZES = (100, 500, 2500, 12500)


@pytest.fixture(scope="module")
def numbers():
    return read_json(ROOT / "results/studies/ranknet2005/numbers.json")


@pytest.fixture(scope="module")
def table1(numbers):
    return {(row["target"], row["net"], row["size"]): row for row in numbers["table1"]}


def test_ranknet2005_holds_the_draws_and_sizes_of_the_shipped_parameters(table1):
    assert {row["draws"] for row in table1.values()} == {SETTINGS["artificial"]["draws"]} and len(
        table1
    ) == 16
    assert sorted({size for _, _, size in table1}) == SETTINGS["artificial"]["sizes"]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("net", ["linear", "two_layer_5"])
def test_random_net_gives_the_papers_level(table1, net, size):
    """Within 1.5 points, the two-layer net at 2,500 (whose draws spread widely) within 2.5."""
    row = table1["net", net, size]
    within = 2.5 if (net, size) == ("two_layer_5", 2500) else 1.5
    assert row["draws"] >= 5 and abs(row["difference"]) <= within
    assert row["verdict"] == CONSISTENT


@pytest.mark.parametrize("target", ["net", "poly"])
def test_hidden_units_help_only_where_there_is_data_enough(table1, target):
    gains = [
        table1[target, "two_layer_5", size]["ours"] - table1[target, "linear", size]["ours"] for size in SIZES
    ]
    assert abs(gains[0]) < 1 and abs(gains[1]) < 1
    if target == "net":
        assert min(gains[2:]) > 5


def test_a_linear_share_of_a_fifth_gives_the_papers_polynomial(numbers):
    for row in numbers["table1_by_variance"]:
        assert abs(row["difference"]) < 2.5 and row["verdict"] == CONSISTENT


def test_ties_change_next_to_nothing(numbers):
    for row in numbers["table2_difference"]:
        assert abs(row["difference"]) < 0.5


def test_pair_counts_are_those_of_six_equal_grades(numbers):
    for row in numbers["table2"]:
        assert abs(row["pairs"] / row["published_pairs"] - 1) < (0 if row["ties"] == "all" else 0.02) + 1e-12


def test_a_net_of_the_targets_shape_learns_1000_vectors(numbers):
    cells = {row["what"]: row for row in numbers["zero_error"]}
    assert (
        cells["training pairs in error, %"]["least"] == 0
        and cells["training pairs in error, %"]["most"] < 0.1
    )
    for what in ("least validation error, %", "test error there, %"):
        assert cells[what]["verdict"] == CONSISTENT


def test_shape_of_the_papers_comparison_on_mq2007(numbers):
    """RankNet is ahead of RankProp, that of OAP-BPM, that of PRank; of the two nets neither is.

    Quadratic PRank is the paper's last, below the linear one, and here between that and OAP-BPM, for which see
    test_committed_results.
    """
    test = {row["model"]: row["ours"] for row in numbers["tables45_mq2007"] if row["split"] == "test"}
    nets = [test["ranknet_2005_linear"], test["ranknet_2005_two_layer"]]
    assert min(nets) > test["rankprop"] > test["oap_bpm"] > test["prank_quadratic"] > test["prank"]
    (between,) = (row for row in numbers["nets_mq2007"] if row["second"] == "ranknet_2005_linear")
    assert between["wilcoxon_holm"] > 0.05 and between["low"] <= 0 <= between["high"]
