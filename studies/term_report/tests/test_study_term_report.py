"""The term report's study on made-up results: the figure's exact values, the claims, the paired questions."""

import math
from itertools import product

import numpy as np
import polars as pl
import pytest

from gradrank.bench.parts import write_job
from gradrank.models.ranknet_report import Examples, PairNet
from made_collection import store
from made_study import DOCUMENTS, PARTS, make_study, part_of, trained_on, written
from studies.term_report.claims import LOW, MEASURED, WITH_L2
from studies.term_report.experiments import METRICS, PARAMS, PENALTIES, form_name, run_job
from studies.term_report.page import blog_cost, cross_entropy, report_target
from studies.term_report.weights import positions

NOISE = {"ranksvm_ndcg": 0.0, "ranksvm": 3.0, "report_whole-l2=0.01": 3.0, "report_hidden-hidden=64": 5.0}
NOISE |= {"ranknet_report_l2": 2.0}


def made_forms(inputs, dataset):
    """The result of a job: the values of RankSVM for every form, and lower ones for the forms with plain pairs."""
    values = inputs.measure(dataset, "ranksvm", METRICS, "letor4")
    forms = {}
    for name, factor in ((form_name(*form), 0.5 if form[0] == "pair" else 1.0) for form in product(PARAMS, PENALTIES)):
        forms[name] = [
            {
                "C": 1.0,
                "qids": values.qids[values.folds == fold].tolist(),
                "values": {
                    metric: [None if np.isnan(value) else factor * value for value in of_metric[values.folds == fold]]
                    for metric, of_metric in values.values.items()
                },
            }
            for fold in range(1, PARTS + 1)
        ]
    return forms


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    inputs = make_study(tmp_path_factory.mktemp("term"), "term_report", NOISE)
    for dataset in inputs.datasets:
        write_job(
            inputs.folder / f"jobs/forms-{dataset}.json", {"dataset": dataset, "forms": made_forms(inputs, dataset)}
        )
    sections = written("term_report", inputs)
    tables = {item.id: item for section in sections for item in section.content if not hasattr(item, "svg")}
    return inputs, {section.id: section for section in sections}, tables


def test_measures_of_one_relevant_document_among_ten():
    figure = positions()
    for rank, row in enumerate(figure.table.rows, start=1):
        assert row["rank"] == rank
        assert row["ndcg"] == pytest.approx(1 / math.log2(1 + rank), abs=1e-15)
        assert row["ndcg_letor"] == pytest.approx(1 / math.log2(max(rank, 2)), abs=1e-15)
        assert row["ndcg_beta"] == pytest.approx((11 - rank) / 10, abs=1e-15)
    assert len(figure.table.rows) == 11
    assert figure.svg.count("<circle") == 33 and "0.28 in the last place" in figure.alt


def ndcg15(labels, scores, discount, empty):
    """Return NDCG@15 of one query, computed by its definition."""
    if not labels.any():
        return empty
    gains = 2.0**labels - 1.0
    weights = [discount(rank) for rank in range(1, 16)]
    return float(gains[np.argsort(-scores)][:15] @ weights / (np.sort(gains)[::-1][:15] @ weights))


def test_conventions_of_the_claims_by_definition(made):
    """The values of letor4, standard, lightgbm and dropped, on both parts and on one file, follow their definitions."""
    inputs, _, tables = made
    labels = [pl.read_parquet(inputs.data / f"mq2007/part{part}.parquet") for part in range(1, PARTS + 1)]
    about = "without / with L2"
    rows = [row for row in tables["claims"].rows if (row["attribution"], row["method"]) == (about, WITH_L2)]
    for part, held in (("test", lambda fold: [part_of(fold)]), ("train", trained_on)):
        expected = {name: [] for name in MEASURED}
        for fold in range(1, PARTS + 1):
            own = np.concatenate([labels[number - 1]["label"].to_numpy() for number in held(fold)])
            scores = inputs.method("mq2007", WITH_L2).fold(fold).scores(part)
            queries = list(zip(own.reshape(-1, DOCUMENTS), scores.reshape(-1, DOCUMENTS), strict=True))
            values = {
                "letor4": [ndcg15(y, s, lambda rank: 1 / math.log2(max(rank, 2)), 0.0) for y, s in queries],
                "standard": [ndcg15(y, s, lambda rank: 1 / math.log2(rank + 1), 0.0) for y, s in queries],
                "lightgbm": [ndcg15(y, s, lambda rank: 1 / math.log2(rank + 1), 1.0) for y, s in queries],
                "dropped": [ndcg15(y, s, lambda rank: 1 / math.log2(rank + 1), math.nan) for y, s in queries],
            }
            for name in MEASURED:
                expected[name].append(np.nanmean(values[name]))
        shown = {row["convention"]: row["ours"] for row in rows if row["part"] == part}
        assert shown == pytest.approx({name: np.mean(values) for name, values in expected.items()}, abs=1e-12)
        assert len({round(value, 6) for value in shown.values()}) == 4
        (one,) = (
            row
            for row in tables["claims_other"].rows
            if (row["attribution"], row["method"], row["part"], row["metric"], row["files"])
            == (about, WITH_L2, part, "NDCG@15", "one file")
        )
        assert one["standard"] == pytest.approx(expected["standard"][0], abs=1e-12)


