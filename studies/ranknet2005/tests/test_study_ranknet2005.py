"""The 2005 RankNet paper's study on made-up draws and small trainings: every published number, intervals, verdicts.

The jobs that train the methods of the 2005 study again: their results equal those of a direct fit.
"""

import csv
import json
from importlib.resources import files
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import t

from gradrank.base.errors import GradrankError
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.parts import read_job, write_job
from gradrank.bench.studies.claims import Claim
from gradrank.bench.studies.study import Inputs, Table
from gradrank.comparison.statistics import wilcoxon
from gradrank.data.stored import StoredCollection
from gradrank.measures.metrics import compute
from gradrank.training.fit import job_seed
from gradrank.training.nets.net import Net
from gradrank.training.registry import get_model
from made_trainings import DATASET, FOLDS, PARAMS, make_collection, make_trainings
from studies.ranknet2005.artificial import LINEAR_SHARES
from studies.ranknet2005.artificial import METHODS as BOOSTED
from studies.ranknet2005.experiments import (
    METRIC,
    Training,
    kept_step,
    over_seeds,
    some_queries,
    train_again,
    trainings,
)
from studies.ranknet2005.order import AS_PUBLISHED, NOT_SEPARATED, REVERSED, gap, units_in_use, verdict
from studies.ranknet2005.page import build
from studies.ranknet2005.published import over_draws
from studies.ranknet2005.tables import matching_shares
from studies.ranknet2005.web_search import METHODS

LINEAR = {"model": "ranknet_2005_linear", "params": {"epochs": 4, "select_by": "ndcg@15", "updates": "query"}}
JOB_SETTINGS = {"dataset": "toy", "method": "one", "seed": 2, "queries": None} | LINEAR


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parquet")
    make_collection(folder / "toy")
    return folder


def test_a_job_finds_the_values_of_a_fit_with_its_seed(data):
    found = train_again(JOB_SETTINGS, data, 7)
    assert [found[key] for key in ("dataset", "method", "seed", "queries")] == ["toy", "one", 2, None]
    cls, number = get_model(LINEAR["model"]), 3
    parts = {split: StoredCollection.open(data / "toy").read(own) for split, own in FOLDS[number - 1].items()}
    history = []
    seed = job_seed(7, "toy/seed2", cls.name, number)
    fitted = cls.fit(
        parts["train"], parts["vali"], cls.Params(**LINEAR["params"]), seed, lambda step, **v: history.append(v)
    )
    fold = found["folds"][number - 1]
    for split, part in parts.items():
        scores = fitted.score(part.features, part.offsets)
        values = compute([METRIC], scores, part.labels, part.offsets, "standard")[METRIC]
        assert fold[split]["qids"] == part.qids.tolist()
        np.testing.assert_allclose(fold[split]["values"], values, atol=1e-6)
    assert fold["kept"] == kept_step(history, "ndcg@15") and fold["documents"] == parts["train"].rows


def test_fewer_queries_are_drawn_per_seed_and_equal_for_all_methods(data):
    found = {
        (model, seed): train_again(
            JOB_SETTINGS | {"model": model, "seed": seed, "queries": 4, "params": params}, data, 7
        )
        for model, params in (("prank", {"epochs": 2}), (LINEAR["model"], LINEAR["params"]))
        for seed in (1, 2)
    }
    drawn = {key: [fold["train"]["qids"] for fold in job["folds"]] for key, job in found.items()}
    assert drawn["prank", 1] == drawn[LINEAR["model"], 1] != drawn["prank", 2]
    assert {len(qids) for own in drawn.values() for qids in own} == {4}


def test_some_queries_keep_their_documents_and_the_order(data):
    whole = StoredCollection.open(data / "toy").read([1, 2, 3])
    some = some_queries(whole, 5, seed=3)
    assert some.queries == 5 and np.all(np.diff(np.searchsorted(whole.qids, some.qids)) > 0)
    for query, qid in enumerate(some.qids):
        (place,) = np.flatnonzero(whole.qids == qid)
        np.testing.assert_array_equal(
            some.features[some.offsets[query] : some.offsets[query + 1]],
            whole.features[whole.offsets[place] : whole.offsets[place + 1]],
        )
    assert some_queries(whole, 10**6, seed=3).rows == whole.rows


