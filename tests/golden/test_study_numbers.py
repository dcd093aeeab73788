"""The committed numbers of the 2005 study reproduce its publication within the documented deviations."""

from itertools import combinations
from pathlib import Path

import pytest

from gradrank.base.files import read_json
from gradrank.bench.config.params import load
from gradrank.bench.literature import CONSISTENT, NOT_REPRODUCED
from studies.ranknet2005.order import AS_PUBLISHED, NOT_SEPARATED, REVERSED

ROOT = Path(__file__).parents[2]
SETTINGS = load(ROOT / "params.yaml").study_settings("ranknet2005")
SIZES = (100, 500, 2500, 12500)
# Burges et al. 2005, Table 4, the worst first.
IN_THE_ORDER_OF_2005 = ("Quad PRank", "Linear PRank", "OAP-BPM", "RankProp", "One layer net", "Two layer net")
# The first falls from validation to test there, where its weights are nearly half as many as the documents (see the
# page's table of fewer queries). The others are level: queries and seeds move them by more than what lies between them,
# and what the second layer adds is lost in training or in the data (the page's table of other trainings).
OTHERWISE = {
    ("Quad PRank", "Linear PRank"): REVERSED,
    ("Quad PRank", "OAP-BPM"): NOT_SEPARATED,
    ("RankProp", "One layer net"): NOT_SEPARATED,
    ("RankProp", "Two layer net"): NOT_SEPARATED,
    ("One layer net", "Two layer net"): NOT_SEPARATED,
}


@pytest.fixture(scope="module")
def numbers():
    return read_json(ROOT / "results/studies/ranknet2005/numbers.json")


@pytest.fixture(scope="module")
def table1(numbers):
    return {(row["target"], row["net"], row["size"]): row for row in numbers["table1"]}


def test_ranknet2005_holds_the_draws_and_sizes_of_the_shipped_parameters(table1):
    assert {row["draws"] for row in table1.values()} == {SETTINGS["artificial"]["draws"]} and len(table1) == 16
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
@pytest.mark.parametrize("size", SIZES)
def test_hidden_units_help_as_much_as_in_the_paper(table1, target, size):
    """The gain is seven points for the random net with 2,500 vectors or more, else less than one point."""
    two, one = (table1[target, net, size] for net in ("two_layer_5", "linear"))
    assert two["ours"] - one["ours"] == pytest.approx(two["published"] - one["published"], abs=2)


def test_the_polynomials_linear_share_is_a_fifth_at_every_size(numbers):
    """With the one third of the paper's text, a linear net would be about four points better than published."""
    for row in numbers["table1_share_met"]:
        assert 0.05 < row["low"] < row["share"] < row["high"] < 1 / 3
        assert row["share"] == pytest.approx(0.2, abs=0.05)
    swept = numbers["table1_linear_share"]
    assert {row["verdict"] for row in swept if row["share"] == 0.2} == {CONSISTENT}
    assert {row["verdict"] for row in swept if row["share"] > 0.32} == {NOT_REPRODUCED}


@pytest.mark.parametrize(("table", "within"), [("table1_by_variance", 2.5), ("table2_by_variance", 2.5)])
def test_terms_divided_by_their_variance_give_the_papers_polynomial(numbers, table, within):
    assert len(numbers[table]) == 8
    for row in numbers[table]:
        assert abs(row["difference"]) < within and row["verdict"] == CONSISTENT


@pytest.mark.parametrize("table", ["table2_difference", "table2_by_variance_difference"])
def test_ties_change_next_to_nothing(numbers, table):
    for row in numbers[table]:
        assert abs(row["difference"]) < 0.5


def test_pair_counts_are_those_of_six_equal_grades(numbers):
    for row in numbers["table2"]:
        assert abs(row["pairs"] / row["published_pairs"] - 1) < (0 if row["ties"] == "all" else 0.02) + 1e-12


def test_a_net_of_the_targets_shape_learns_1000_vectors(numbers):
    cells = {row["what"]: row for row in numbers["zero_error"]}
    assert cells["training pairs in error, %"]["least"] == 0 and cells["training pairs in error, %"]["most"] < 0.1
    for what in ("least validation error, %", "test error there, %"):
        assert cells[what]["verdict"] == CONSISTENT and abs(cells[what]["difference"]) < 2


@pytest.mark.parametrize("pair", list(combinations(IN_THE_ORDER_OF_2005, 2)), ids=" < ".join)
def test_the_order_of_the_2005_paper(numbers, pair):
    """All fifteen pairs of the six methods have the order of Table 4, except for those in OTHERWISE."""
    (row,) = (row for row in numbers["order_mq2007"] if (row["worse"], row["better"]) == pair)
    assert row["published"] > 0
    assert row["verdict"] == OTHERWISE.get(pair, AS_PUBLISHED), "take it in, or out, with what explains it"


def test_the_order_of_the_means_is_the_papers_but_for_the_two_pranks_and_two_level_nets(numbers):
    means = {row["method"]: row["ours"] for row in numbers["tables45_mq2007"] if row["split"] == "test"}
    quad, linear, *others, one, two = IN_THE_ORDER_OF_2005
    assert sorted(means, key=means.__getitem__)[:4] == [linear, quad, *others]
    assert means[two] - means[one] == pytest.approx(0.0, abs=0.002)


def test_the_nets_training_ndcg_and_epochs_are_near_the_papers(numbers):
    """In Table 5 the second layer adds .021 on training queries; in section 6.2 the best epochs are 20 and 22."""
    train = {row["model"]: row for row in numbers["tables45_mq2007"] if row["split"] == "training"}
    two, one = train["table4_two_layer"], train["table4_one_layer"]
    assert two["ours"] - one["ours"] == pytest.approx(two["published"] - one["published"], abs=0.015)
    for row in numbers["epochs_mq2007"]:
        if row["published"] is not None:
            assert row["ours"] == pytest.approx(row["published"], abs=10)


def test_hidden_units_are_in_use(numbers):
    """With one step per query along the mean of its pairs, the two-layer net was nearly linear."""
    (own,) = (row for row in numbers["units_mq2007"] if row["model"] == "table4_two_layer")
    assert 4 < own["used"] < own["units"] == 10 and 0.8 < own["linear"] < 0.97


def test_the_order_of_the_pranks_is_that_of_weights_and_documents(numbers):
    """Quadratic PRank is worse than the linear one if its number of weights per document is near the paper's, .42.

    With 30 or 100 queries and three seeds the difference is not significant, but every seed has its sign. With all
    queries, quadratic PRank is better.
    """
    rows = [row for row in numbers["fewer_mq2007"] if row["worse"] == "Quad PRank"]
    many = [row for row in rows if row["weights"] > 0.2]
    assert len(many) == 2 and all(0.005 < row["difference"] < 0.02 for row in many)
    assert {row["seeds"] for row in many} == {"3 of 3"} and all(row["low"] > -0.002 for row in many)
    assert rows[-1]["queries"] == "all" and rows[-1]["high"] < 0


def test_shorter_steps_set_the_two_layer_net_above(numbers):
    """With shorter steps, two layers minus one is above 0 on validation and on test, by .001 to .011."""
    rows = {row["model"]: row for row in numbers["nets_mq2007"]}
    assert -0.006 < rows["table4_two_layer"]["vali_gap"] < -0.001
    for shorter in ("two_layer_slower", "two_layer_by_pair"):
        assert 0.001 < rows[shorter]["vali_gap"] < 0.006 and 0 < rows[shorter]["difference"] < 0.011
