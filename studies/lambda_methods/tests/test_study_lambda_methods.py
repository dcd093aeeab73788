"""The claims on RankNet, LambdaRank and LambdaMART on made-up results; verdicts can fail."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from gradrank.bench.parts import write_job
from gradrank.data.collection import Collection
from gradrank.models.lambdamart import LambdaMART
from made_rankings import linear_grades
from made_study import DOCUMENTS, PARAMS, PARTS, make_study, part_of, written
from studies.lambda_methods import jobs
from studies.lambda_methods.experiments import changes_of_queries, values_by_round
from studies.lambda_methods.page import Net, boosting_rounds, too_many
from studies.lambda_methods.pair_errors import Compared, clearest_example, count_examples

NOISE = {"nodes-hidden=1": 30.0, "nodes-hidden=4": 0.5, "nodes-hidden=16": 0.2, "nodes-hidden=64": 0.2}
NOISE |= {"nodes-hidden=512": 5.0, "lambdarank": 0.8, "lambdamart": 0.1}
VALUES = np.array([[0.5, 0.5, 0.2], [0.4, 0.9, 0.2], [0.6, 0.8, 0.2], [0.7, 0.9, 0.1]])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    inputs = make_study(tmp_path_factory.mktemp("lambda"), "lambda_methods", NOISE)
    for dataset in inputs.datasets:
        result = {"dataset": dataset, "folds": [changes_of_queries(VALUES)] * 5}
        write_job(inputs.folder / f"jobs/rounds-{dataset}.json", result)
    sections = written("lambda_methods", inputs)
    tables = {item.id: item for section in sections for item in section.content if not hasattr(item, "svg")}
    return inputs, {section.id: section for section in sections}, tables


def test_the_figure_has_the_published_numbers_of_errors(made):
    """Burges 2010, figure 1: 13 errors become 11, and NDCG falls."""
    left, right = made[2]["figure"].rows
    assert (left["errors"], right["errors"]) == (13, 11)
    ideal = 1 + 1 / np.log2(3)
    assert left["ndcg"] == pytest.approx((1 + 1 / np.log2(16)) / ideal)
    assert right["ndcg"] == pytest.approx((1 / np.log2(5) + 1 / np.log2(11)) / ideal)


def test_queries_with_fewer_errors_and_a_lower_value_are_counted():
    """By hand: the first query of 16 documents is the figure, the second has one ranking throughout, the third none."""
    left, right = np.zeros(16), np.zeros(16)
    labels = np.zeros(16, np.int64)
    labels[[0, 1]] = 1
    for scores, ranks in ((left, (1, 15)), (right, (4, 10))):
        others = [rank for rank in range(1, 17) if rank not in ranks]
        scores[:] = -np.array([*ranks, *others])
    compared = Compared()
    compared.add_fold(
        np.r_[labels, [1, 0], [1, 1]],
        np.array([0, 16, 18, 20]),
        np.array([7, 8, 9]),
        {"ranknet_two_layer": np.r_[right, 2.0, 1.0, 0.0, 1.0], "lambdarank": np.r_[left, 2.0, 1.0, 1.0, 0.0]},
    )
    assert compared.qids == [7, 8] and compared.errors == {"ranknet_two_layer": [11, 0], "lambdarank": [13, 0]}
    ranknet, lambdarank = count_examples("made", compared)
    assert (ranknet["fewer_errors"], ranknet["worse"], ranknet["share"]) == (1, 1, 1.0)
    assert (lambdarank["fewer_errors"], lambdarank["worse"]) == (0, 0) and np.isnan(lambdarank["share"])
    first, second = clearest_example("made", compared)
    assert (first["ranking"], first["ranks"], second["ranks"]) == (
        "ranknet_two_layer",
        "4 (1), 10 (1)",
        "1 (1), 15 (1)",
    )
    assert first["errors"] < second["errors"] and first["value"] < second["value"]


def test_without_an_example_the_claim_does_not_hold():
    compared = Compared()
    one = np.array([1.0, 0.0])
    compared.add_fold(np.array([1, 0]), np.array([0, 2]), np.array([1]), dict.fromkeys(compared.grades, one))
    assert clearest_example("made", compared) == []
    assert [row["worse"] for row in count_examples("made", compared)] == [0, 0]


def test_examples_on_the_page_follow_from_the_scores(made):
    _, sections, tables = made
    assert any(row["fewer_errors"] for row in tables["pair_errors"].rows)
    for row in tables["pair_errors"].rows:
        assert row["worse"] <= row["fewer_errors"] <= row["queries"] == 15
    for first, second in zip(*[iter(tables["pair_errors_example"].rows)] * 2, strict=True):
        assert first["errors"] < second["errors"] and first["value"] < second["value"]
    assert "The figure shows the claim." in sections["pair_errors"].paragraphs[0]


def test_changes_of_queries_by_hand():
    found = changes_of_queries(VALUES)
    assert found["hurt"] == pytest.approx([1 / 3, 1 / 3, 1 / 3], abs=1e-6)
    assert found["helped"] == pytest.approx([1 / 3, 1 / 3, 2 / 3], abs=1e-6)
    assert found["hurt_at_end"] == pytest.approx(1 / 3, abs=1e-6)
    assert found["helped_at_end"] == pytest.approx(2 / 3, abs=1e-6)


def test_rounds_are_counted_by_stage(made):
    (row,) = (row for row in made[2]["rounds"].rows if row["dataset"] == "mq2007")
    assert row["rounds"] == "2 to 10" and (row["counted"], row["rising"], row["hurting"]) == (15, 15, 15)
    assert row["hurt"] == pytest.approx(1 / 3, abs=1e-6)


def test_a_training_that_hurts_no_query_loses_the_claim():
    rising = np.cumsum(np.ones((4, 3)), axis=0)
    section = boosting_rounds([{"dataset": "made", "folds": [changes_of_queries(rising)]}])
    assert "in 0 of 3 rounds" in section.paragraphs[1] and "does not hold" in section.paragraphs[1]


def test_values_by_round_end_at_the_scores_of_the_model():
    train = linear_grades(0, queries=40, documents=20)
    params = LambdaMART.Params(rounds=5, min_data_in_leaf=5, patience=5)
    fitted = LambdaMART.fit(train, train, params, 1, lambda *_, **__: None)
    values = values_by_round(fitted, train)
    assert values.shape == (fitted.boosters[0].num_trees(), relevant_queries(train))
    without = replace(train, labels=np.where(train.query_of_row == 0, 0, train.labels))
    assert values_by_round(fitted, without).shape[1] == relevant_queries(without) < train.queries
    assert values[-1].mean() > values[0].mean()


def relevant_queries(part: Collection) -> int:
    return int((np.maximum.reduceat(part.labels, part.offsets[:-1]) > 0).sum())


def test_the_jobs_are_one_per_data_set():
    settings = PARAMS.studies["lambda_methods"]
    assert jobs(settings) == {
        f"rounds-{dataset}": {"dataset": dataset, "model": "lambdamart"} for dataset in settings.datasets
    }


def test_nets_are_sorted_by_nodes_and_few_nodes_are_compared_with_all_others(made):
    _, sections, tables = made
    assert [row["nodes"] for row in tables["nodes_mq2007"].rows] == [1, 4, 16, 64, 512]
    tests = [(row["first"], row["second"]) for row in tables["nodes_mq2007_tests"].rows]
    assert tests == [(1, 4), (1, 16), (1, 64), (1, 512), (512, 4), (512, 16), (512, 64)]
    assert "the net with 1 node is significantly worse than" in sections["nodes"].paragraphs[1]
    assert all(row["last"] == pytest.approx(0.4) and row["loss"] == 1.0 for row in tables["nodes_ohsumed"].rows)


def test_too_many_nodes_need_a_loss_in_every_fold_after_the_last_epoch(made):
    """The histories of the last epoch decide: a lower value in all folds, or in all but one."""
    inputs = made[0]
    nets = [Net(inputs, "mq2007", f"nodes-hidden={nodes}") for nodes in (1, 64, 512)]
    rows = [{"nodes": net.nodes, "loss": 1.0, "last": 0.0} for net in nets]
    for last, verdict in (([0.3] * 5, "are worse in every fold."), ([0.3] * 4 + [0.6], "are worse in some folds.")):
        nets[-1].last = last
        for row, net in zip(rows, nets, strict=True):
            row["last"] = float(np.mean(net.last))
        assert too_many("mq2007", nets, rows, []).endswith(verdict)


def test_accuracy_is_the_share_of_pairs_in_order(made):
    inputs, _, tables = made
    (row,) = (row for row in tables["accuracy"].rows if (row["dataset"], row["method"]) == ("mq2007", "lambdarank"))
    of_folds = []
    for fold in range(1, PARTS + 1):
        part = pl.read_parquet(inputs.data / f"mq2007/part{part_of(fold)}.parquet")
        labels = part["label"].to_numpy().reshape(-1, DOCUMENTS)
        scores = inputs.method("mq2007", "lambdarank").fold(fold).scores("test").reshape(-1, DOCUMENTS)
        expected = []
        for y, s in zip(labels, scores, strict=True):
            pairs = [(i, j) for i in range(DOCUMENTS) for j in range(DOCUMENTS) if y[i] > y[j]]
            expected.append(np.mean([s[i] > s[j] for i, j in pairs]) if pairs else np.nan)
        of_folds.append(np.nanmean(expected))
    assert row["pairwise_accuracy"] == pytest.approx(np.mean(of_folds))