def test_the_kept_step_is_the_first_best_one_and_holds_its_epoch():
    steps = [{"vali_map": value} for value in (0.1, 0.3, 0.3, 0.2)]
    assert kept_step(steps, "map") == {"vali_map": 0.3, "epoch": 2, "epochs": 4}
    several = [
        {"vali_map": value, "members": n, "epoch": epoch}
        for (epoch, n), value in zip([(1, 10), (1, 30), (2, 10), (2, 30)], (0.1, 0.2, 0.4, 0.3), strict=True)
    ]
    assert kept_step(several, "map") == {"vali_map": 0.4, "members": 10, "epoch": 2, "epochs": 2}


def test_a_job_reads_no_test_part_before_it_has_fitted(data, monkeypatch):
    cls = get_model("prank")

    def peeking(*arguments):
        return (data / "toy/part5.parquet").open("rb")

    monkeypatch.setattr(cls, "fit", peeking)
    with pytest.raises(GradrankError, match=r"prank: .*part\d\.parquet"):
        train_again(JOB_SETTINGS | {"model": "prank", "params": {}}, data, 7)


DRAWS = 4
SETTINGS = PARAMS.study_settings("ranknet2005")
SEEDS, FEWER = 2, {"methods": SETTINGS["fewer"]["methods"], "queries": [5], "seeds": 1}
ON_PAPER = ("figure1", "combination")  # sections that need no training
CHANGED = ("one_layer_slower", "two_layer_slower")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    own = {"artificial": {"draws": DRAWS}, "seeds": SEEDS, "fewer": FEWER, "models": [*METHODS, *CHANGED]}
    inputs = make_trainings(tmp_path_factory.mktemp("ranknet2005"), SETTINGS | own)
    make_runs(inputs.folder / "jobs")
    # These trainings can be shorter than 1 ms, the resolution of the recorded time.
    for path in inputs.results.rglob("timing.json"):
        timing = json.loads(path.read_text())
        path.write_text(json.dumps(timing | {"fit_seconds": timing["fit_seconds"] + 0.001}))
    sections = build(inputs)
    tables = {item.id: item for section in sections for item in section.content if isinstance(item, Table)}
    return inputs, {section.id: section for section in sections}, tables


@pytest.fixture(scope="module")
def trained(made):
    return trainings(made[0], DATASET)


def make_runs(folder):
    """Write the runs of one draw more than the study asks for; its values are so extreme that they would change any
    mean.
    """
    rng = np.random.default_rng(1)
    own, two = SETTINGS["artificial"], ("linear", "two_layer_5")
    nets = {"table1": (*two, "two_layer_10"), "table1_by_variance": two, "table1_by_file": two}
    nets |= {f"linear_share_{share}": ("linear",) for share in LINEAR_SHARES}
    nets["boosted"] = BOOSTED
    tables = ("table2", "table2_by_variance")
    for target in ("net", "poly"):
        for draw in range(1, DRAWS + 2):
            runs = [(name, net, size, False) for name in nets for net in nets[name] for size in own["sizes"]]
            runs += [
                (name, "two_layer_10", size, ties)
                for name, size, ties in product(tables, own["tie_sizes"], (False, True))
            ]
            if target == "net":
                runs += [(name, "two_layer_10", 1000, False) for name in ("zero_error", "zero_error_by_file")]
            made = [
                {"experiment": experiment, "net": net, "size": size, "ties": ties, "pairs": 20 * size + draw}
                | {"vali": 90.0, "test": float(rng.uniform(60, 99)) if draw <= DRAWS else -1e6}
                | {"train": 100.0 if draw < 3 else 99.9, "epoch": 5, "epochs": 100 * draw}
                | {"cost_rises": draw, "largest_cost_rise": 0.01 * draw}
                | {"error_rises": 2 * draw, "largest_error_rise": 0.5}
                for experiment, net, size, ties in runs
            ]
            job = {"target": target, "draw": draw, "seed": draw, "runs": made}
            write_job(folder / f"{target}-{draw}.json", job)