def test_the_targets_of_both_blogs_are_one_cost_and_the_report_s_is_another(made):
    rows = made[2]["targets"].rows
    assert [(row["blog"], row["direct"], row["report"]) for row in rows] == [(-1, 0, 0), (0, 0.5, 0), (1, 1, 1)]
    assert [row["report_target"] for row in rows] == [0.5, 0.5, 1]
    for o in (-3.0, 0.0, 0.7):
        for S in (-1.0, 0.0, 1.0):
            assert cross_entropy((1 + S) / 2, o) == pytest.approx(blog_cost(S, o), rel=1e-12)
    assert rows[0]["report_cost"] == pytest.approx(rows[1]["report_cost"]) != pytest.approx(rows[0]["blog_cost"])


def test_the_report_s_cost_of_both_orders_is_least_at_a_finite_difference(made):
    os = np.linspace(0.5, 2.0, 15_001)
    both = [cross_entropy(report_target(1.0), o) + cross_entropy(report_target(0.0), -o) for o in os]
    least = os[np.argmin(both)]
    assert least == pytest.approx(math.log(3), abs=1e-3)
    assert f"P = 0.75, a difference of {math.log(3):.4f}" in made[1]["targets"].paragraphs[1]


def test_the_report_s_targets_are_compared_with_1_and_0_per_penalty(made):
    inputs, _, tables = made
    rows = tables["literal_tests"].rows
    assert [(row["dataset"], row["net"], row["metric"]) for row in rows] == [
        (dataset, net, metric)
        for dataset in ("mq2007", "ohsumed")
        for net in ("no L2", "L2")
        for metric in ("NDCG@15", "MAP")
    ]
    pair = [
        inputs.measure("ohsumed", model, ["map"], "letor4") for model in ("report_literal-l2=0.01", "ranknet_report_l2")
    ]
    assert rows[-1]["difference"] == pytest.approx(pair[0].mean("map") - pair[1].mean("map"))


def test_the_lower_value_belongs_to_a_net_with_l2(made):
    lower = {row["method"] for row in made[2]["claims"].rows if row["published"] == LOW}
    assert lower and all(made[0].params("mq2007", model)["l2"] == 0.01 for model in lower)
    assert {row["attribution"] for row in made[2]["claims_gaps"].rows} == {
        "without / with L2",
        "RankSVM_ndcg / RankNet",
        "pointwise, without / with L2",
    }


@pytest.mark.parametrize("target", [0, 1])
def test_the_net_that_is_trained_has_the_report_s_cost(target):
    net = PairNet([2, 3, 1], False, np.random.default_rng(0))
    first, second = np.ones((1, 2), np.float32), np.zeros((1, 2), np.float32)
    pair = Examples(np.array([0]), np.array([1]), np.array([target]), None)
    found = net.differentiate(np.concatenate([first, second]), pair)
    o = float((np.maximum((first - second) @ net.weights[0], 0) @ net.weights[1])[0, 0])
    assert found == pytest.approx(cross_entropy(target, o), rel=1e-6)


def test_the_further_forms_are_compared_with_their_nearest_forms(made):
    """The made-up weighted forms have the values of RankSVM, and the plain ones half of them."""
    rows = {(row["dataset"], row["pair"], row["metric"]): row["difference"] for row in made[2]["more_forms_tests"].rows}
    assert len(rows) == 2 * 6 * len(METRICS)
    own = made[0].measure("mq2007", "ranksvm", ["map"], "letor4").mean("map")
    assert rows["mq2007", "ranksvm_ndcg_l1_primal − ranksvm_l1_primal", "MAP"] == pytest.approx(own / 2)
    nearest = made[0].measure("mq2007", "ranksvm_l1_dual", ["map"], "letor4").mean("map")
    assert rows["mq2007", "ranksvm_l1_primal − ranksvm_l1_dual", "MAP"] == pytest.approx(own / 2 - nearest)


def test_the_job_learns_a_linear_order(tmp_path):
    """Grades follow one feature, so every form ranks the test parts nearly perfectly."""
    rng, parts = np.random.default_rng(0), {}
    for part in range(1, PARTS + 1):
        x = rng.uniform(size=(4 * DOCUMENTS, 3)).astype(np.float32)
        columns = {f"f{number}": x[:, number] for number in range(3)}
        frame = {"qid": np.repeat(np.arange(4) + 4 * part, DOCUMENTS), "label": (3 * x[:, 0]).astype(int)}
        parts[part] = pl.DataFrame(frame | columns)
    folds = [{"train": trained_on(fold), "vali": [fold % PARTS + 1], "test": [part_of(fold)]} for fold in (1, 2)]
    store(tmp_path / "made", parts, folds=folds)
    found = run_job({"dataset": "made"}, tmp_path, 1)
    assert set(found["forms"]) == {form_name(*form) for form in product(PARAMS, PENALTIES)}
    for folds_of_form in found["forms"].values():
        for fold in folds_of_form:
            assert len(fold["qids"]) == 4 and np.mean(fold["values"]["map"]) > 0.9