def test_every_number_of_the_paper_stands_beside_ours(made):
    _, _, tables = made
    text = files("studies.ranknet2005").joinpath("paper.csv").read_text()
    theirs = {}
    for row in csv.DictReader(text.splitlines()):
        number = row["value"]
        if row["table"] == "Table 6":
            hours, minutes = number.split(":")
            number = 3600 * int(hours) + 60 * int(minutes)
        theirs.setdefault(row["table"], []).append(round(float(number) * (100 if row["table"] == "Table 2" else 1), 6))
    nets = [row for row in tables["tables45_mq2007"].rows if row["published"] is not None]
    epochs = [row["published"] for row in tables["epochs_mq2007"].rows if row["published"] is not None]
    data = tables["table3_mq2007"].rows
    shown = {
        "Table 3": [row["published"] for row in data if row["what"] == "queries"],
        "text 6.1": [row["published"] for row in data if row["what"] not in ("queries", "documents")],
        "text 6.2": [*epochs, tables["wilcoxon_mq2007"].rows[0]["p"]],
        "Table 1": [row["published"] for row in tables["table1"].rows],
        "Table 2": [row["published"] for row in tables["table2"].rows],
        "Table 4": [row["published"] for row in nets if row["split"] != "training"],
        "Table 5": [row["published"] for row in nets if row["split"] == "training"],
        "Table 6": [row["theirs"] for row in tables["table6_mq2007"].rows],
        "text 5.1": [row["published"] for row in tables["zero_error"].rows if row["published"] != 0.0],
    }
    for table, numbers in theirs.items():
        assert sorted(round(number, 6) for number in shown[table]) == sorted(numbers), table
    assert {row["published_pairs"] for row in tables["table2"].rows} >= {2060, 12250, 101858}
    assert [row["published"] for row in data if row["what"] == "documents"] == [384314, 2726714, 2715175]
    times = [row["theirs"] for row in tables["table6_published_mq2007"].rows]
    assert times == ["0:11", "0:23", "1:07", "5:51", "10:23", "39:52"] and not tables["table6_published_mq2007"].timed


def test_our_sizes_are_counts_of_the_collection(made):
    inputs, _, tables = made
    ours = {(row["split"], row["what"]): row["ours"] for row in tables["table3_mq2007"].rows}
    stored = StoredCollection.open(inputs.data / DATASET)
    pairs = [len(stored.read(fold["train"]).pairs) for fold in stored.folds]
    assert ours["training", "pairs"] == pytest.approx(np.mean(pairs))
    x = stored.read([1]).features.astype(np.float64)
    assert ours["all", "features"] == x.shape[1]
    products = {(i, j) for i in range(x.shape[1]) for j in range(i, x.shape[1])}
    assert ours["all", "features of quadratic PRank"] == x.shape[1] + len(products)


def test_steps_are_compared_within_each_draw(made):
    inputs, _, tables = made
    runs = [
        {"draw": job["draw"], "target": job["target"]} | run
        for job in inputs.jobs()
        if job.get("draw", DRAWS + 1) <= DRAWS
        for run in job["runs"]
    ]
    tests = {
        name: np.array([run["test"] for run in sorted(runs, key=lambda run: run["draw"]) if is_cell(run, name)])
        for name in ("table1", "table1_by_file")
    }
    gaps = tests["table1"] - tests["table1_by_file"]
    (row,) = (
        row
        for row in tables["table1_by_file"].rows
        if (row["target"], row["net"], row["size"]) == ("poly", "two_layer_5", 500)
    )
    assert len(gaps) == DRAWS and row["difference"] == pytest.approx(gaps.mean())
    assert row["better"] == f"{(gaps > 0).sum()} of {DRAWS}"
    assert row["high"] - row["difference"] == pytest.approx(t.ppf(0.975, DRAWS - 1) * gaps.std(ddof=1) / np.sqrt(DRAWS))
    assert [row["reached"] for row in tables["zero_error_by_file"].rows] == [2, 2]
    (falls,) = (
        row
        for row in tables["descent"].rows
        if (row["target"], row["net"], row["size"], row["steps"]) == ("net", "linear", 100, "pair")
    )
    assert falls["epochs"] == 100 * (1 + 2 + 3 + 4) and falls["largest_cost_rise"] == pytest.approx(4.0)
    assert falls["cost_rises"] == pytest.approx(100 * 10 / (1000 - DRAWS))


def is_cell(run, experiment):
    """Whether a run is that of the two-layer net on 500 vectors of the polynomial."""
    where = (run["experiment"], run["target"], run["net"], run["size"])
    return where == (experiment, "poly", "two_layer_5", 500)


def test_two_opposite_certain_pairs_leave_the_third_open(made):
    _, _, tables = made
    rows = tables["certain_pairs"].rows
    open_chains = [row for row in rows if row["p_ik"] is None]
    assert [(row["p_ij"], row["p_jk"]) for row in open_chains] == [(1.0, 0.0)]
    nearly = sorted(row["p_ik"] for row in rows if row["case"].startswith("nearly"))
    assert nearly == pytest.approx([0.0, 0.5, 1.0], abs=1e-5)


def over(published, **draws):
    """Return the row of `over_draws` for our first draws and a number that is printed with two decimals."""
    return over_draws(Claim("", "", next(iter(draws)), published, 0.005), draws)


def test_interval_by_hand():
    own = [80.0, 82.0, 84.0]
    row = over(90.0, own=own)
    assert row["half_width"] == pytest.approx(t.ppf(0.975, 2) * 2 * np.sqrt(4 / 3))
    assert (row["ours"], row["spread"], row["verdict"]) == (82.0, 2.0, "consistent")
    assert over(99.0, own=own)["verdict"] == "not reproduced"
    assert over(82.004, own=own)["verdict"] == "reproduced"
    other = over(90.0, own=own, near=[89.0, 90.0, 91.0], far=[60.0, 60.1, 60.2])
    assert (other["alike"], other["others"]) == (1, 2), "the first would have been reproduced, the second not"
    assert np.isnan(over(99.0, own=[80.0])["half_width"])
    assert over(None, own=own)["verdict"] == ""


def test_the_share_that_gives_a_number_is_interpolated():
    """Draws whose accuracy is 50 + 40 share + draw: the paper's 59.63 is met at a share of .24 - draw/40."""
    shares = {f"linear_share_{share}": share for share in LINEAR_SHARES} | {"table1": 1 / 3}
    runs = [
        {"experiment": name, "target": "poly", "net": "linear", "size": 100, "draw": draw}
        | {"test": 50 + 40 * share + draw / 10}
        for name, share in shares.items()
        for draw in (1, 2, 3)
    ]
    (row,) = matching_shares(runs)
    assert row["share"] == pytest.approx((9.63 - 0.2) / 40) and row["draws"] == 3
    assert row["high"] - row["share"] == pytest.approx(t.ppf(0.975, 2) * 0.1 / 40 * np.sqrt(4 / 3))


def test_ndcg_15_of_each_part_is_the_mean_over_seeds(made, trained):
    inputs, sections, tables = made
    rows = tables["tables45_mq2007"].rows
    assert len(rows) == 3 * len(METHODS)
    for row in rows:
        split = {"validation": "vali", "test": "test", "training": "train"}[row["split"]]
        first = inputs.measure("mq2007", row["model"], [METRIC], "standard", split).mean(METRIC)
        job = read_job(inputs.folder / f"jobs/mq2007-{row['model']}-None-2.json")
        second = np.mean([np.mean(fold[split]["values"]) for fold in job["folds"]])
        assert row["ours"] == pytest.approx((first + second) / 2) and row["seeds"] == SEEDS
        assert row["spread"] == pytest.approx(abs(first - second) / np.sqrt(2), abs=1e-9)
        assert (row["published"] is None) == (split == "train" and not row["model"].endswith("layer"))
        assert "verdict" not in row, "the paper's collection is private"
    ours = {row["method"]: row["ours"] for row in rows if row["split"] == "test"}
    order = " > ".join(sorted(ours, key=lambda method: -ours[method]))
    assert f"Ours, by the mean over seeds: {order}." in sections["order_mq2007"].paragraphs[0]


def trainings_of(*means, noise=0.0):
    """Return one training per seed, with 200 queries around each mean."""
    drawn = np.random.default_rng(0).normal(0, noise, 200)
    qids = np.arange(200)
    return [Training({"test": QueryValues(np.ones(200), qids, {METRIC: m + drawn})}, []) for m in means]


def test_a_gap_holds_the_variance_of_queries_and_of_seeds():
    seeds_alone = gap(trainings_of(0.5, 0.6, 0.7), trainings_of(0.4, 0.4, 0.4))
    assert seeds_alone["difference"] == pytest.approx(0.2) and seeds_alone["seeds"] == "3 of 3"
    assert seeds_alone["high"] - 0.2 == pytest.approx(1.96 * 0.1 / np.sqrt(3))
    first, second = trainings_of(0.5, 0.5, noise=0.3), trainings_of(0.4, 0.4)
    queries_alone = gap(first, second)
    spread = first[0].values["test"].values[METRIC].std(ddof=1)
    assert queries_alone["high"] - queries_alone["difference"] == pytest.approx(1.96 * spread / np.sqrt(200))


def test_an_order_is_as_published_only_where_the_interval_and_the_test_say_so():
    assert verdict({"low": 0.001, "high": 0.1, "wilcoxon_holm": 0.01}) == AS_PUBLISHED
    assert verdict({"low": 0.001, "high": 0.1, "wilcoxon_holm": 0.06}) == NOT_SEPARATED
    assert verdict({"low": -0.001, "high": 0.1, "wilcoxon_holm": 0.01}) == NOT_SEPARATED
    assert verdict({"low": -0.1, "high": -0.001, "wilcoxon_holm": 0.01}) == REVERSED


def test_every_two_methods_are_ordered(made, trained):
    _, sections, tables = made
    rows = tables["order_mq2007"].rows
    names = [name for name, _ in METHODS.values()]
    assert {(row["worse"], row["better"]) for row in rows} == {*combinations(names, 2)}
    assert all(row["published"] > 0 for row in rows)
    (row,) = (row for row in rows if (row["better"], row["worse"]) == ("RankProp", "Linear PRank"))
    a, b = (over_seeds(trained[f"table4_{name}"], "test").values[METRIC] for name in ("rankprop", "linear_prank"))
    assert row["wilcoxon"] == wilcoxon(a, b) and row["difference"] == pytest.approx(np.mean(a - b))
    counts = [sum(row["verdict"] == word for row in rows) for word in (AS_PUBLISHED, NOT_SEPARATED, REVERSED)]
    sentence = f"Of 15 pairs {counts[0]} as published, {counts[1]} not separated, {counts[2]} the other way round."
    assert sentence in sections["order_mq2007"].paragraphs[0]


def test_units_in_use_of_nets_by_hand():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 3)).astype(np.float32)

    def net(scale, *output):
        weights = np.zeros((3, len(output)))
        weights[np.arange(len(output)) % 3, np.arange(len(output))] = scale
        ends = np.zeros(3), np.ones(3)
        return Net.of_layers([weights, np.array(output)[:, None]], [np.zeros(len(output)), np.zeros(1)], *ends, "tanh")

    used, linear = units_in_use(net(1e-3, 1.0, 0.0, 0.0), x)
    assert used == pytest.approx(1.0) and linear == pytest.approx(1.0, abs=1e-5)
    used, linear = units_in_use(net(5.0, 1.0, 1.0, 1.0), x)
    assert used == pytest.approx(3.0, abs=0.05) and linear < 0.8


def test_reduced_form_needs_no_data_set(made):
    inputs, _, _ = made
    settings = {"artificial": {"draws": 2}, "datasets": [], "models": []}
    sections = build(Inputs(inputs.results, inputs.data, inputs.folder, settings))
    assert [section.id for section in sections] == ["table1", "table2", "zero_error", "steps", "boosted", *ON_PAPER]
